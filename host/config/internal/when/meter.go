package when

import (
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/host/policy"
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
	left     int
	cond     *Condition
	query    *policy.Query
	args     []cty.Value      // the arguments that the condition refers to, in the order of its names
	loops    []iteration      // that are evaluated without HCL's contexts, the innermost last
	operands []evaluated      // of the calls that are being evaluated
	values   []cty.Value      // of the function that is being called
	made     *hcl.EvalContext // the outermost context, once it was needed
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
	g := m.evaluated(e.Expression, ctx)
	v, diags := g.value, g.diags
	if _, constant := e.Expression.(constant); !constant { // which has counted its value
		m.weigh(v)
	}
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
func (v *vetted) meterParts(e hclsyntax.Expression) metered {
	literal := hclfile.Literal(e) // asked while its parts are HCL's own
	switch n := e.(type) {
	case *hclsyntax.ForExpr:
		v.meterEach(&n.CollExpr, &n.KeyExpr, &n.ValExpr, &n.CondExpr)
	case *hclsyntax.FunctionCallExpr:
		v.meterAll(n.Args)
	case *hclsyntax.TupleConsExpr:
		v.meterAll(n.Exprs)
	case *hclsyntax.TemplateExpr:
		v.meterAll(n.Parts)
	case *hclsyntax.ObjectConsExpr:
		v.meterItems(n.Items)
	case *hclsyntax.BinaryOpExpr:
		logical := n.Op.ShortCircuit != nil
		n.LHS = metered{Expression: v.meterParts(n.LHS), truth: logical}
		n.RHS = metered{Expression: v.meterParts(n.RHS), truth: logical}
	case *hclsyntax.ConditionalExpr:
		v.meterEach(&n.Condition)
		n.TrueResult = metered{Expression: v.meterParts(n.TrueResult), choice: true}
		n.FalseResult = metered{Expression: v.meterParts(n.FalseResult), choice: true}
	case *hclsyntax.IndexExpr:
		v.meterEach(&n.Collection, &n.Key)
	case *hclsyntax.RelativeTraversalExpr:
		v.meterEach(&n.Source)
	case *hclsyntax.TemplateWrapExpr:
		v.meterEach(&n.Wrapped)
	case *hclsyntax.ParenthesesExpr:
		v.meterEach(&n.Expression)
	case *hclsyntax.UnaryOpExpr:
		v.meterEach(&n.Val)
	}
	return metered{Expression: v.shorten(e, literal)}
}

func (v *vetted) meterEach(parts ...*hclsyntax.Expression) {
	for _, p := range parts {
		if *p != nil {
			*p = v.meterParts(*p)
		}
	}
}

func (v *vetted) meterAll(parts []hclsyntax.Expression) {
	for i := range parts {
		parts[i] = v.meterParts(parts[i])
	}
}

func (v *vetted) meterItems(items []hclsyntax.ObjectConsItem) {
	for i := range items {
		items[i].ValueExpr = v.meterParts(items[i].ValueExpr)
		key, ok := items[i].KeyExpr.(*hclsyntax.ObjectConsKeyExpr)
		if !ok {
			continue
		}
		if _, bare := key.Wrapped.(*hclsyntax.ScopeTraversalExpr); !bare || key.ForceNonLiteral {
			key.Wrapped = v.meterParts(key.Wrapped)
		}
	}
}
