package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/toolhost/toolhost/host/internal/shelltool"
	"github.com/toolhost/toolhost/host/policy"
)

// A condition is the `when` of a rule, vetted. It is safe for concurrent use.
type condition struct {
	*vetted
	path string // of the file, as people know it
	base *hcl.EvalContext
}

// when reads the condition of a rule, nil when there is none or when it is wrong.
func (f *fields) when() *condition {
	a := f.attr("when")
	if a == nil {
		return nil
	}
	f.given["when"] = true
	v, ok := f.vet(a.Expr)
	if !ok {
		return nil
	}
	c := &condition{vetted: v, path: f.path, base: &hcl.EvalContext{
		Variables: map[string]cty.Value{"local": cty.ObjectVal(v.locals), "env": cty.ObjectVal(v.env)},
		Functions: f.functions(),
	}}
	if !f.plausible(c, a.Expr.Range()) {
		return nil
	}
	return c
}

// plausible finds what is wrong with a condition whatever the arguments are.
func (f *fields) plausible(c *condition, at hcl.Range) bool {
	var v cty.Value
	var err error
	f.spend(func(m *meter) { v, err = c.value(&policy.Query{}, c.unknownArguments(), m) })
	if err == nil && v.IsKnown() {
		_, err = truthOf(v)
	} else if err == nil && v.Type() != cty.DynamicPseudoType && v.Type() != cty.Bool {
		err = fmt.Errorf("it gives %s, not true or false", kindOf(cty.UnknownVal(v.Type())))
	}
	if err != nil {
		f.wrong(at, "when: %s", err).hint(`a condition is an expression without quotes around it, such as args.path == "x"`)
	}
	return err == nil
}

func (c *condition) unknownArguments() map[string]cty.Value {
	out := map[string]cty.Value{}
	for _, name := range c.arguments {
		out[name] = cty.DynamicVal
	}
	return out
}

// holds is the policy's question.
func (c *condition) holds(q *policy.Query) (policy.Truth, error) {
	return c.ask(q, &meter{left: maxSteps})
}

func (c *condition) ask(q *policy.Query, m *meter) (policy.Truth, error) {
	args := make(map[string]cty.Value, len(c.arguments))
	for _, name := range c.arguments {
		if q.Path != nil && slices.Contains(pathArguments, name) {
			args[name] = probed(q.Path, name)
			continue
		}
		a := q.Kept(name, func() any { return argumentOf(q, name) }).(argument)
		if a.err != nil {
			return policy.No, fmt.Errorf("args.%s cannot be looked at: %w", name, a.err)
		}
		args[name] = a.value
	}
	for name, text := range c.facts(q) {
		if problem := foreign(text); problem != "" {
			return policy.No, fmt.Errorf("%s cannot be looked at: it %s", name, problem)
		}
	}
	v, err := c.value(q, args, m)
	if err != nil {
		return policy.No, err
	}
	return truthOf(v)
}

// pathArguments are those in which tools are given paths.
var pathArguments = []string{"path", "paths", "edits"}

// looksAtPaths says whether the condition may come to another answer when the call names another path.
func (c *condition) looksAtPaths() bool {
	return c.paths || slices.ContainsFunc(c.arguments, func(name string) bool { return slices.Contains(pathArguments, name) })
}

// An argument is one of a call's, as expressions work with it.
type argument struct {
	value cty.Value
	err   error
}

func argumentOf(q *policy.Query, name string) argument {
	v, err := valueOf(q.Argument(name))
	return argument{v, err}
}

// facts are what the condition names besides arguments.
func (c *condition) facts(q *policy.Query) map[string]string {
	if len(c.words) == 0 && !c.paths {
		return nil
	}
	all, out := map[string]string{"tool": q.Tool, "caller": q.Caller, "workdir": q.Workdir}, map[string]string{}
	for _, name := range c.words {
		out[name] = all[name]
	}
	if c.paths {
		out["workdir"] = q.Workdir
	}
	return out
}

func (c *condition) context(q *policy.Query, args map[string]cty.Value, m *meter) *hcl.EvalContext {
	ctx := c.base.NewChild()
	ctx.Variables = map[string]cty.Value{"args": cty.ObjectVal(args), meterName: cty.CapsuleVal(meterType, m)}
	for name, text := range c.facts(q) {
		ctx.Variables[name] = cty.StringVal(text)
	}
	ctx.Functions = map[string]function.Function{}
	if c.paths {
		ctx.Functions["inside"] = insideFunction(q.Workdir)
		ctx.Functions["paths"] = pathsFunction(q)
	}
	if shelltool.Unread(q) {
		ctx.Functions["commands"], ctx.Functions["runs"] = unreadCommands, unreadRuns
	}
	return ctx
}

// value evaluates. What was too much work is an error even where && or || would not need it.
func (c *condition) value(q *policy.Query, args map[string]cty.Value, m *meter) (v cty.Value, err error) {
	m.args, m.made, m.top = args, nil, func() *hcl.EvalContext { return c.context(q, args, m) }
	defer func() {
		if recover() != nil { // HCL panics over some nulls
			err = errors.New("it cannot be evaluated with these arguments")
		}
	}()
	v, diags := c.expr.eval(nil, m)
	switch {
	case m.spent():
		return v, errors.New("it is too much work with arguments of this size")
	case diags.HasErrors():
		return v, errors.New(c.failure(diags))
	}
	return v, nil
}

// failure tells the first thing that went wrong, and where.
func (c *condition) failure(diags hcl.Diagnostics) string {
	d := diags[slices.IndexFunc(diags, func(d *hcl.Diagnostic) bool { return d.Severity == hcl.DiagError })]
	text, _, _ := strings.Cut(visible(d.Detail), ". ")
	if _, own, called := strings.Cut(text, " failed: "); called {
		text = own
	}
	text = strings.TrimPrefix(text, "Error during operation: ")
	text = lowerFirst(strings.TrimRight(text, "."))
	if d.Subject != nil {
		text += fmt.Sprintf(" (%s:%d,%d)", c.path, d.Subject.Start.Line, d.Subject.Start.Column)
	}
	return text
}

func lowerFirst(s string) string {
	_, size := utf8.DecodeRuneInString(s)
	return strings.ToLower(s[:size]) + s[size:]
}

func truthOf(v cty.Value) (policy.Truth, error) {
	switch {
	case !v.IsKnown() && (v.Type() == cty.Bool || v.Type() == cty.DynamicPseudoType):
		return policy.Unsure, nil
	case !v.IsKnown() || !boolKind.is(v):
		return policy.No, fmt.Errorf("it gives %s, not true or false", kindOf(v))
	case v.True():
		return policy.Yes, nil
	}
	return policy.No, nil
}

// functions are those of conditions, made once for a file.
func (s *scope) functions() map[string]function.Function {
	if s.funcs == nil {
		s.patterns = patterns{}
		s.funcs = maps.Clone(plainFunctions)
		s.funcs["matches"] = s.patterns.function()
		cache := &commandCache{}
		s.funcs["commands"], s.funcs["runs"] = commandsFunction(cache), runsFunction(cache)
	}
	return s.funcs
}
