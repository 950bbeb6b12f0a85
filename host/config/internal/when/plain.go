package when

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/host/policy"
)

// This file compiles conditions on texts, which most are, to Go functions. Each rule of each call evaluates one: with
// values of cty, ten rules took a fifth of a small call. TestPlainConditions compares both evaluations.

// A plainTest is a condition on texts. Ok is false when a text of the call is absent, too long or not ASCII: then the
// condition is evaluated in full, which is the same otherwise.
type plainTest func(q *policy.Query) (holds, ok bool)

type plainText func(q *policy.Query) (text string, ok bool)

// maxPlainText is the most bytes of a text that plain tests read. With it, the steps of a condition are known before it
// is evaluated.
const maxPlainText = 1 << 10

// compilePlain returns nil for a condition on anything but texts, and for one that could take too many steps.
func compilePlain(e hclsyntax.Expression) plainTest {
	c := plainCompiler{}
	test := c.test(e)
	if c.steps > maxSteps {
		return nil
	}
	return test
}

type plainCompiler struct{ steps int }

// part returns the expression without its meters, and counts the most steps that it can take.
func (c *plainCompiler) part(e hclsyntax.Expression) hclsyntax.Expression {
	for {
		m, is := e.(metered)
		if !is {
			return e
		}
		c.steps += partSteps + 1 + maxPlainText/bytesPerStep*(m.factor+1)
		e = m.Expression
	}
}

func (c *plainCompiler) test(e hclsyntax.Expression) plainTest {
	switch e := c.part(e).(type) {
	case constant:
		c.steps += e.steps
		if isPlain(e.value, cty.Bool) {
			is := e.value.True()
			return func(*policy.Query) (bool, bool) { return is, true }
		}
	case parentheses:
		return c.test(e.Expression)
	case negation:
		if test := c.test(e.Val); test != nil {
			return func(q *policy.Query) (bool, bool) {
				is, ok := test(q)
				return !is, ok
			}
		}
	case operation:
		return c.operation(e)
	case match:
		if text := c.text(e.Args[1]); text != nil {
			matches := e.Args[0].(pattern).compiled.MatchString
			return func(q *policy.Query) (bool, bool) {
				s, ok := text(q)
				return ok && matches(s), ok
			}
		}
	case call:
		return c.call(e)
	}
	return nil
}

func (c *plainCompiler) operation(e operation) plainTest {
	switch e.Op {
	case hclsyntax.OpEqual:
		return c.compare(e.LHS, e.RHS, func(a, b string) bool { return a == b })
	case hclsyntax.OpNotEqual:
		return c.compare(e.LHS, e.RHS, func(a, b string) bool { return a != b })
	case hclsyntax.OpLogicalAnd, hclsyntax.OpLogicalOr:
		l, r, and := c.test(e.LHS), c.test(e.RHS), e.Op == hclsyntax.OpLogicalAnd
		if l == nil || r == nil {
			return nil
		}
		return func(q *policy.Query) (bool, bool) { // both sides, since either may not be plain
			a, ok := l(q)
			b, okToo := r(q)
			return a && b || !and && (a || b), ok && okToo
		}
	}
	return nil
}

func (c *plainCompiler) call(e call) plainTest {
	switch e.Name {
	case "startswith":
		return c.compare(e.Args[0], e.Args[1], strings.HasPrefix)
	case "endswith":
		return c.compare(e.Args[0], e.Args[1], strings.HasSuffix)
	case "strcontains":
		return c.compare(e.Args[0], e.Args[1], strings.Contains)
	case "contains":
		list, is := c.part(e.Args[0]).(constant)
		text := c.text(e.Args[1])
		if !is || text == nil || list.items == nil {
			return nil
		}
		c.steps += list.steps
		var items []string
		for _, item := range list.items {
			if !isPlain(item, cty.String) {
				return nil
			}
			items = append(items, item.AsString())
		}
		return func(q *policy.Query) (bool, bool) {
			s, ok := text(q)
			return ok && slices.Contains(items, s), ok
		}
	}
	return nil
}

func (c *plainCompiler) compare(l, r hclsyntax.Expression, f func(a, b string) bool) plainTest {
	left, right := c.text(l), c.text(r)
	if left == nil || right == nil {
		return nil
	}
	return func(q *policy.Query) (bool, bool) {
		a, ok := left(q)
		b, okToo := right(q)
		return ok && okToo && f(a, b), ok && okToo
	}
}

// text compiles an operand.
func (c *plainCompiler) text(e hclsyntax.Expression) plainText {
	switch e := c.part(e).(type) {
	case constant:
		c.steps += e.steps
		if isPlain(e.value, cty.String) {
			text := e.value.AsString()
			return func(*policy.Query) (string, bool) { return text, true }
		}
	case parentheses:
		return c.text(e.Expression)
	case argumentRef:
		if len(e.rest) == 0 {
			name := hclfile.SecondName(e.Traversal)
			return func(q *policy.Query) (string, bool) {
				a := argumentOf(q, name)
				return a.text, a.plain
			}
		}
	case fact:
		name := e.name
		return func(q *policy.Query) (string, bool) {
			text := factOf(q, name)
			return text, isPlainText(text)
		}
	}
	return nil
}

// isPlainText reports whether HCL takes a text as it is: it is short and ASCII.
func isPlainText(s string) bool {
	return len(s) <= maxPlainText && !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}
