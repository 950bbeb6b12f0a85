package editbench

import (
	"regexp"
	"slices"
	"strings"
)

// Noise in white space. Each function spoils what the model writes, and reports whether there was something to spoil.

// each changes every line that the model writes, and reports whether one of old_string is another now.
func (d *draft) each(f func(string) string) bool {
	spoilt := false
	for i := range d.cells {
		c := &d.cells[i]
		was := c.old
		c.old, c.new = f(c.old), f(c.new)
		spoilt = spoilt || c.hasOld() && c.old != was
	}
	return spoilt
}

// outerBlanks puts blank lines around old_string, and around new_string as well or not. The file must have none there.
func (d *draft) outerBlanks() bool {
	d.note("blank lines around")
	if d.from == 0 || d.from+d.count >= len(d.lines) || blank(d.lines[d.from-1].text) ||
		blank(d.lines[d.from+d.count].text) {
		return false
	}
	lead, trail := d.IntN(2), d.IntN(3)
	if lead+trail == 0 {
		lead = 1
	}
	both := d.yes(2)
	d.wrap = append(d.wrap, func(old, fresh string) (string, string) {
		if both && fresh != "" {
			fresh = outer(fresh, lead, trail)
		}
		return outer(old, lead, trail), fresh
	})
	return true
}

func outer(text string, lead, trail int) string {
	if trail > 0 && !strings.HasSuffix(text, "\n") {
		trail++
	}
	return strings.Repeat("\n", lead) + text + strings.Repeat("\n", trail)
}

// trailing puts blanks at line ends: the model's, or the file's where the edit does not touch it.
func (d *draft) trailing() bool {
	d.note("blanks at line ends")
	blanks := func() string { return one(d.Rand, []string{" ", "  ", "\t", "    "}) }
	inFile, done := d.yes(2), 0
	if inFile {
		d.lines = slices.Clone(d.lines)
	}
	for i := range d.cells {
		c := &d.cells[i]
		if !c.hasOld() || blank(c.old) || d.yes(2) && done > 0 {
			continue
		}
		switch {
		case inFile && c.kind == kept:
			d.lines[c.at].text += blanks()
		case inFile:
			continue
		case c.kind == kept:
			c.old += blanks()
			c.new = c.old
		default:
			c.old += blanks()
		}
		done++
	}
	return done > 0
}

// tabs turns tabs into blanks, or the other way round.
func (d *draft) tabs() bool {
	if d.src.unit == "\t" {
		d.note("blanks for tabs")
		wide := strings.Repeat(" ", one(d.Rand, []int{2, 4, 4, 8}))
		return d.reindent(func(indent string) string { return strings.ReplaceAll(indent, "\t", wide) }, true)
	}
	d.note("tabs for blanks")
	return d.reindent(func(indent string) string { return strings.ReplaceAll(indent, d.src.unit, "\t") }, true)
}

// shift moves the whole block to the left or to the right.
func (d *draft) shift() bool {
	d.note("block shifted")
	if d.yes(3) {
		return d.reindent(func(indent string) string { return d.src.unit + indent }, false)
	}
	common, first := "", true
	for i := range d.cells {
		for _, text := range []string{d.cells[i].old, d.cells[i].new} {
			if blank(text) {
				continue
			}
			if indent := indentOf(text); first {
				common, first = indent, false
			} else {
				common = prefix(common, indent)
			}
		}
	}
	if len(common) > len(d.src.unit) && d.yes(2) {
		common = common[:len(d.src.unit)]
	}
	return d.reindent(func(indent string) string { return indent[len(common):] }, false)
}

func prefix(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// reindent changes the indentation of all that the model writes. With new lines, the way back must be clear: no two of
// the file's indentations may become one, and if steps change their size the quotation must show one.
func (d *draft) reindent(f func(string) string, steps bool) bool {
	from, shown := map[string]string{}, false
	for i := range d.cells {
		text := d.cells[i].old
		if d.cells[i].kind == inserted {
			text = d.cells[i].new
		}
		if blank(text) {
			continue
		}
		indent := indentOf(text)
		if was, ok := from[f(indent)]; ok && was != indent {
			return false
		}
		from[f(indent)] = indent
		shown = shown || d.cells[i].kind == kept && indentOf(d.text(i)) != ""
	}
	added := func(c cell) bool { return c.kind == inserted && indentOf(c.new) != "" }
	odd := func(c cell) bool { return added(c) && strings.Trim(indentOf(c.new), d.src.unit) != "" }
	if steps && (slices.ContainsFunc(d.cells, added) && !shown || slices.ContainsFunc(d.cells, odd)) {
		return false
	}
	return d.each(func(text string) string {
		if blank(text) {
			return text
		}
		indent := indentOf(text)
		return f(indent) + text[len(indent):]
	})
}

// returns makes line endings differ: a file with CRLF, one where only a part has it, or a model that writes it.
func (d *draft) returns() bool {
	if len(d.cells) < 2 {
		return false
	}
	cut := d.from + d.count + 3
	mode := d.IntN(4)
	if mode == 3 {
		d.note("CRLF for LF")
		d.wrap = append(d.wrap, func(old, fresh string) (string, string) {
			return strings.ReplaceAll(old, "\n", "\r\n"), strings.ReplaceAll(fresh, "\n", "\r\n")
		})
		return true
	}
	d.note("LF for CRLF")
	d.lines = slices.Clone(d.lines)
	for i := range d.lines {
		if d.lines[i].eol == "\n" && (mode < 2 || i < cut) {
			d.lines[i].eol = "\r\n"
		}
	}
	return true
}

var runs = regexp.MustCompile(`[ \t]{2,}|\t`)

// collapse makes one blank of each run within a line, strings aside.
func collapse(text string) string {
	indent := indentOf(text)
	body := text[len(indent):]
	var b strings.Builder
	at := 0
	for _, r := range runs.FindAllStringIndex(body, -1) {
		b.WriteString(body[at:r[0]])
		if quoted(body[:r[0]]) || r[1] == len(body) {
			b.WriteString(body[r[0]:r[1]])
		} else {
			b.WriteByte(' ')
		}
		at = r[1]
	}
	return indent + b.String() + body[at:]
}

// quoted reports whether a quote is open, or may be, at the end of a text.
func quoted(text string) bool {
	return strings.Count(text, `"`)%2 != 0 || strings.Count(text, "'")%2 != 0 || strings.Count(text, "`")%2 != 0
}

// collapsed writes one blank where the file has several, or several where it has one.
func (d *draft) collapsed() bool {
	if !d.yes(4) {
		d.note("runs of blanks as one")
		return d.each(collapse)
	}
	d.note("one blank as a run")
	done := false
	for i := range d.cells {
		c := &d.cells[i]
		body := strings.TrimLeft(c.old, " \t")
		at := strings.IndexByte(body, ' ')
		if !c.still() || at < 0 || quoted(body[:at]) || d.yes(2) {
			continue
		}
		at += len(c.old) - len(body)
		c.old = c.old[:at] + strings.Repeat(" ", 1+d.IntN(4)) + c.old[at:]
		c.new, done = c.old, true
	}
	return done
}

// blankLines leaves out blank lines and puts others in, where the edit touches nothing.
func (d *draft) blankLines() bool {
	d.note("blank lines")
	done := 0
	for i := range d.cells {
		if d.calm(i) && blank(d.cells[i].old) && !d.yes(3) {
			d.cells[i].hidden = true
			done++
		}
	}
	for range d.IntN(3) {
		if i := d.IntN(len(d.cells)); d.calm(i) && d.cells[i+1].still() && !blank(d.cells[i].old) {
			d.cells = slices.Insert(d.cells, i+1, cell{kind: extra, at: -1})
			done++
		}
	}
	return done > 0
}
