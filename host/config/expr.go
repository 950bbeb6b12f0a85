package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Bounds for one expression. With loops, conditionals and arithmetic on computed numbers left out, it takes time and
// room in proportion to its own length and to the values that it refers to.
const (
	maxOperators = 64
	maxDigits    = 100 // of a number as it is written, so that it stays exact
)

// eval evaluates an expression. It is false when that was wrong and is reported, here or where it came from.
func (s *scope) eval(e hclsyntax.Expression) (cty.Value, bool) {
	if !s.simple(e) {
		return cty.DynamicVal, false
	}
	ctx, ok := s.context(e)
	if !ok {
		return cty.DynamicVal, false
	}
	v, diags := e.Value(ctx)
	if s.addDiags(diags) {
		return cty.DynamicVal, false
	}
	return v, s.bounded(v, e.Range())
}

// simple is false, and says why, when the expression uses more of HCL than config files may.
func (s *scope) simple(e hclsyntax.Expression) bool {
	before, operators := len(s.mistakes), 0
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.BinaryOpExpr:
			operators++
			s.arithmetic(n, n.Op, n.LHS, n.RHS)
		case *hclsyntax.UnaryOpExpr:
			operators++
			s.arithmetic(n, n.Op, n.Val)
		default:
			s.allowed(n)
		}
		return nil
	})
	if operators > maxOperators {
		s.add(e.Range(), "more than %d operators in one expression", maxOperators).hint("write down what they come to")
	}
	return len(s.mistakes) == before
}

// allowed reports a part of an expression that is not for config files.
func (s *scope) allowed(n hclsyntax.Node) {
	switch n := n.(type) {
	case *hclsyntax.LiteralValueExpr:
		s.number(n)
	case *hclsyntax.FunctionCallExpr:
		s.function(n)
	case *hclsyntax.ForExpr, *hclsyntax.SplatExpr, *hclsyntax.TemplateJoinExpr:
		s.add(n.Range(), "loops cannot be used here").hint("write the values out")
	case *hclsyntax.ConditionalExpr:
		s.add(n.Range(), "conditionals cannot be used here").hint(`write the value, or take it from the environment: env("NAME", "default")`)
	case *hclsyntax.TemplateExpr, *hclsyntax.TemplateWrapExpr, *hclsyntax.TupleConsExpr, *hclsyntax.ObjectConsExpr,
		*hclsyntax.ObjectConsKeyExpr, *hclsyntax.ScopeTraversalExpr, *hclsyntax.RelativeTraversalExpr,
		*hclsyntax.IndexExpr, *hclsyntax.ParenthesesExpr: // are welcome
	case *hclsyntax.AnonSymbolExpr, hclsyntax.ChildScope: // are parts of loops
	default:
		s.add(n.Range(), "this cannot be used here").hint("write the value out")
	}
}

// number reports a number that cannot be kept as it is written.
func (s *scope) number(n *hclsyntax.LiteralValueExpr) {
	if !numberKind.is(n.Val) {
		return
	}
	if r := n.Range(); r.End.Byte-r.Start.Byte > maxDigits || outOfRange(n.Val.AsBigFloat()) {
		s.add(r, "this number is too long or too large").hint("write it as a string")
	}
}

func (s *scope) function(n *hclsyntax.FunctionCallExpr) {
	if n.Name != "env" {
		s.add(n.NameRange, "there is no function %q here", n.Name).hint(`the only one is env("NAME", "default")`)
	}
}

// arithmetic reports a calculation with anything but written numbers: a string can stand for a number of a billion digits.
func (s *scope) arithmetic(n hclsyntax.Node, op *hclsyntax.Operation, operands ...hclsyntax.Expression) {
	if op.Type != cty.Number {
		return
	}
	for _, o := range operands {
		if !written(o) {
			s.add(n.Range(), "only written numbers can be calculated with").hint("for instance 64 * 1024")
			return
		}
	}
}

// written says whether the expression is made of number literals alone.
func written(e hclsyntax.Expression) bool {
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		return numberKind.is(e.Val)
	case *hclsyntax.ParenthesesExpr:
		return written(e.Expression)
	case *hclsyntax.BinaryOpExpr, *hclsyntax.UnaryOpExpr: // which are looked at themselves
		return true
	}
	return false
}
