package config

import (
	"regexp"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A shortcut stands for a node of HCL, which its Value still is. Its eval gives the same and costs as many steps, by a
// shorter way where the operands are plain: known, neither null nor marked, and of the type that is wanted. What is
// evaluated is so once only: for all else the node gets the operands as they came out.
type shortcut interface {
	hclsyntax.Expression
	eval(ctx *hcl.EvalContext, m *meter) (cty.Value, hcl.Diagnostics)
}

// shorten gives the shortcut for a node, or else the node.
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
			return argumentRef{n, secondName(n.Traversal), n.Traversal[2:]}
		}
	}
	return e
}

// given is an expression that has been evaluated.
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

// context makes the outermost context when it is first needed, which is what nil stands for.
func (m *meter) context(ctx *hcl.EvalContext) *hcl.EvalContext {
	if ctx != nil {
		return ctx
	}
	if m.made == nil {
		m.made = m.top()
	}
	return m.made
}

// An operation is one of two operands.
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

// A pattern is the first argument of matches, worked out.
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

// A constant is text without anything to fill in.
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
