package when

import (
	"reflect"
	"regexp"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/toolhost/toolhost/host/internal/hclfile"
)

// A condition may loop over hostile arguments, so its work is metered: each part that is evaluated costs partSteps, and
// its value one step, one more for each item and for each bytesPerStep bytes of text. All the steps of one evaluation
// take some tenths of a second and some tens of megabytes. maxLoadSteps bounds all evaluations while a file is read.
const (
	maxSteps     = 1 << 20
	maxLoadSteps = 4 * maxSteps
	partSteps    = 4
	bytesPerStep = 16
)

// A meter counts down the steps of one evaluation.
type meter struct {
	left int
	args map[string]cty.Value    // the arguments that the condition refers to
	top  func() *hcl.EvalContext // makes the outermost context
	made *hcl.EvalContext        // by top, once it was needed
}

// meterName is the variable that holds the meter of an evaluation; because of the blank, expressions cannot refer to
// it.
const meterName = " meter"

var meterType = cty.Capsule("meter", reflect.TypeFor[meter]())

func meterOf(ctx *hcl.EvalContext) *meter {
	for ; ctx != nil; ctx = ctx.Parent() {
		if v, there := ctx.Variables[meterName]; there {
			return v.EncapsulatedValue().(*meter)
		}
	}
	return &meter{} // spent; not reached, since every evaluation has one
}

func (m *meter) spent() bool { return m.left < 0 }

// weigh counts the steps for a value. It stops when the meter is spent.
func (m *meter) weigh(v cty.Value) {
	m.left--
	switch {
	case m.spent() || v.IsNull() || !v.IsKnown():
	case v.Type() == cty.String:
		m.left -= len(v.AsString()) / bytesPerStep
	case v.CanIterateElements():
		for it := v.ElementIterator(); !m.spent() && it.Next(); {
			_, item := it.Element()
			m.weigh(item)
		}
	}
}

// maxItems is a number whose square is more than any meter has.
const maxItems = bytesPerStep << 10

// items counts the items in a value at any depth, to maxItems.
func items(v cty.Value) (n int) {
	if !v.IsKnown() || v.IsNull() || !v.CanIterateElements() {
		return 0
	}
	for it := v.ElementIterator(); n < maxItems && it.Next(); {
		_, item := it.Element()
		n += 1 + items(item)
	}
	return n
}

// metered is an expression whose evaluation is counted.
type metered struct {
	hclsyntax.Expression
	truth  bool // the value is an operand of && or ||, which panic over null
	choice bool // the value is a result of a conditional, which compares the types of all items with each other
	factor int  // for a pattern: how much work it is for each byte of the text
}

// Value is the expression's, or an error if there are not enough steps left.
func (e metered) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	return e.eval(ctx, meterOf(ctx))
}

// eval is Value with a known meter. A nil context is the outermost.
func (e metered) eval(ctx *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics) {
	if m.spent() {
		return cty.DynamicVal, e.wrong("This is too much work.")
	}
	m.left -= partSteps
	g := m.given(e.Expression, ctx)
	v, diags := g.value, g.diags
	m.weigh(v)
	if e.factor > 0 && v.IsKnown() && hclfile.TextKind.Is(v) {
		m.left -= len(v.AsString()) / bytesPerStep * e.factor
	}
	if e.choice {
		n := items(v)
		m.left -= n * n / bytesPerStep
	}
	switch {
	case m.spent():
		return cty.DynamicVal, e.wrong("This is too much work.")
	case e.truth && v.IsNull():
		return cty.DynamicVal, append(diags, e.wrong("This is null, and neither true nor false.")...)
	}
	return v, diags
}

func (e metered) wrong(detail string) hcl.Diagnostics {
	return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Failed", Detail: detail, Subject: e.Range().Ptr()}}
}

// meterParts puts a meter on the expression and on all its parts. The kinds of nodes are those that vetting allows.
func meterParts(e hclsyntax.Expression) metered {
	switch n := e.(type) {
	case *hclsyntax.ForExpr:
		meterEach(&n.CollExpr, &n.KeyExpr, &n.ValExpr, &n.CondExpr)
	case *hclsyntax.FunctionCallExpr:
		meterAll(n.Args)
	case *hclsyntax.TupleConsExpr:
		meterAll(n.Exprs)
	case *hclsyntax.TemplateExpr:
		meterAll(n.Parts)
	case *hclsyntax.ObjectConsExpr:
		meterItems(n.Items)
	case *hclsyntax.BinaryOpExpr:
		logical := n.Op.ShortCircuit != nil
		n.LHS = metered{Expression: meterParts(n.LHS), truth: logical}
		n.RHS = metered{Expression: meterParts(n.RHS), truth: logical}
	case *hclsyntax.ConditionalExpr:
		meterEach(&n.Condition)
		n.TrueResult = metered{Expression: meterParts(n.TrueResult), choice: true}
		n.FalseResult = metered{Expression: meterParts(n.FalseResult), choice: true}
	case *hclsyntax.IndexExpr:
		meterEach(&n.Collection, &n.Key)
	case *hclsyntax.RelativeTraversalExpr:
		meterEach(&n.Source)
	case *hclsyntax.TemplateWrapExpr:
		meterEach(&n.Wrapped)
	case *hclsyntax.ParenthesesExpr:
		meterEach(&n.Expression)
	case *hclsyntax.UnaryOpExpr:
		meterEach(&n.Val)
	}
	return metered{Expression: shorten(e)}
}

func meterEach(parts ...*hclsyntax.Expression) {
	for _, p := range parts {
		if *p != nil {
			*p = meterParts(*p)
		}
	}
}

func meterAll(parts []hclsyntax.Expression) {
	for i := range parts {
		parts[i] = meterParts(parts[i])
	}
}

func meterItems(items []hclsyntax.ObjectConsItem) {
	for i := range items {
		items[i].ValueExpr = meterParts(items[i].ValueExpr)
		key, ok := items[i].KeyExpr.(*hclsyntax.ObjectConsKeyExpr)
		if !ok {
			continue
		}
		if _, bare := key.Wrapped.(*hclsyntax.ScopeTraversalExpr); !bare || key.ForceNonLiteral {
			key.Wrapped = meterParts(key.Wrapped)
		}
	}
}

// A shortcut replaces a node of HCL. Its eval has the same result and costs as many steps, but is faster where the
// operands are plain: known, neither null nor marked, and of the expected type. For others the node gets the operands
// already evaluated, so that each is evaluated only once.
type shortcut interface {
	hclsyntax.Expression
	eval(ctx *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics)
}

// shorten gives the shortcut for a node, or the node if there is none.
func shorten(e hclsyntax.Expression) hclsyntax.Expression {
	switch n := e.(type) {
	case *hclsyntax.BinaryOpExpr:
		if plain := plainOperations[n.Op]; plain != nil {
			return operation{n, plain}
		}
	case *hclsyntax.FunctionCallExpr:
		if n.Name == "matches" {
			return match{n}
		}
	case *hclsyntax.TemplateExpr:
		if c, ok := constantOf(n); ok {
			return c
		}
	case *hclsyntax.ScopeTraversalExpr:
		if n.Traversal.RootName() == "args" {
			return argumentRef{n, hclfile.SecondName(n.Traversal), n.Traversal[2:]}
		}
	}
	return e
}

// given is an expression that is already evaluated.
type given struct {
	hclsyntax.Expression
	value cty.Value
	diags hcl.Diagnostics
}

func (g given) Value(*hcl.EvalContext) (cty.Value, hcl.Diagnostics) { return g.value, g.diags }

// given evaluates an operand.
func (m *meter) given(e hclsyntax.Expression, ctx *hcl.EvalContext) (g given) {
	g.Expression = e
	if s, ok := e.(shortcut); ok {
		g.value, g.diags = s.eval(ctx, m)
	} else {
		g.value, g.diags = e.Value(m.context(ctx))
	}
	return g
}

// context makes the outermost context, for nil, when it is first needed.
func (m *meter) context(ctx *hcl.EvalContext) *hcl.EvalContext {
	if ctx != nil {
		return ctx
	}
	if m.made == nil {
		m.made = m.top()
	}
	return m.made
}

// An operation is a binary operator.
type operation struct {
	*hclsyntax.BinaryOpExpr
	plain func(l, r cty.Value) (v cty.Value, ok bool)
}

func (o operation) eval(ctx *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics) {
	l, r := m.given(o.LHS, ctx), m.given(o.RHS, ctx)
	if len(l.diags)+len(r.diags) == 0 {
		if v, ok := o.plain(l.value, r.value); ok {
			return v, nil
		}
	}
	long := *o.BinaryOpExpr
	long.LHS, long.RHS = l, r
	return long.Value(m.context(ctx))
}

// plainOperations give false for operands that are not plain.
var plainOperations = map[*hclsyntax.Operation]func(l, r cty.Value) (cty.Value, bool){
	hclsyntax.OpLogicalAnd: onBools(func(a, b bool) bool { return a && b }),
	hclsyntax.OpLogicalOr:  onBools(func(a, b bool) bool { return a || b }),
	hclsyntax.OpEqual:      onTexts(func(a, b string) bool { return a == b }),
	hclsyntax.OpNotEqual:   onTexts(func(a, b string) bool { return a != b }),
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

func isPlain(v cty.Value, t cty.Type) bool {
	return v.Type() == t && !v.IsMarked() && v.IsKnown() && !v.IsNull()
}

// A match is a call of matches.
type match struct{ *hclsyntax.FunctionCallExpr }

// A pattern is the first argument of matches, compiled.
type pattern struct {
	*hclsyntax.LiteralValueExpr
	compiled *regexp.Regexp
}

func (c match) eval(ctx *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics) {
	p, text := c.Args[0].(pattern), m.given(c.Args[1], ctx)
	if len(text.diags) == 0 && isPlain(text.value, cty.String) {
		return cty.BoolVal(p.compiled.MatchString(text.value.AsString())), nil
	}
	long := *c.FunctionCallExpr
	long.Args = []hclsyntax.Expression{p, text}
	return long.Value(m.context(ctx))
}

// A constant is a template without anything to fill in.
type constant struct {
	*hclsyntax.TemplateExpr
	text  *hclsyntax.LiteralValueExpr
	steps int // of its parts
}

// constantOf is false when a part is more than a literal. The parts are metered already.
func constantOf(n *hclsyntax.TemplateExpr) (constant, bool) {
	text, steps := "", 0
	for _, p := range n.Parts {
		part, ok := p.(metered).Expression.(*hclsyntax.LiteralValueExpr)
		if !ok || !isPlain(part.Val, cty.String) {
			return constant{}, false
		}
		text += part.Val.AsString()
		steps += partSteps + 1 + len(part.Val.AsString())/bytesPerStep
	}
	return constant{n, &hclsyntax.LiteralValueExpr{Val: cty.StringVal(text), SrcRange: n.SrcRange}, steps}, true
}

func (c constant) eval(ctx *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics) {
	m.left -= c.steps
	return c.text.Value(ctx)
}

// An argumentRef is args.NAME, or something in it.
type argumentRef struct {
	*hclsyntax.ScopeTraversalExpr
	name string
	rest hcl.Traversal
}

func (a argumentRef) eval(_ *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics) {
	return a.rest.TraverseRel(m.args[a.name])
}
