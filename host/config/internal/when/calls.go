package when

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/shellcmd"
)

// commandCache keeps the commands of the text that was taken apart last: all the rules about a call look at the same
// one.
type commandCache struct{ last atomic.Pointer[parsedCommand] }

type parsedCommand struct {
	script   *shellcmd.Script
	commands cty.Value
}

func (c *commandCache) parse(text string) (*parsedCommand, error) {
	if p := c.last.Load(); p != nil && p.script.Text == text {
		return p, nil
	}
	script, err := shellcmd.Parse(text)
	if err != nil {
		return nil, err
	}
	p := &parsedCommand{script, commandValues(script)}
	c.last.Store(p)
	return p, nil
}

// commandsFunction is commands(TEXT): every simple command in a command line. No text is no commands.
func commandsFunction(c *commandCache) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String, AllowNull: true}},
		Type:   function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if args[0].IsNull() {
				return cty.EmptyTupleVal, nil
			}
			p, err := c.parse(args[0].AsString())
			if err != nil {
				return cty.DynamicVal, err
			}
			return p.commands, nil
		},
	})
}

var runsParameters = []function.Parameter{{Name: "text", Type: cty.String, AllowNull: true},
	{Name: "commands", Type: cty.DynamicPseudoType}}

// runsFunction is runs(TEXT, LIST): whether a command line runs one of the commands, as a list of denied commands is
// read. It is unknown where that is only known when it runs. No text runs nothing.
func runsFunction(c *commandCache) function.Function {
	return function.New(&function.Spec{
		Params: runsParameters,
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if !hclfile.ListKind.Is(args[1]) {
				return cty.False, function.NewArgError(1, errNoList)
			}
			if args[0].IsNull() {
				return cty.False, nil
			}
			p, err := c.parse(args[0].AsString())
			if err != nil {
				return cty.UnknownVal(cty.Bool), err
			}
			out := cty.False
			for _, item := range args[1].AsValueSlice() {
				if !item.IsKnown() || !hclfile.TextKind.Is(item) || strings.TrimSpace(item.AsString()) == "" {
					return out, function.NewArgErrorf(1, "each must be the beginning of a command, such as \"git push --force\"")
				}
				switch yes, sure := p.script.Runs(strings.Fields(item.AsString())); {
				case yes:
					return cty.True, nil
				case !sure:
					out = cty.UnknownVal(cty.Bool)
				}
			}
			return out, nil
		},
	})
}

// unreadRuns is runs(TEXT, LIST) for a script in another language than the shell's.
var unreadRuns = function.New(&function.Spec{
	Params: runsParameters,
	Type:   function.StaticReturnType(cty.Bool),
	Impl:   func([]cty.Value, cty.Type) (cty.Value, error) { return cty.UnknownVal(cty.Bool), nil },
})

// unreadCommands is commands(TEXT) for a script in another language than the shell's: which commands it runs is not
// known.
var unreadCommands = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "text", Type: cty.String, AllowNull: true}},
	Type:   function.StaticReturnType(cty.DynamicPseudoType),
	Impl:   func([]cty.Value, cty.Type) (cty.Value, error) { return cty.DynamicVal, nil },
})

func commandValues(s *shellcmd.Script) cty.Value {
	var out []cty.Value
	for _, c := range s.Commands {
		out = append(out, commandValue(c))
	}
	return cty.TupleVal(out)
}

// commandValue is one command as rules see it. What is only known when it runs is unknown.
func commandValue(c shellcmd.Command) cty.Value {
	name := shellcmd.Word{Text: c.Name, Static: c.Name != ""}
	return cty.ObjectVal(map[string]cty.Value{
		"name":      wordValue(name),
		"path":      wordValue(c.Program),
		"args":      tupleOf(c.Args, wordValue),
		"assigns":   tupleOf(c.Assigns, cty.StringVal),
		"redirects": tupleOf(c.Redirects, redirectValue),
		"via":       tupleOf(c.Via, cty.StringVal),
		"dynamic":   cty.BoolVal(c.Dynamic()),
	})
}

func redirectValue(r shellcmd.Redirect) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"op": cty.StringVal(r.Op), "target": wordValue(r.Target), "writes": cty.BoolVal(r.Writes),
	})
}

// wordValue is unknown also for a word that the evaluator would change.
func wordValue(w shellcmd.Word) cty.Value {
	if !w.Static || hclfile.Unstable(w.Text) != "" {
		return cty.UnknownVal(cty.String)
	}
	return cty.StringVal(w.Text)
}

func tupleOf[T any](items []T, value func(T) cty.Value) cty.Value {
	out := make([]cty.Value, len(items))
	for i, item := range items {
		out[i] = value(item)
	}
	return cty.TupleVal(out)
}

// pathsFunction is paths(): the paths that a call names, whichever of its arguments they stand in. Those in the work
// folder are relative to it and clean, others absolute, by their letters; links are not followed.
func pathsFunction(q *policy.Query) function.Function {
	return function.New(&function.Spec{
		Type: function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
			if q != nil && q.Path != nil {
				v := pathValue(q.Path)
				if problem := hclfile.Unstable(q.Path.Name); problem != "" {
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
	if problem := hclfile.Unstable(path); problem != "" {
		return "", errors.New("a path cannot be looked at: it " + problem)
	}
	place, err := placeOf(path, workdir)
	if err != nil || workdir == "" || !hclfile.Within(place, workdir) {
		return filepath.ToSlash(place), err
	}
	rel, err := filepath.Rel(workdir, place)
	return filepath.ToSlash(rel), err
}

// insideFunction is inside(PATH, FOLDER), by the letters of both: relative ones start in the work folder, and links are
// not followed. A path that is null is inside of nothing.
func insideFunction(workdir string) function.Function {
	params := []function.Parameter{{Name: "path", Type: cty.String, AllowNull: true, AllowUnknown: true},
		{Name: "folder", Type: cty.String}}
	return function.New(&function.Spec{
		Params: params,
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if args[0].IsNull() {
				return cty.False, nil
			}
			if !args[0].IsKnown() && prefixOf(args[0]) == "" {
				return cty.UnknownVal(cty.Bool), nil
			}
			folder, err := placeOf(args[1].AsString(), workdir)
			if err != nil {
				return cty.UnknownVal(cty.Bool), function.NewArgError(1, err)
			}
			if !args[0].IsKnown() {
				return insideUnknown(prefixOf(args[0]), folder, workdir), nil
			}
			path, err := placeOf(args[0].AsString(), workdir)
			if err != nil {
				return cty.UnknownVal(cty.Bool), function.NewArgError(0, err)
			}
			return cty.BoolVal(hclfile.Within(path, folder)), nil
		},
	})
}

// insideUnknown is for a path of which only the beginning is known: a folder with a slash at its end.
func insideUnknown(prefix, folder, workdir string) cty.Value {
	known, err := placeOf(prefix, workdir)
	switch {
	case err != nil || !strings.HasSuffix(prefix, "/"):
		return cty.UnknownVal(cty.Bool)
	case hclfile.Within(known, folder):
		return cty.True
	case hclfile.Within(folder, known):
		return cty.UnknownVal(cty.Bool)
	}
	return cty.False
}

func placeOf(path, workdir string) (string, error) {
	switch {
	case path == "":
		return "", errors.New("it is empty")
	case strings.ContainsRune(path, 0):
		return "", errors.New("it has a NUL character")
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	case workdir == "":
		return "", errors.New("it is relative, and the call has no work folder")
	}
	return filepath.Join(workdir, path), nil
}
