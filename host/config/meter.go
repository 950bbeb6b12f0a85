package config

import (
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A condition may loop over what a stranger sent, and so is metered: each part that is evaluated costs partSteps, and its
// value a step, another one for each item and each bytesPerStep bytes of text. All the steps of one evaluation take some
// tenths of a second, and some tens of megabytes on the way.
const (
	maxSteps     = 1 << 20
	partSteps    = 4
	bytesPerStep = 16
)

// A meter goes with one evaluation, and counts down its steps.
type meter struct {
	left int
	args map[string]cty.Value    // what the evaluation is about
	top  func() *hcl.EvalContext // makes the outermost context
	made *hcl.EvalContext        // by top, once it was needed
}

// meterName is where an evaluation's context holds its meter; the blank keeps it out of reach of expressions.
const meterName = " meter"

var meterType = cty.Capsule("meter", reflect.TypeFor[meter]())

func meterOf(ctx *hcl.EvalContext) *meter {
	for ; ctx != nil; ctx = ctx.Parent() {
		if v, there := ctx.Variables[meterName]; there {
			return v.EncapsulatedValue().(*meter)
		}
	}
	return &meter{} // which is spent; not reached, since every evaluation brings its own
}

// maxLoadSteps bounds all evaluations of conditions while a file is read.
const maxLoadSteps = 4 * maxSteps

// spend makes an evaluation pay out of what the file has left.
func (s *scope) spend(evaluate func(*meter)) {
	m := &meter{left: min(maxSteps, s.steps)}
	before := m.left
	evaluate(m)
	s.steps -= before - m.left
}

func (m *meter) spent() bool { return m.left < 0 }

// weigh pays for a value. It stops when the meter is spent.
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

// maxItems has a square that is more than any meter has.
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

// metered is an expression that pays for its value.
type metered struct {
	hclsyntax.Expression
	truth  bool // the value is an operand of && or ||, which panic over null
	choice bool // the value is a result of a conditional, which compares the types of all items with each other
	factor int  // for a pattern: how much work it is for each byte of the text
}

// Value is the expression's, unless there are no steps left for it.
func (e metered) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	return e.eval(ctx, meterOf(ctx))
}

// eval is Value with the meter at hand. A context that is nil stands for the outermost.
func (e metered) eval(ctx *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics) {
	if m.spent() {
		return cty.DynamicVal, e.wrong("This is too much work.")
	}
	m.left -= partSteps
	g := m.given(e.Expression, ctx)
	v, diags := g.value, g.diags
	m.weigh(v)
	if e.factor > 0 && v.IsKnown() && textKind.is(v) {
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

// meterParts puts a meter on the expression and on all its parts. The kinds of nodes are those that vetting lets pass.
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
	default:
		meterSingle(n)
	}
	return metered{Expression: shorten(e)}
}

// meterSingle does the nodes that are made of a fixed number of parts.
func meterSingle(e hclsyntax.Expression) {
	switch n := e.(type) {
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
