package editbench

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// Noise of form: escapes, line numbers, another formatter's taste, lines broken elsewhere.

// escaped writes newlines, tabs and quotes as in a string of a program.
func (d *draft) escaped() bool {
	old, fresh := d.strings()
	if strings.Contains(old+fresh, `\`) {
		return false
	}
	pairs := one(d.Rand, [][]string{{"\n", `\n`, "\t", `\t`, `"`, `\"`}, {"\n", `\n`, "\t", `\t`}, {`"`, `\"`}})
	d.note("escaped")
	f := strings.NewReplacer(pairs...).Replace
	d.wrap = append(d.wrap, func(old, fresh string) (string, string) { return f(old), f(fresh) })
	return f(old) != old
}

// numbered puts line numbers before the lines, as a listing has them.
func (d *draft) numbered() bool {
	form := one(d.Rand, []string{"%6d\t", "%6d→", "%d: ", "%5d|", "%d\t"})
	if d.yes(10) {
		form = "%4d | "
	}
	both := !d.yes(4)
	d.note("line numbers " + form)
	d.wrap = append(d.wrap, func(old, fresh string) (string, string) {
		if both && fresh != "" {
			fresh = number(fresh, form, d.from+1)
		}
		return number(old, form, d.from+1), fresh
	})
	return d.count >= 2
}

func number(text, form string, first int) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if l != "" || i < len(lines)-1 {
			lines[i] = fmt.Sprintf(form, first+i) + l
		}
	}
	return strings.Join(lines, "\n")
}

// drift writes the lines as another formatter would.
func (d *draft) drift() bool {
	l := d.src.lang
	if !d.program() || !l.braces && l.name != "python" || !d.clearMiddles() {
		return false
	}
	ways := []func(string) string{tight, loose}
	if l.name == "js" || l.name == "python" {
		ways = append(ways, requote)
	}
	if l.name == "js" {
		ways = append(ways, unended)
	}
	d.note("another formatter")
	way := one(d.Rand, ways)
	f := func(text string) string {
		indent := indentOf(text)
		return indent + strings.TrimLeft(way(text[len(indent):]), " ")
	}
	for i := range d.cells {
		if c := &d.cells[i]; c.kind == changed && difference(f(d.lines[c.at].text), f(c.want)) != d.middle(c) {
			return false // the change makes the formatter do something else with the line
		}
	}
	return d.swapped(f)
}

// clearMiddles reports whether what the edit writes into lines of the file has nothing that formatters argue about.
func (d *draft) clearMiddles() bool {
	return !slices.ContainsFunc(d.cells, func(c cell) bool {
		return strings.ContainsAny(d.middle(&c),
			" \t,;'\"()=<>!&|")
	})
}

func tight(text string) string {
	if strings.ContainsAny(text, "\"'`#/") {
		return text
	}
	return strings.NewReplacer(", ", ",", " = ", "=", " + ", "+", " == ", "==", ") {", "){").Replace(text)
}

func loose(text string) string {
	if strings.ContainsAny(text, "\"'`#/") || strings.Contains(text, "()") {
		return text
	}
	return strings.NewReplacer("(", "( ", ")", " )", "[", "[ ", "]", " ]").Replace(text)
}

func requote(text string) string {
	if strings.Count(text, "'") == 2 && !strings.ContainsAny(text, "\"`\\") {
		return strings.ReplaceAll(text, "'", `"`)
	}
	if strings.Count(text, `"`) == 2 && !strings.ContainsAny(text, "'`\\") {
		return strings.ReplaceAll(text, `"`, "'")
	}
	return text
}

func unended(text string) string { return strings.TrimSuffix(text, ";") }

// rewrapped breaks lines elsewhere, where the edit touches nothing.
func (d *draft) rewrapped() bool {
	d.note("lines broken elsewhere")
	l := d.src.lang
	if l.name != "text" && (!d.program() || !l.braces && l.name != "python") || strings.HasSuffix(d.src.Name, ".txt") {
		return false
	}
	done := 0
	for _, i := range d.Perm(len(d.cells)) {
		if done < 2 && d.calm(i) && (d.join(i) || d.cutLine(i)) {
			done++
		}
	}
	return done > 0
}

// join writes a line and the next as one.
func (d *draft) join(i int) bool {
	if !d.calm(i+1) || blank(d.cells[i].old) || blank(d.cells[i+1].old) {
		return false
	}
	a, b := d.cells[i].old, strings.TrimLeft(d.cells[i+1].old, " \t")
	glue := " "
	switch {
	case d.src.lang.prose:
		if letters(a) < 40 || letters(b[:1]) == 0 {
			return false
		}
	case d.codeOnly(a) && d.codeOnly(b) && strings.HasSuffix(a, "("):
		glue = ""
	case !d.codeOnly(a) || !d.codeOnly(b) || !strings.HasSuffix(a, ","):
		return false
	}
	d.cells[i].old = a + glue + b
	d.cells[i].new = d.cells[i].old
	d.cells[i+1].hidden = true
	return true
}

func (d *draft) codeOnly(text string) bool {
	_, comment, sure := d.src.lang.split(text)
	return sure && comment == ""
}

// cutLine writes a line as two.
func (d *draft) cutLine(i int) bool {
	text := d.cells[i].old
	var at int
	switch {
	case d.src.lang.prose && len(text) > 60 && letters(text[:1]) > 0:
		at = 30 + strings.IndexByte(text[30:], ' ')
		if at < 30 {
			return false
		}
	case !d.src.lang.prose && d.codeOnly(text):
		at = strings.Index(text, ", ") + 1
		if at < 1 || quoted(text[:at]) || strings.Count(text[:at], "(") <= strings.Count(text[:at], ")") {
			return false
		}
	default:
		return false
	}
	indent := indentOf(text)
	if !d.src.lang.prose {
		indent += d.src.unit
	}
	d.cells[i].old = text[:at] + "\n" + indent + strings.TrimLeft(text[at:], " ")
	d.cells[i].new = d.cells[i].old
	return true
}

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
	if mark == ">" && !slices.ContainsFunc(d.cells, func(c cell) bool {
		return c.hasOld() && c.old != "" &&
			c.old[0] != ' '
	}) {
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
	if slices.ContainsFunc(d.lines, func(l line) bool {
		return strings.Contains(l.text, "&") &&
			html.UnescapeString(l.text) != l.text
	}) {
		return false
	}
	return d.each(html.EscapeString)
}
