package config

import (
	"strings"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/toolhost/toolhost/internal/shellcmd"
)

// commandCache keeps the commands of the text that was taken apart last: all the rules about a call look at the same one.
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

var runsParameters = []function.Parameter{{Name: "text", Type: cty.String, AllowNull: true}, {Name: "commands", Type: cty.DynamicPseudoType}}

// runsFunction is runs(TEXT, LIST): whether a command line runs one of the commands, as a list of denied commands is read. It is
// unknown where that is only known when it runs. No text runs nothing.
func runsFunction(c *commandCache) function.Function {
	return function.New(&function.Spec{
		Params: runsParameters,
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if !listKind.is(args[1]) {
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
				if !item.IsKnown() || !textKind.is(item) || strings.TrimSpace(item.AsString()) == "" {
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

// unreadCommands is commands(TEXT) for a script in another language than the shell's: which commands it runs is not known.
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
	if !w.Static || foreign(w.Text) != "" {
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
