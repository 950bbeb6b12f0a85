package editbench

import (
	"slices"
	"strings"
)

// Families in which the two strings do not have the same edges: one of them lost the indentation of its first line or
// has another form of it, or new_string has what is beside the place and old_string has not.

// firstIndent has one of the two strings without the indentation of its first line.
func (d *draft) firstIndent() bool {
	d.literal = true
	first := &d.cells[0]
	text := first.old
	if !d.program() || indentOf(text) == "" || !d.plan(false) || first != &d.cells[0] || first.kind == deleted ||
		first.kind == inserted || !plainStart(text) || !plainStart(first.new) {
		return false
	}
	if d.note("first line of one string without its indentation"); d.yes(2) {
		first.old = strings.TrimLeft(first.old, " \t")
		return true
	}
	for i := range d.cells[1:] { // with all of the others to the left of it, it may be a block that is moved
		if c := &d.cells[i+1]; c.still() && indentOf(c.old) != "" && !blank(c.old) {
			first.new = strings.TrimLeft(first.new, " \t")
			return true
		}
	}
	return false
}

// plainStart reports whether a line neither may start at the left edge nor opens a block.
func plainStart(text string) bool {
	text = strings.TrimSpace(text)
	return !strings.ContainsAny(text[:min(1, len(text))], "#`\"'<{}") && !strings.HasSuffix(text, ":") &&
		!strings.HasSuffix(text, "{") && !strings.HasSuffix(text, "(") && !strings.HasSuffix(text, "[")
}

// otherIndent has blanks for the tabs of the file in one of the two strings alone.
func (d *draft) otherIndent() bool {
	d.literal = true
	if d.src.unit != "\t" || !d.program() || !d.plan(false) {
		return false
	}
	form := func(text string) string {
		indent := indentOf(text)
		return strings.ReplaceAll(indent, "\t", "    ") + text[len(indent):]
	}
	inOld, shown := d.yes(2), false
	for i := range d.cells {
		c := &d.cells[i]
		if strings.Contains(indentOf(c.old+c.new), " ") {
			return false
		}
		switch {
		case inOld && c.hasOld():
			shown = shown || c.kind == kept && form(c.old) != c.old
			c.old = form(c.old)
		case !inOld && c.hasNew():
			shown = shown || c.kind == changed && form(c.new) != c.new
			c.new = form(c.new)
		}
	}
	d.note("blanks for tabs in one string")
	return shown
}

// besideTwice has in new_string what the file has beside the place and old_string has not.
func (d *draft) besideTwice() (Case, bool) {
	before, behind := d.from-1, d.from+d.count
	if !d.plan(false) || before < 0 || behind >= len(d.lines) || !d.cells[0].hasOld() || d.cells[0].kind == deleted ||
		d.cells[len(d.cells)-1].kind == deleted || d.cells[len(d.cells)-1].kind == inserted {
		return Case{}, false
	}
	d.tail = true
	add := func(at int) (string, bool) {
		text := d.lines[at].text
		return text, letters(text) > 6 && strings.ContainsAny(text, "(=.") && plainStart(text) &&
			!strings.Contains(joinLines(d.lines[d.from:behind]), text)
	}
	switch d.IntN(3) {
	case 0:
		text, ok := add(before)
		d.cells = slices.Insert(d.cells, 0, cell{kind: inserted, at: -1, new: text})
		if d.note("the line before in new_string alone"); !ok {
			return Case{}, false
		}
	case 1:
		text, ok := add(behind)
		d.cells = append(d.cells, cell{kind: inserted, at: -1, new: text})
		if d.note("the line behind in new_string alone"); !ok {
			return Case{}, false
		}
	default: // the last line is cut in old_string
		last := &d.cells[len(d.cells)-1]
		found := tokens.FindAllStringIndex(last.old, -1)
		if d.note("the last line cut in old_string"); last.kind != kept || len(found) < 3 || d.count < 2 {
			return Case{}, false
		}
		at := found[1+d.IntN(len(found)-2)][1]
		if d.tail = false; letters(last.old[at:]) < 4 {
			return Case{}, false
		}
		last.old = last.old[:at]
	}
	c, ok := d.once()
	return c, ok && strings.Count(string(c.Data), c.Old) == 1 &&
		!strings.Contains(string(c.Data), strings.TrimSpace(c.New))
}

// marked has in new_string the marks of a diff, of a call or of a block to search and replace.
func (d *draft) marked() (Case, bool) {
	if !d.plan(false) || !d.program() || d.yes(3) && !d.spaced() {
		return Case{}, false
	}
	form := d.IntN(3)
	mark := one(d.Rand, []string{"</new_string>", "</parameter>\n</invoke>", ">>>>>>> REPLACE", "\n</new_str>\n"})
	if form == 0 {
		d.note("a diff in new_string")
		came := false
		for i := 0; i < len(d.cells); i++ {
			c := d.cells[i]
			switch c.kind {
			case deleted:
				d.cells[i] = cell{kind: inserted, at: -1, new: "-" + c.old}
				d.cells = slices.Insert(d.cells, i, c)
				i++
			case kept:
				d.cells[i].new = " " + c.new
			default:
				d.cells[i].new, came = "+"+c.new, came || letters(c.new) > 0
			}
		}
		if !came {
			return Case{}, false
		}
	} else {
		d.note("a mark behind new_string")
		d.wrap = append(d.wrap, func(old, fresh string) (string, string) { return old, fresh + "\n" + mark })
	}
	if text := joinLines(d.lines); strings.Contains("\n"+text, "\n+") || strings.Contains(text, "</") {
		return Case{}, false
	}
	return d.once()
}

// once makes the case of a draft whose new_string must not be written, though the file has the place once.
func (d *draft) once() (Case, bool) {
	old, fresh := d.strings()
	c := Case{Name: d.src.Name, Noise: strings.Join(d.notes, ", "), Data: []byte(joinLines(d.lines)), Old: old, New: fresh}
	return c, old != fresh && letters(old) >= 12 &&
		strings.Count(string(c.Data), joinLines(d.lines[d.from:d.from+d.count])) == 1
}
