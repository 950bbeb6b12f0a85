package editbench

import (
	"slices"
	"strings"
)

// Slips of models that only unit tests had: signs of a diff, lines left out, separators.

// signed has the signs of a diff before the lines that change, and before no others.
func (d *draft) signed() bool {
	d.note("signs of a diff before changed lines")
	if !d.plan(false) || slices.ContainsFunc(d.lines, func(l line) bool {
		return strings.HasPrefix(l.text, "+") || strings.HasPrefix(l.text, "-")
	}) {
		return false
	}
	minus := false
	for i := range d.cells {
		if c := &d.cells[i]; !c.still() {
			minus = minus || c.hasOld()
			c.old, c.new = "-"+c.old, "+"+c.new
		}
	}
	return minus
}

// patchLines has lines of a diff in new_string that are no lines of a file, or the lines that go with a sign.
func (d *draft) patchLines() (Case, bool) {
	if !d.plan(false) || !d.program() {
		return Case{}, false
	}
	form := d.IntN(3)
	switch form {
	case 0:
		d.note("the lines that go are in new_string, with a sign")
		gone := false
		for i := 0; i < len(d.cells); i++ {
			c := d.cells[i]
			if c.kind != deleted || len(indentOf(c.old)) < 2 || letters(c.old) < 3 {
				continue
			}
			gone = true
			d.cells = slices.Insert(d.cells, i+1, cell{kind: inserted, at: -1, new: "-" + c.old})
			i++
		}
		if !gone {
			return Case{}, false
		}
	case 1:
		d.note("the head of a diff in new_string")
		head := one(d.Rand, []string{"@@ -3,7 +3,8 @@\n", "diff --git a/a b/a\n", "*** Begin Patch\n"})
		d.wrap = append(d.wrap, func(old, fresh string) (string, string) { return old, head + fresh })
	default:
		d.note("the end of a diff in new_string")
		end := one(d.Rand, []string{"\n\\ No newline at end of file\n", "\n*** End Patch\n"})
		d.wrap = append(d.wrap, func(old, fresh string) (string, string) {
			return old, strings.TrimSuffix(fresh, "\n") + end
		})
	}
	if text := "\n" + joinLines(d.lines); strings.Contains(text, "\n+") || strings.Contains(text, "\n-") ||
		strings.Contains(text, "@@") || strings.Contains(text, "***") {
		return Case{}, false
	}
	return d.once()
}

// leftOut are lines that models write for those that they leave out.
var leftOut = []string{"...", "// ...", "# ...", "// ... existing code ...", "…"}

// elided leaves lines out in old_string and, with both, in new_string, with a line that says so.
func (d *draft) elided(both bool) bool {
	d.note("lines left out")
	d.local = true
	if !d.plan(true) || slices.ContainsFunc(d.lines, func(l line) bool { return strings.Contains(l.text, "...") }) {
		return false
	}
	from, to := 0, 0 // the longest run of lines that stay
	for i := 1; i < len(d.cells)-1; i++ {
		end := i
		for end < len(d.cells)-1 && d.cells[end].still() {
			end++
		}
		if end-i > to-from {
			from, to = i, end
		}
		i = max(i, end)
	}
	if to-from < 3 {
		return false
	}
	from, to = from+1, to-1 // so that no line that changes is beside
	keys := d.fileKeys()
	whole := strings.Join(keys, "")
	for _, part := range [][2]int{{0, from}, {to, len(d.cells)}} { // each part is at one place
		text, n := "", 0
		for _, c := range d.cells[part[0]:part[1]] {
			if c.hasOld() {
				text, n = text+squash(c.old), n+letters(c.old)
			}
		}
		if n < 12 || strings.Count(whole, text) != 1 {
			return false
		}
	}
	for i := from; i < to; i++ {
		d.cells[i].hidden = true
	}
	mark := cell{kind: extra, at: -1, old: indentOf(d.cells[from].old) + one(d.Rand, leftOut)}
	if both {
		mark.new = mark.old
	}
	d.cells = slices.Insert(d.cells, from, mark)
	return true
}

// elidedOnce is for an edit whose old_string alone leaves lines out.
func (d *draft) elidedOnce() (Case, bool) {
	if !d.elided(false) {
		return Case{}, false
	}
	d.wrap = append(d.wrap, func(old, fresh string) (string, string) {
		return old, strings.ReplaceAll(fresh, "\n\n", "\n") // the mark is a line of new_string no more
	})
	return d.once()
}

// unseparated ends before the separator of its last line, which stays or goes with its separator.
func (d *draft) unseparated() bool {
	d.note("without the last separator")
	d.literal = true
	last := len(d.cells) - 1
	text := d.cells[last].old
	if d.src.lang.prose || !strings.HasSuffix(text, ";") && !strings.HasSuffix(text, ",") || letters(text) < 3 ||
		!d.program() || !d.plan(false) {
		return false
	}
	last = len(d.cells) - 1
	c := &d.cells[last]
	if c.kind != kept && c.kind != deleted || c.kind == deleted && (last == 0 || !d.cells[last-1].still()) {
		return false
	}
	d.tail, d.rest = false, text[len(text)-1:]
	c.old = strings.TrimSuffix(c.old, d.rest)
	c.new = c.old
	return true
}

// dashed has a dash where the file has two hyphens.
func (d *draft) dashed() bool {
	d.note("dashes for hyphens")
	text := joinLines(d.lines)
	return d.plan(false) && !strings.ContainsAny(text, "–—") && !strings.Contains(text, "---") &&
		d.each(func(s string) string { return strings.ReplaceAll(s, "--", "—") })
}
