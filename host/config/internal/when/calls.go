package when

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/shellcmd"
)

// commandCache keeps the commands of the last text, since all rules about a call parse the same one.
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
	p := &parsedCommand{script, tupleOf(script.Commands, commandValue)}
	c.last.Store(p)
	return p, nil
}

var textParameters = []function.Parameter{{Name: "text", Type: cty.String, AllowNull: true}}

// commandsFunction is commands(TEXT): every simple command in a command line. Null has none.
func commandsFunction(c *commandCache) function.Function {
	return newFunction(cty.DynamicPseudoType, textParameters, func(args []cty.Value) (cty.Value, error) {
		if args[0].IsNull() {
			return cty.EmptyTupleVal, nil
		}
		p, err := c.parse(args[0].AsString())
		if err != nil {
			return cty.DynamicVal, err
		}
		return p.commands, nil
	})
}

var runsParameters = []function.Parameter{{Name: "text", Type: cty.String, AllowNull: true},
	{Name: "commands", Type: cty.DynamicPseudoType}}

// runsFunction is runs(TEXT, LIST): whether a command line runs one of the commands, matched as in a list of denied
// commands. It is unknown where that is only known when the command runs. Null runs nothing.
func runsFunction(c *commandCache) function.Function {
	return newFunction(cty.Bool, runsParameters, func(args []cty.Value) (cty.Value, error) {
		switch {
		case !hclfile.ListKind.Is(args[1]):
			return cty.False, function.NewArgError(1, errNoList)
		case args[0].IsNull():
			return cty.False, nil
		}
		return c.runs(args[0].AsString(), args[1].AsValueSlice())
	})
}

// runs is runs with the items of the list.
func (c *commandCache) runs(text string, begins []cty.Value) (cty.Value, error) {
	p, err := c.parse(text)
	if err != nil {
		return cty.UnknownVal(cty.Bool), err
	}
	out := cty.False
	for _, item := range begins {
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
}

// unreadRuns and unreadCommands replace runs and commands for a script in another language than the shell's: which
// commands it runs is unknown.
var (
	unreadRuns = newFunction(cty.Bool, runsParameters, func([]cty.Value) (cty.Value, error) {
		return cty.UnknownVal(cty.Bool), nil
	})
	unreadCommands = newFunction(cty.DynamicPseudoType, textParameters, func([]cty.Value) (cty.Value, error) {
		return cty.DynamicVal, nil
	})
)

// commandValue is one command as rules see it. What is only known when it runs is unknown.
func commandValue(c shellcmd.Command) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"name":    wordValue(shellcmd.Word{Text: path.Base(c.Program.Text), Static: c.Name != ""}),
		"path":    wordValue(c.Program),
		"args":    tupleOf(c.Args, wordValue),
		"assigns": tupleOf(c.Assigns, cty.StringVal),
		"redirects": tupleOf(c.Redirects, func(r shellcmd.Redirect) cty.Value {
			return cty.ObjectVal(map[string]cty.Value{
				"op": cty.StringVal(r.Op), "target": wordValue(r.Target), "writes": cty.BoolVal(r.Writes),
			})
		}),
		"via":     tupleOf(c.Via, cty.StringVal),
		"dynamic": cty.BoolVal(c.Dynamic()),
	})
}

// wordValue is also unknown for a word that HCL would change.
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

// pathsFunction is paths(): the paths that the arguments of a call name. Those in the work folder are relative to it
// and clean, others absolute; links are not followed.
func pathsFunction(q *policy.Query) function.Function {
	return newFunction(cty.DynamicPseudoType, nil, func([]cty.Value) (cty.Value, error) {
		switch {
		case q.Path != nil && hclfile.Unstable(q.Path.Name) != "":
			return cty.DynamicVal, errors.New("a path cannot be evaluated: it " + hclfile.Unstable(q.Path.Name))
		case q.Path != nil:
			return cty.TupleVal([]cty.Value{pathValue(q.Path)}), nil
		case q.Arguments == nil: // the condition is being compiled
			return cty.DynamicVal, nil
		}
		found := keptPaths(q)
		return found.value, found.err
	})
}

// pathValue is the path of a query; of what is in a folder only the beginning is known.
func pathValue(p *policy.Path) cty.Value {
	switch {
	case !p.Below:
		return cty.StringVal(p.Name)
	case p.Name == "." || p.Name == "":
		return cty.UnknownVal(cty.String).RefineNotNull()
	}
	return cty.UnknownVal(cty.String).Refine().NotNull().StringPrefixFull(strings.TrimSuffix(p.Name, "/") + "/").NewValue()
}

// prefixOf is the known beginning of an unknown text.
func prefixOf(v cty.Value) string {
	if v.IsKnown() || !v.Type().Equals(cty.String) {
		return ""
	}
	return v.Range().StringPrefix()
}

// keptPaths is pathsOf, once for all conditions of a decision.
func keptPaths(q *policy.Query) namedPaths {
	const key = "\xffpaths" // is the name of no argument
	return q.Kept(key, func() any { return pathsOf(q) }).(namedPaths)
}

type namedPaths struct {
	value cty.Value
	err   error
}

// pathsOf finds the paths in the arguments that our tools have: path, paths, and the path of each item of edits.
func pathsOf(q *policy.Query) namedPaths {
	var one *string
	var many []*string
	var edits []struct{ Path *string }
	for name, into := range map[string]any{"path": &one, "paths": &many, "edits": &edits} {
		if raw := q.Argument(name); raw != nil && json.Unmarshal(raw, into) != nil {
			return namedPaths{cty.DynamicVal, fmt.Errorf("args.%s names no paths", name)}
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
			return namedPaths{cty.DynamicVal, err}
		}
		out = append(out, cty.StringVal(clean))
	}
	return namedPaths{cty.TupleVal(out), nil}
}

func pathIn(workdir, path string) (string, error) {
	if problem := hclfile.Unstable(path); problem != "" {
		return "", errors.New("a path cannot be evaluated: it " + problem)
	}
	full, err := absolute(path, workdir)
	if err != nil || workdir == "" || !fsutil.Within(full, workdir) {
		return filepath.ToSlash(full), err
	}
	rel, err := filepath.Rel(workdir, full)
	return filepath.ToSlash(rel), err
}

// insideFunction is inside(PATH, FOLDER), by the letters of both: relative ones start in the work folder, and links are
// not followed. It is false for null.
func insideFunction(workdir string) function.Function {
	params := []function.Parameter{{Name: "path", Type: cty.String, AllowNull: true, AllowUnknown: true},
		{Name: "folder", Type: cty.String}}
	return newFunction(cty.Bool, params, func(args []cty.Value) (cty.Value, error) {
		return inside(args[0], args[1].AsString(), workdir)
	})
}

// inside is inside with its operands.
func inside(path cty.Value, folder, workdir string) (cty.Value, error) {
	if path.IsNull() {
		return cty.False, nil
	}
	if !path.IsKnown() && prefixOf(path) == "" {
		return cty.UnknownVal(cty.Bool), nil
	}
	folder, err := absolute(folder, workdir)
	if err != nil {
		return cty.UnknownVal(cty.Bool), function.NewArgError(1, err)
	}
	if !path.IsKnown() {
		return insideUnknown(prefixOf(path), folder, workdir), nil
	}
	file, err := absolute(path.AsString(), workdir)
	if err != nil {
		return cty.UnknownVal(cty.Bool), function.NewArgError(0, err)
	}
	return cty.BoolVal(fsutil.Within(file, folder)), nil
}

// insideUnknown is for a path of which only the beginning is known: a folder with a slash at its end.
func insideUnknown(prefix, folder, workdir string) cty.Value {
	known, err := absolute(prefix, workdir)
	switch {
	case err != nil || !strings.HasSuffix(prefix, "/"):
		return cty.UnknownVal(cty.Bool)
	case fsutil.Within(known, folder):
		return cty.True
	case fsutil.Within(folder, known):
		return cty.UnknownVal(cty.Bool)
	}
	return cty.False
}

// absolute makes a path absolute against the work folder.
func absolute(path, workdir string) (string, error) {
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
