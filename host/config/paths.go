package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/toolhost/toolhost/host/policy"
)

// pathsFunction is paths(): the paths that a call names, whichever of its arguments they stand in. Those in the work folder
// are relative to it and clean, others absolute, by their letters; links are not followed.
func pathsFunction(q *policy.Query) function.Function {
	return function.New(&function.Spec{
		Type: function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
			if q != nil && q.Path != nil {
				v := pathValue(q.Path)
				if problem := foreign(q.Path.Name); problem != "" {
					return cty.DynamicVal, errors.New("a path cannot be looked at: it " + problem)
				}
				return cty.TupleVal([]cty.Value{v}), nil
			}
			if q.Arguments == nil { // no call yet: a look at the condition alone
				return cty.DynamicVal, nil
			}
			found := q.Kept("paths()", func() any { return pathsOf(q) }).(argument)
			return found.value, found.err
		},
	})
}

// pathValue is a path that is asked about: what is in a folder is not known but for its beginning.
func pathValue(p *policy.Path) cty.Value {
	switch {
	case !p.Below:
		return cty.StringVal(p.Name)
	case p.Name == "." || p.Name == "":
		return cty.UnknownVal(cty.String).RefineNotNull()
	}
	return cty.UnknownVal(cty.String).Refine().NotNull().StringPrefixFull(strings.TrimSuffix(p.Name, "/") + "/").NewValue()
}

// probed is an argument of a call that is asked about another path.
func probed(p *policy.Path, argument string) cty.Value {
	if argument == "path" {
		return pathValue(p)
	}
	return cty.NullVal(cty.DynamicPseudoType)
}

// prefixOf is what a text that is not known begins with.
func prefixOf(v cty.Value) string {
	if v.IsKnown() || !v.Type().Equals(cty.String) {
		return ""
	}
	return v.Range().StringPrefix()
}

// pathsOf finds what tools call a path: path, paths, and the path of each item of edits.
func pathsOf(q *policy.Query) argument {
	var one *string
	var many []*string
	var edits []struct{ Path *string }
	for name, into := range map[string]any{"path": &one, "paths": &many, "edits": &edits} {
		if raw := q.Argument(name); raw != nil && json.Unmarshal(raw, into) != nil {
			return argument{cty.DynamicVal, fmt.Errorf("args.%s names no paths", name)}
		}
	}
	many = append(many, one)
	for _, e := range edits {
		many = append(many, e.Path)
	}
	var out []cty.Value
	for _, path := range many {
		if path == nil || *path == "" {
			continue
		}
		clean, err := pathIn(q.Workdir, *path)
		if err != nil {
			return argument{cty.DynamicVal, err}
		}
		out = append(out, cty.StringVal(clean))
	}
	return argument{cty.TupleVal(out), nil}
}

func pathIn(workdir, path string) (string, error) {
	if problem := foreign(path); problem != "" {
		return "", errors.New("a path cannot be looked at: it " + problem)
	}
	place, err := placeOf(path, workdir)
	if err != nil || workdir == "" || !within(place, workdir) {
		return filepath.ToSlash(place), err
	}
	rel, err := filepath.Rel(workdir, place)
	return filepath.ToSlash(rel), err
}
