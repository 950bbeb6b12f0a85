// Package when compiles and evaluates the conditions of rules: HCL expressions about the arguments of a call, with a
// fixed set of functions. Both the expressions and the arguments are treated as hostile: a condition reads nothing but
// what it names, and the steps of an evaluation are counted and bounded.
package when

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"golang.org/x/text/unicode/norm"

	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/host/internal/shelltool"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// A Compiler compiles the conditions of one file. They share functions, compiled patterns and the steps that reading
// the file may take.
type Compiler struct {
	*hclfile.Scope
	functions map[string]function.Function
	patterns  patterns
	commands  *commandCache
	steps     int // see maxLoadSteps
}

// NewCompiler makes the compiler for a file.
func NewCompiler(scope *hclfile.Scope) *Compiler {
	c := &Compiler{Scope: scope, functions: plainFunctions(), patterns: patterns{}, commands: &commandCache{},
		steps: maxLoadSteps}
	c.functions["matches"] = c.patterns.function()
	c.functions["commands"], c.functions["runs"] = commandsFunction(c.commands), runsFunction(c.commands)
	return c
}

// A Condition is a compiled condition. It is safe for concurrent use.
type Condition struct {
	*vetted
	path     string // of the file, as the user named it
	commands *commandCache
	base     *hcl.EvalContext
}

// Compile compiles an attribute of a rule. It is nil when the expression is not allowed or cannot be a condition
// whatever the arguments are, which is reported.
func (c *Compiler) Compile(rule *hclfile.Body, e hclsyntax.Expression) *Condition {
	v, ok := c.vet(rule, e)
	if !ok {
		return nil
	}
	cond := &Condition{vetted: v, path: c.Path, commands: c.commands, base: &hcl.EvalContext{
		Variables: map[string]cty.Value{"local": cty.ObjectVal(v.locals), "env": cty.ObjectVal(v.env)},
		Functions: v.functions,
	}}
	unknown := slices.Repeat([]cty.Value{cty.DynamicVal}, len(cond.arguments))
	var value cty.Value
	var err error
	c.spend(func(m *meter) { value, err = cond.value(&policy.Query{}, unknown, m) })
	if err == nil && value.IsKnown() {
		_, err = truthOf(value)
	} else if err == nil && value.Type() != cty.DynamicPseudoType && value.Type() != cty.Bool {
		err = fmt.Errorf("it gives %s, not true or false", hclfile.KindOf(cty.UnknownVal(value.Type())))
	}
	if err != nil {
		rule.Wrong(e.Range(), "when: %s", err).
			WithHint(`a condition is an expression without quotes around it, such as args.path == "x"`)
		return nil
	}
	return cond
}

// Try is Holds for an example in the file, whose steps are taken from those that reading the file may take.
func (c *Compiler) Try(cond *Condition, q *policy.Query) (truth policy.Truth, err error) {
	c.spend(func(m *meter) { truth, err = cond.ask(q, m) })
	return truth, err
}

// spend makes an evaluation pay out of the steps that the file has left.
func (c *Compiler) spend(evaluate func(*meter)) {
	m := &meter{left: min(maxSteps, c.steps)}
	before := m.left
	evaluate(m)
	c.steps -= before - m.left
}

// Arguments are the names of the arguments that the condition refers to, sorted.
func (c *Condition) Arguments() []string { return slices.Clone(c.arguments) }

// LooksAtPaths says whether the condition may give another result when the call names another path.
func (c *Condition) LooksAtPaths() bool {
	return c.paths || slices.ContainsFunc(c.arguments, isPathArgument)
}

// Holds evaluates the condition for a call. The error says why that is impossible.
func (c *Condition) Holds(q *policy.Query) (policy.Truth, error) {
	if c.plain != nil && q.Path == nil {
		if holds, ok := c.plain(q); ok {
			if holds {
				return policy.Yes, nil
			}
			return policy.No, nil
		}
	}
	m := meters.Get().(*meter)
	*m = meter{left: maxSteps, args: m.args[:0], operands: m.operands[:0], loops: m.loops[:0], values: m.values[:0]}
	truth, err := c.ask(q, m)
	if m.made == nil { // else HCL's contexts refer to it
		m.query = nil
		clear(m.args[:cap(m.args)])
		clear(m.operands[:cap(m.operands)])
		clear(m.loops[:cap(m.loops)])
		clear(m.values[:cap(m.values)])
		meters.Put(m)
	}
	return truth, err
}

func (c *Condition) ask(q *policy.Query, m *meter) (policy.Truth, error) {
	args := m.args[:0]
	for _, name := range c.arguments {
		if q.Path != nil && isPathArgument(name) { // the call is asked about another path
			other := cty.NullVal(cty.DynamicPseudoType)
			if name == "path" {
				other = pathValue(q.Path)
			}
			args = append(args, other)
			continue
		}
		v, err := argumentOf(q, name).evaluate()
		if err != nil {
			return policy.No, fmt.Errorf("args.%s cannot be evaluated: %w", name, err)
		}
		args = append(args, v)
	}
	for _, name := range c.words {
		if problem := hclfile.Unstable(factOf(q, name)); problem != "" {
			return policy.No, fmt.Errorf("%s cannot be evaluated: it %s", name, problem)
		}
	}
	v, err := c.value(q, args, m)
	if err != nil {
		return policy.No, err
	}
	return truthOf(v)
}

// meters are reused: each rule of each call takes one.
var meters = sync.Pool{New: func() any { return new(meter) }}

// isPathArgument says whether tools are given paths in the argument.
func isPathArgument(name string) bool { return name == "path" || name == "paths" || name == "edits" }

// An argument is one of a call's, as expressions work with it. Queries keep it for the next rule.
type argument struct {
	raw   json.RawMessage
	text  string
	plain bool // it is text, and short

	read  bool // value and err are set
	value cty.Value
	err   error
}

// evaluate returns the argument as a value of HCL.
func (a *argument) evaluate() (cty.Value, error) {
	switch {
	case a.read:
	case a.plain:
		a.value = cty.StringVal(a.text)
	default:
		a.value, a.err = valueOf(a.raw)
	}
	a.read = true
	return a.value, a.err
}

// argumentOf reads an argument once for all conditions of a decision.
func argumentOf(q *policy.Query, name string) *argument {
	if a, read := q.Recall(name).(*argument); read {
		return a
	}
	return q.Kept(name, func() any {
		a := &argument{raw: q.Argument(name)}
		if text, ok := rawjson.ASCII(a.raw); ok && len(text) <= maxPlainText {
			a.text, a.plain = string(text), true
		}
		return a
	}).(*argument)
}

// factOf returns what tool, caller or workdir stands for.
func factOf(q *policy.Query, name string) string {
	switch name {
	case "tool":
		return q.Tool
	case "caller":
		return q.Caller
	}
	return q.Workdir
}

// value evaluates the condition. Its args are in the order of c.arguments.
func (c *Condition) value(q *policy.Query, args []cty.Value, m *meter) (v cty.Value, err error) {
	m.cond, m.query, m.args = c, q, args
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

// context makes HCL's outermost context, for what has no shortcut.
func (c *Condition) context(m *meter) *hcl.EvalContext {
	ctx := c.base.NewChild()
	args := make(map[string]cty.Value, len(c.arguments))
	for i, name := range c.arguments {
		args[name] = m.args[i]
	}
	ctx.Variables = map[string]cty.Value{"args": cty.ObjectVal(args), meterName: cty.CapsuleVal(meterType, m)}
	for _, name := range c.words {
		ctx.Variables[name] = cty.StringVal(factOf(m.query, name))
	}
	ctx.Functions = map[string]function.Function{}
	if c.paths {
		ctx.Functions["inside"] = insideFunction(m.query.Workdir)
		ctx.Functions["paths"] = pathsFunction(m.query)
	}
	if shelltool.Unread(m.query) {
		ctx.Functions["commands"], ctx.Functions["runs"] = unreadCommands, unreadRuns
	}
	return ctx
}

// failure is the first error, with its position.
func (c *Condition) failure(diags hcl.Diagnostics) string {
	d := diags[slices.IndexFunc(diags, func(d *hcl.Diagnostic) bool { return d.Severity == hcl.DiagError })]
	text, _, _ := strings.Cut(hclfile.Visible(d.Detail), ". ")
	if _, own, called := strings.Cut(text, " failed: "); called {
		text = own
	}
	text = strings.TrimPrefix(text, "Error during operation: ")
	text = strings.TrimRight(text, ".")
	_, size := utf8.DecodeRuneInString(text)
	text = strings.ToLower(text[:size]) + text[size:]
	if d.Subject != nil {
		text += fmt.Sprintf(" (%s:%d,%d)", c.path, d.Subject.Start.Line, d.Subject.Start.Column)
	}
	return text
}

func truthOf(v cty.Value) (policy.Truth, error) {
	switch {
	case !v.IsKnown() && (v.Type() == cty.Bool || v.Type() == cty.DynamicPseudoType):
		return policy.Unsure, nil
	case !v.IsKnown() || !hclfile.BoolKind.Is(v):
		return policy.No, fmt.Errorf("it gives %s, not true or false", hclfile.KindOf(v))
	case v.True():
		return policy.Yes, nil
	}
	return policy.No, nil
}

// Bounds for an argument that a rule refers to: bytes of JSON, and values at any depth. Each value costs a condition
// some hundred bytes and a microsecond, before it is used.
const (
	maxArgument = 1 << 20
	maxValues   = 1 << 15
)

var (
	errNotJSON     = errors.New("it is not JSON")
	errNumber      = errors.New("it holds a number that is too long or too large")
	errComposition = errors.New("it holds letters that are written as a base letter and an accent, " +
		"which a rule would see as one character and the tool as two")
)

// valueOf turns one argument into a value of expressions. It refuses what HCL would change: rules must see what the
// tool gets. An absent argument is null.
func valueOf(raw json.RawMessage) (cty.Value, error) {
	if len(raw) == 0 {
		return cty.NullVal(cty.DynamicPseudoType), nil
	}
	if len(raw) > maxArgument {
		return cty.NilVal, fmt.Errorf("it has %d bytes; the limit for rules is %d", len(raw), maxArgument)
	}
	if raw[0] == '"' { // most are text, and need no decoder
		if plain, ok := rawjson.ASCII(raw); ok {
			return cty.StringVal(string(plain)), nil
		}
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return cty.NilVal, errNotJSON
		}
		return textOf(s)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	r := &jsonReader{Decoder: d}
	v, err := r.value(0)
	if _, more := d.Token(); err == nil && !errors.Is(more, io.EOF) {
		return cty.NilVal, errors.New("it is not one JSON value")
	}
	return v, err
}

type jsonReader struct {
	*json.Decoder
	values int // read so far
}

func (r *jsonReader) value(depth int) (cty.Value, error) {
	if r.values++; r.values > maxValues {
		return cty.NilVal, fmt.Errorf("it has more than %d values, which is too much work", maxValues)
	}
	if depth > hclfile.MaxDepth {
		return cty.NilVal, fmt.Errorf("it has more than %d lists or objects inside each other", hclfile.MaxDepth)
	}
	token, err := r.Token()
	if err != nil {
		return cty.NilVal, errNotJSON
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return r.list(depth)
		}
		return r.object(depth)
	case string:
		return textOf(t)
	case json.Number:
		return numberOf(t.String())
	case bool:
		return cty.BoolVal(t), nil
	}
	return cty.NullVal(cty.DynamicPseudoType), nil
}

func (r *jsonReader) list(depth int) (cty.Value, error) {
	var items []cty.Value
	for r.More() {
		v, err := r.value(depth + 1)
		if err != nil {
			return v, err
		}
		items = append(items, v)
	}
	_, err := r.Token()
	return cty.TupleVal(items), err
}

func (r *jsonReader) object(depth int) (cty.Value, error) {
	items := map[string]cty.Value{}
	for r.More() {
		key, err := r.value(hclfile.MaxDepth)
		if err != nil {
			return key, err
		}
		name := key.AsString()
		if _, twice := items[name]; twice {
			return cty.NilVal, fmt.Errorf("it has two members named %q in one object", hclfile.Brief(name))
		}
		if items[name], err = r.value(depth + 1); err != nil {
			return cty.NilVal, err
		}
	}
	_, err := r.Token()
	return cty.ObjectVal(items), err
}

func textOf(s string) (cty.Value, error) {
	if !norm.NFC.IsNormalString(s) {
		return cty.NilVal, errComposition
	}
	return cty.StringVal(s), nil
}

// numberOf keeps a number exact, and refuses one that cannot be.
func numberOf(s string) (cty.Value, error) {
	_, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	if len(s) > hclfile.MaxDigits || len(exponent) > len("-0000") {
		return cty.NilVal, errNumber
	}
	v, err := cty.ParseNumberVal(s)
	if err != nil || hclfile.OutOfRange(v.AsBigFloat()) {
		return cty.NilVal, errNumber
	}
	return v, nil
}
