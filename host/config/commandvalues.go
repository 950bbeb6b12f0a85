package config

import (
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/toolhost/toolhost/sdk/shellcmd"
)

// commandCache keeps the commands of the text that was taken apart last: all the rules about a call look at the same one.
type commandCache struct{ last atomic.Pointer[parsedCommand] }

type parsedCommand struct {
	text     string
	commands cty.Value
}

func (c *commandCache) commands(text string) (cty.Value, error) {
	if p := c.last.Load(); p != nil && p.text == text {
		return p.commands, nil
	}
	script, err := shellcmd.Parse(text)
	if err != nil {
		return cty.DynamicVal, err
	}
	v := commandValues(script)
	c.last.Store(&parsedCommand{text, v})
	return v, nil
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
			return c.commands(args[0].AsString())
		},
	})
}

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
		"dynamic":   cty.BoolVal(len(c.Doubts) > 0),
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
