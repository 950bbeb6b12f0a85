package when

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/host/internal/shelltool"
)

// This file evaluates usual conditions without HCL's contexts: those are maps of all names and functions, and were
// three quarters of what a call allocated in its host. TestShortcuts holds each shortcut against HCL's own evaluation.

// A shortcut replaces a node of HCL. Its eval has the same result and costs as many steps, but is faster where the
// operands are plain: known, neither null nor marked, and of the expected type. For others the node gets the operands
// already evaluated, so that each is evaluated only once.
type shortcut interface {
	hclsyntax.Expression
	eval(ctx *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics)
}

// shorten returns the shortcut for a node, or the node if there is none. Its parts are metered already.
func (v *vetted) shorten(e hclsyntax.Expression, literal bool) hclsyntax.Expression {
	if literal {
		if c, ok := constantOf(e); ok {
			return c
		}
	}
	switch n := e.(type) {
	case *hclsyntax.BinaryOpExpr:
		if plain := plainOperations[n.Op]; plain != nil {
			return operation{n, plain}
		}
	case *hclsyntax.UnaryOpExpr:
		if n.Op == hclsyntax.OpLogicalNot {
			return negation{n}
		}
	case *hclsyntax.ParenthesesExpr:
		return parentheses{n}
	case *hclsyntax.FunctionCallExpr:
		if n.Name == "matches" {
			return match{n}
		}
		plain := plainCalls[n.Name]
		if plain == nil {
			plain = direct(v.functions[n.Name])
		}
		if !n.ExpandFinal {
			return call{n, plain}
		}
	case *hclsyntax.ForExpr:
		if n.KeyExpr == nil && n.CondExpr == nil {
			return loop{n}
		}
	case *hclsyntax.ScopeTraversalExpr:
		return v.reference(n)
	}
	return e
}

// reference returns the shortcut for a name.
func (v *vetted) reference(n *hclsyntax.ScopeTraversalExpr) hclsyntax.Expression {
	switch root := n.Traversal.RootName(); root {
	case "args":
		name := hclfile.SecondName(n.Traversal)
		for i, a := range v.arguments {
			if a == name {
				return argumentRef{n, i, n.Traversal[2:]}
			}
		}
		return n
	case "tool", "caller", "workdir":
		return fact{n, root}
	case "local", "env":
		values := map[string]map[string]cty.Value{"local": v.locals, "env": v.env}[root]
		value, diags := n.Traversal[1:].TraverseRel(cty.ObjectVal(values))
		if len(diags) > 0 {
			return n
		}
		return newConstant(n, value, 0)
	default:
		return loopRef{n, root, n.Traversal[1:]}
	}
}

// evaluated is an expression with its value.
type evaluated struct {
	hclsyntax.Expression
	value cty.Value
	diags hcl.Diagnostics
	items []cty.Value // of a constant list
}

func (g evaluated) Value(*hcl.EvalContext) (cty.Value, hcl.Diagnostics) { return g.value, g.diags }

// evaluated evaluates an operand.
func (m *meter) evaluated(e hclsyntax.Expression, ctx *hcl.EvalContext) (g evaluated) {
	g.Expression = e
	if part, ok := e.(metered); ok {
		if c, ok := part.Expression.(constant); ok {
			g.items = c.items
		}
	}
	if s, ok := e.(shortcut); ok {
		g.value, g.diags = s.eval(ctx, m)
	} else {
		g.value, g.diags = e.Value(m.context(ctx))
	}
	return g
}

// context makes the outermost context, for nil, when it is first needed, and those of the loops inside it.
func (m *meter) context(ctx *hcl.EvalContext) *hcl.EvalContext {
	if ctx != nil {
		return ctx
	}
	if m.made == nil {
		m.made = m.cond.context(m)
	}
	ctx = m.made
	for i := range m.loops {
		l := &m.loops[i]
		if l.made == nil {
			l.made = ctx.NewChild()
			l.made.Variables = map[string]cty.Value{l.valueName: l.value}
			if l.keyName != "" {
				l.made.Variables[l.keyName] = l.key
			}
		}
		ctx = l.made
	}
	return ctx
}

// An operation is a binary operator.
type operation struct {
	*hclsyntax.BinaryOpExpr
	plain func(l, r cty.Value) (v cty.Value, ok bool)
}

func (o operation) eval(ctx *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics) {
	l, r := m.evaluated(o.LHS, ctx), m.evaluated(o.RHS, ctx)
	if len(l.diags)+len(r.diags) == 0 {
		if v, ok := o.plain(l.value, r.value); ok {
			return v, nil
		}
	}
	long := *o.BinaryOpExpr
	long.LHS, long.RHS = l, r
	return long.Value(m.context(ctx))
}

// plainOperations return false for operands that are not plain.
var plainOperations = map[*hclsyntax.Operation]func(l, r cty.Value) (cty.Value, bool){
	hclsyntax.OpLogicalAnd:         onBools(func(a, b bool) bool { return a && b }),
	hclsyntax.OpLogicalOr:          onBools(func(a, b bool) bool { return a || b }),
	hclsyntax.OpEqual:              onTexts(func(a, b string) bool { return a == b }),
	hclsyntax.OpNotEqual:           onTexts(func(a, b string) bool { return a != b }),
	hclsyntax.OpGreaterThan:        onNumbers(func(order int) bool { return order > 0 }),
	hclsyntax.OpGreaterThanOrEqual: onNumbers(func(order int) bool { return order >= 0 }),
	hclsyntax.OpLessThan:           onNumbers(func(order int) bool { return order < 0 }),
	hclsyntax.OpLessThanOrEqual:    onNumbers(func(order int) bool { return order <= 0 }),
}

func onBools(f func(a, b bool) bool) func(l, r cty.Value) (cty.Value, bool) {
	return func(l, r cty.Value) (cty.Value, bool) {
		if !isPlain(l, cty.Bool) || !isPlain(r, cty.Bool) {
			return cty.NilVal, false
		}
		return cty.BoolVal(f(l == cty.True, r == cty.True)), true
	}
}

func onTexts(f func(a, b string) bool) func(l, r cty.Value) (cty.Value, bool) {
	return func(l, r cty.Value) (cty.Value, bool) {
		if !isPlain(l, cty.String) || !isPlain(r, cty.String) {
			return cty.NilVal, false
		}
		return cty.BoolVal(f(l.AsString(), r.AsString())), true
	}
}

func onNumbers(f func(order int) bool) func(l, r cty.Value) (cty.Value, bool) {
	return func(l, r cty.Value) (cty.Value, bool) {
		if !isPlain(l, cty.Number) || !isPlain(r, cty.Number) {
			return cty.NilVal, false
		}
		return cty.BoolVal(f(l.AsBigFloat().Cmp(r.AsBigFloat()))), true
	}
}

func isPlain(v cty.Value, t cty.Type) bool {
	return v.Type() == t && !v.IsMarked() && v.IsKnown() && !v.IsNull()
}

// A negation is !.
type negation struct{ *hclsyntax.UnaryOpExpr }

func (n negation) eval(ctx *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics) {
	v := m.evaluated(n.Val, ctx)
	if len(v.diags) == 0 && isPlain(v.value, cty.Bool) {
		return v.value.Not(), nil
	}
	long := *n.UnaryOpExpr
	long.Val = v
	return long.Value(m.context(ctx))
}

// parentheses evaluate the expression in them.
type parentheses struct{ *hclsyntax.ParenthesesExpr }

func (p parentheses) eval(ctx *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics) {
	v := m.evaluated(p.Expression, ctx)
	return v.value, v.diags
}

// A match is a call of matches.
type match struct{ *hclsyntax.FunctionCallExpr }

// A pattern is the first argument of matches, compiled.
type pattern struct {
	*hclsyntax.LiteralValueExpr
	compiled *regexp.Regexp
}

func (c match) eval(ctx *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics) {
	p, text := c.Args[0].(pattern), m.evaluated(c.Args[1], ctx)
	if len(text.diags) == 0 && isPlain(text.value, cty.String) {
		return cty.BoolVal(p.compiled.MatchString(text.value.AsString())), nil
	}
	long := *c.FunctionCallExpr
	long.Args = []hclsyntax.Expression{p, text}
	return long.Value(m.context(ctx))
}

// A call is one of another function.
type call struct {
	*hclsyntax.FunctionCallExpr
	plain plainCall
}

// A plainCall returns false for arguments that are not plain, and where the function would fail.
type plainCall func(m *meter, args []evaluated) (cty.Value, bool)

func (c call) eval(ctx *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics) {
	depth := len(m.operands) // a stack, so that no call makes a list of its own
	defer func() { m.operands = m.operands[:depth] }()
	failed := false
	for _, e := range c.Args {
		g := m.evaluated(e, ctx)
		m.operands = append(m.operands, g)
		failed = failed || len(g.diags) > 0
	}
	args := m.operands[depth:]
	if !failed {
		if v, ok := c.plain(m, args); ok {
			return v, nil
		}
	}
	long := *c.FunctionCallExpr
	long.Args = make([]hclsyntax.Expression, len(args))
	for i, g := range args {
		long.Args[i] = g
	}
	return long.Value(m.context(ctx))
}

// plainCalls are those of functions that depend on the call of the tool, or are common in loops.
var plainCalls = map[string]plainCall{"commands": plainCommands, "contains": plainContains, "inside": plainInside,
	"length": plainLength, "paths": plainPaths, "runs": plainRuns, "startswith": ofTexts(strings.HasPrefix),
	"endswith": ofTexts(strings.HasSuffix), "strcontains": ofTexts(strings.Contains)}

func ofTexts(f func(a, b string) bool) plainCall {
	return func(_ *meter, args []evaluated) (cty.Value, bool) {
		if !isPlain(args[0].value, cty.String) || !isPlain(args[1].value, cty.String) {
			return cty.NilVal, false
		}
		return cty.BoolVal(f(args[0].value.AsString(), args[1].value.AsString())), true
	}
}

// direct calls a function with arguments that are known and of its parameters' types. For others it fails.
func direct(f function.Function) plainCall {
	return func(m *meter, args []evaluated) (cty.Value, bool) {
		m.values = m.values[:0]
		for _, g := range args {
			if !g.value.IsKnown() || g.value.Type() == cty.DynamicPseudoType {
				return cty.NilVal, false
			}
			m.values = append(m.values, g.value)
		}
		v, err := f.Call(m.values)
		return v, err == nil
	}
}

// plainItems returns the items of a tuple. They may be anything but marked.
func plainItems(g evaluated) ([]cty.Value, bool) {
	if g.items != nil {
		return g.items, true
	}
	v := g.value
	if v.IsMarked() || !v.Type().IsTupleType() || !v.IsKnown() || v.IsNull() || v.ContainsMarked() {
		return nil, false
	}
	return v.AsValueSlice(), true
}

func plainContains(_ *meter, args []evaluated) (cty.Value, bool) {
	items, ok := plainItems(args[0])
	if !ok || !isPlain(args[1].value, cty.String) {
		return cty.NilVal, false
	}
	out := cty.False
	for _, item := range items {
		if !isPlain(item, cty.String) {
			return cty.NilVal, false
		}
		if item.AsString() == args[1].value.AsString() {
			out = cty.True
		}
	}
	return out, true
}

func plainLength(_ *meter, args []evaluated) (cty.Value, bool) {
	if isPlain(args[0].value, cty.String) {
		return cty.NumberIntVal(int64(utf8.RuneCountInString(args[0].value.AsString()))), true
	}
	items, ok := plainItems(args[0])
	for _, item := range items {
		ok = ok && item.IsKnown()
	}
	return cty.NumberIntVal(int64(len(items))), ok
}

func plainInside(m *meter, args []evaluated) (cty.Value, bool) {
	if !isPlain(args[0].value, cty.String) || !isPlain(args[1].value, cty.String) {
		return cty.NilVal, false
	}
	v, err := inside(args[0].value, args[1].value.AsString(), m.query.Workdir)
	return v, err == nil
}

func plainPaths(m *meter, _ []evaluated) (cty.Value, bool) {
	if m.query.Path != nil || m.query.Arguments == nil {
		return cty.NilVal, false
	}
	found := keptPaths(m.query)
	return found.value, found.err == nil
}

func plainCommands(m *meter, args []evaluated) (cty.Value, bool) {
	if !isPlain(args[0].value, cty.String) || shelltool.Unread(m.query) {
		return cty.NilVal, false
	}
	p, err := m.cond.commands.parse(args[0].value.AsString())
	if err != nil {
		return cty.NilVal, false
	}
	return p.commands, true
}

func plainRuns(m *meter, args []evaluated) (cty.Value, bool) {
	begins, ok := plainItems(args[1])
	if !ok || !isPlain(args[0].value, cty.String) || shelltool.Unread(m.query) {
		return cty.NilVal, false
	}
	v, err := m.cond.commands.runs(args[0].value.AsString(), begins)
	return v, err == nil
}

// An iteration is one of a loop that is evaluated without HCL's contexts.
type iteration struct {
	keyName, valueName string
	key, value         cty.Value
	made               *hcl.EvalContext // with key and value, once it was needed
}

// A loop is [for x in LIST : …] over a plain list.
type loop struct{ *hclsyntax.ForExpr }

func (l loop) eval(ctx *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics) {
	list := m.evaluated(l.CollExpr, ctx)
	items, ok := plainItems(list)
	if ctx != nil || !ok || len(list.diags) > 0 {
		long := *l.ForExpr
		long.CollExpr = list
		return long.Value(m.context(ctx))
	}
	depth := len(m.loops)
	defer func() { m.loops = m.loops[:depth] }()
	values := make([]cty.Value, 0, len(items))
	var diags hcl.Diagnostics
	for i, item := range items {
		m.loops = append(m.loops[:depth], iteration{keyName: l.KeyVar, valueName: l.ValVar, value: item})
		if l.KeyVar != "" {
			m.loops[depth].key = cty.NumberIntVal(int64(i))
		}
		v := m.evaluated(l.ValExpr, nil)
		diags = append(diags, v.diags...)
		values = append(values, v.value)
	}
	return cty.TupleVal(values), diags
}

// A loopRef is the variable of a loop, or something in it.
type loopRef struct {
	*hclsyntax.ScopeTraversalExpr
	name string
	rest hcl.Traversal
}

func (r loopRef) eval(ctx *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics) {
	if ctx == nil {
		for i := len(m.loops) - 1; i >= 0; i-- {
			switch l := &m.loops[i]; r.name {
			case l.valueName: // as in HCL, where the value replaces a key of the same name
				return r.rest.TraverseRel(l.value)
			case l.keyName:
				return r.rest.TraverseRel(l.key)
			}
		}
	}
	return r.Value(m.context(ctx))
}

// A constant is an expression without names or functions, or a local.
type constant struct {
	hclsyntax.Expression
	value cty.Value
	items []cty.Value // of a list
	steps int         // of its parts, and of the value
}

func (c constant) eval(_ *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics) { //nolint:unparam // a shortcut's
	m.left -= c.steps
	return c.value, nil
}

func newConstant(e hclsyntax.Expression, v cty.Value, steps int) constant {
	m := &meter{left: maxSteps}
	m.weigh(v)
	items, _ := plainItems(evaluated{value: v})
	return constant{e, v, items, steps + maxSteps - m.left}
}

// constantOf evaluates a literal. It is false where that fails.
func constantOf(e hclsyntax.Expression) (constant, bool) {
	m := &meter{left: maxSteps}
	v, diags := e.Value(&hcl.EvalContext{Variables: map[string]cty.Value{meterName: cty.CapsuleVal(meterType, m)}})
	if len(diags) > 0 || m.spent() {
		return constant{}, false
	}
	return newConstant(e, v, maxSteps-m.left), true
}

// An argumentRef is args.NAME, or something in it.
type argumentRef struct {
	*hclsyntax.ScopeTraversalExpr
	index int // of the argument, among those that the condition names
	rest  hcl.Traversal
}

func (a argumentRef) eval(_ *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics) {
	return a.rest.TraverseRel(m.args[a.index])
}

// A fact is tool, caller or workdir.
type fact struct {
	*hclsyntax.ScopeTraversalExpr
	name string
}

func (f fact) eval(_ *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics) { //nolint:unparam // a shortcut's
	return cty.StringVal(factOf(m.query, f.name)), nil
}
