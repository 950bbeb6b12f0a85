package schema

import (
	"slices"
	"strconv"
	"strings"
)

// combine looks at the keywords that apply further schemas to the same value.
func (c *checker) combine(n *node, v any, at *place) {
	if n.ref != nil {
		c.check(n.ref, v, at)
	}
	for _, sub := range n.allOf {
		c.check(sub, v, at)
	}
	if n.anyOf != nil {
		c.anyOf(n, v, at)
	}
	if n.oneOf != nil {
		c.oneOf(n, v, at)
	}
	if n.not != nil && c.valid(n.not, v, at) {
		c.add(at, "not", "must not be %s, got %s", n.not.describe(), c.show(v, at))
	}
	if n.cond != nil {
		c.conditional(n, v, at)
	}
	if obj, ok := v.(map[string]any); ok {
		for _, m := range n.dependentSchemas {
			if _, given := obj[m.name]; given {
				c.check(m.node, v, at)
			}
		}
	}
}

func (c *checker) conditional(n *node, v any, at *place) {
	branch := n.then
	if !c.valid(n.cond, v, at) {
		branch = n.otherwise
	}
	if branch != nil {
		c.check(branch, v, at)
	}
}

// problems applies a schema on the side. Nothing found means valid.
func (c *checker) problems(n *node, v any, at *place) []finding {
	return c.aside(n, v, at, c.full())
}

func (c *checker) valid(n *node, v any, at *place) bool {
	return len(c.aside(n, v, at, true)) == 0
}

func (c *checker) aside(n *node, v any, at *place, wordless bool) []finding {
	side := checker{work: c.work, wordless: wordless, shown: c.shown}
	side.check(n, v, at)
	c.work = side.work
	return side.findings
}

func (c *checker) anyOf(n *node, v any, at *place) {
	tried := make([][]finding, len(n.anyOf))
	valid := false
	for i, sub := range n.anyOf {
		tried[i] = c.problems(sub, v, at)
		valid = valid || len(tried[i]) == 0
	}
	if !valid {
		c.noneFits("anyOf", n.anyOf, tried, v, at)
	}
}

func (c *checker) oneOf(n *node, v any, at *place) {
	tried := make([][]finding, len(n.oneOf))
	var fits []string
	for i, sub := range n.oneOf {
		if tried[i] = c.problems(sub, v, at); len(tried[i]) == 0 {
			fits = append(fits, strconv.Itoa(i+1))
		}
	}
	switch {
	case len(fits) == 0:
		c.noneFits("oneOf", n.oneOf, tried, v, at)
	case len(fits) > 1:
		c.add(at, "oneOf", "must fit exactly one alternative, but fits numbers %s of: %s", strings.Join(fits, " and "), listed(descriptions(n.oneOf), "; "))
	}
}

// noneFits tells the problems of the alternative that was meant, if it is clear which, else what the alternatives are.
func (c *checker) noneFits(word string, subs []*node, tried [][]finding, v any, at *place) {
	if meant := theOneMeant(tried, at); meant != nil {
		for _, f := range meant {
			c.add(f.at, f.word, "%s", f.message)
		}
		return
	}
	if c.full() {
		c.add(at, word, "")
		return
	}
	c.work -= 50 // for the words
	c.add(at, word, "must be %s got %s", alternatives(subs), c.showTyped(v, at))
}

// theOneMeant is the only alternative that the value's own type and constants, or else those of its properties, do not rule out.
func theOneMeant(tried [][]finding, at *place) []finding {
	open := slices.DeleteFunc(slices.Clone(tried), func(f []finding) bool { return ruledOut(f, at, 0) })
	if len(open) > 1 {
		open = slices.DeleteFunc(open, func(f []finding) bool { return ruledOut(f, at, 1) })
	}
	if len(open) != 1 {
		return nil
	}
	return open[0]
}

// ruledOut reports whether a type or a constant refused the value itself, or one step below it a constant.
func ruledOut(findings []finding, at *place, below int) bool {
	return slices.ContainsFunc(findings, func(f finding) bool {
		if below == 0 {
			return f.at == at && slices.Contains([]string{"type", "enum", "false", "anyOf", "oneOf"}, f.word)
		}
		return f.at != at && f.at != nil && f.at.up == at && f.word == "enum"
	})
}
