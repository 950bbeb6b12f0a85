package corpus

import (
	"html"
	"slices"
	"strings"
)

// What models copy along with a text.

// wrapped puts old_string and new_string into a code block, a quotation, a diff, or the escapes of HTML.
func (d *draft) wrapped() bool {
	return one(d.Rand, []func(*draft) bool{(*draft).fenced, (*draft).quotation, (*draft).columns, (*draft).entities})(d)
}

// fenced has the fence of a code block around both strings.
func (d *draft) fenced() bool {
	d.note("code block")
	word := one(d.Rand, []string{"", "text", d.src.lang.name})
	fence := func(s string) string { return "```" + word + "\n" + strings.TrimSuffix(s, "\n") + "\n```\n" }
	d.wrap = append(d.wrap, func(old, fresh string) (string, string) { return fence(old), fence(fresh) })
	return d.tail && d.cells[len(d.cells)-1].still()
}

// quotation has the mark of a quotation before each line.
func (d *draft) quotation() bool {
	d.note("quotation")
	mark := one(d.Rand, []string{"> ", ">"})
	if mark == ">" && !slices.ContainsFunc(d.cells, func(c cell) bool { return c.hasOld() && c.old != "" && c.old[0] != ' ' }) {
		return false // the blank may be the mark's or the text's
	}
	return d.each(func(s string) string { return mark + s })
}

// columns has the first column of a diff.
func (d *draft) columns() bool {
	d.note("first column of a diff")
	plus := false
	for i := range d.cells {
		c := &d.cells[i]
		if c.still() {
			c.old, c.new = " "+c.old, " "+c.new
			continue
		}
		plus = plus || c.hasNew()
		c.old, c.new = "-"+c.old, "+"+c.new
	}
	starts := func(l line) bool { return strings.HasPrefix(l.text, "+") }
	return plus && !slices.ContainsFunc(d.lines, starts)
}

// entities is escaped for HTML, as it must not be. The file has no entities of its own.
func (d *draft) entities() bool {
	d.note("entities")
	if slices.ContainsFunc(d.lines, func(l line) bool { return strings.Contains(l.text, "&") && html.UnescapeString(l.text) != l.text }) {
		return false
	}
	return d.each(html.EscapeString)
}
