package editbench

import (
	"slices"
	"strings"
)

// Noise in single lines of old_string. New_string has it as well where the edit leaves a line alone.

// spell puts typos into some lines, and marks the draft as one that no equality finds.
func (d *draft) spell(count int, fits func(c *cell) bool, carry bool) bool {
	d.note("typos")
	d.local = true
	known, done := wordsOf(d.lines), 0
	for _, i := range d.Perm(len(d.cells)) {
		c := &d.cells[i]
		if done == count || !c.hasOld() || !fits(c) {
			continue
		}
		bad := d.misspell(c.old, known)
		if bad == c.old {
			continue
		}
		c.old = bad
		if carry && c.kind == kept {
			c.new = bad
		}
		done++
	}
	return done > 0
}

// typos are anywhere in old_string; new_string has them or not.
func (d *draft) typos() bool {
	return d.spell(1+d.IntN(1+d.count/6), func(*cell) bool { return true }, d.yes(2))
}

// contextTypos are in the lines that the edit leaves alone.
func (d *draft) contextTypos() bool {
	return d.spell(1+d.IntN(1+d.count/5), (*cell).still, true)
}

// calmCell picks a cell where noise may be, one that says something.
func (d *draft) calmCell() (int, bool) {
	for _, i := range d.Perm(len(d.cells)) {
		if d.calm(i) && letters(d.cells[i].old) >= 3 {
			return i, true
		}
	}
	return 0, false
}

// altered has another token in a line, as the file once had it.
func (d *draft) altered() bool {
	d.note("a line is another")
	d.local = true
	i, ok := d.calmCell()
	if !ok {
		return false
	}
	c := &d.cells[i]
	found := tokens.FindAllStringIndex(c.old, -1)
	if len(found) == 0 {
		return false
	}
	t := one(d.Rand, found)
	c.old = c.old[:t[0]] + d.instead(c.old[t[0]:t[1]]) + c.old[t[1]:]
	c.new = c.old
	return squash(c.old) != squash(d.text(i))
}

// missing leaves a line out, two of many.
func (d *draft) missing() bool {
	d.note("a line is missing")
	d.local = true
	for n := range 1 + d.count/22 {
		i, ok := d.calmCell()
		if !ok {
			return n > 0
		}
		d.cells[i].hidden = true
	}
	return true
}

// more has a line that the file has not.
func (d *draft) more() bool {
	d.note("a line too many")
	d.local = true
	i, ok := d.calmCell()
	if !ok || !d.cells[i+1].still() {
		return false
	}
	c := d.fresh(i)[0]
	c.kind, c.old = extra, c.new
	d.cells = slices.Insert(d.cells, i+1, c)
	return true
}

// program reports whether the window is code whose comments can be recognized: not within a long string or comment.
func (d *draft) program() bool {
	if d.src.lang.comment == "" || d.src.lang.prose {
		return false
	}
	before := joinLines(d.lines[:d.from])
	here := joinLines(d.lines[d.from : d.from+d.count])
	for _, mark := range []string{"`", `"""`, "'''"} {
		if strings.Count(before, mark)%2 != 0 || strings.Contains(here, mark) {
			return false
		}
	}
	open := strings.LastIndex(before, "/*") > strings.LastIndex(before, "*/")
	return !open && !strings.Contains(here, "/*") && !strings.Contains(here, "<<")
}

// dropComments leaves comments out, whole lines of them and those behind code.
func (d *draft) dropComments() bool {
	d.note("comments left out")
	d.local = true
	if !d.betweenCode() {
		return false
	}
	done := d.hideComments()
	for i := range d.cells[:len(d.cells)-1] { // without the last one's, old_string would be exact
		c := &d.cells[i]
		code, comment, sure := d.src.lang.split(c.old)
		if c.kind != kept && c.kind != changed || c.hidden || comment == "" || !sure || code == "" {
			continue
		}
		if fresh, same, ok := d.src.lang.split(c.new); ok && same == comment {
			c.old, c.new = code, fresh
			done++
		}
	}
	return done > 0
}

func (d *draft) codeAt(i int) bool {
	code, _, sure := d.src.lang.split(d.cells[i].old)
	return d.cells[i].kind == kept && sure && letters(code) > 0
}

// hideComments hides runs of comment lines whose neighbours the edit leaves alone.
func (d *draft) hideComments() int {
	done := 0
	for i := 1; i < len(d.cells)-1; i++ {
		end := i
		for end < len(d.cells) && d.comment(end) {
			end++
		}
		if end == i || end == len(d.cells) || !d.cells[i-1].still() || !d.cells[end].still() {
			i = max(i, end)
			continue
		}
		for ; i < end; i++ {
			d.cells[i].hidden = true
			done++
		}
	}
	return done
}

// betweenCode reports whether the draft is of a program, and begins and ends with a line of code.
func (d *draft) betweenCode() bool { return d.program() && d.codeAt(0) && d.codeAt(len(d.cells)-1) }

// comment reports whether a cell is a comment line that stays.
func (d *draft) comment(i int) bool {
	code, comment, sure := d.src.lang.split(d.cells[i].old)
	return d.cells[i].still() && sure && code == "" && comment != ""
}

// rewordComments says in other words what comments say.
func (d *draft) rewordComments() bool {
	d.note("comments in other words")
	d.local = true
	if !d.betweenCode() {
		return false
	}
	done := 0
	for i := range d.cells {
		c := &d.cells[i]
		code, comment, sure := d.src.lang.split(c.old)
		if !c.still() || !sure || len(strings.Fields(comment)) < 5 || done > 0 && d.yes(2) {
			continue
		}
		lead := code + indentOf(comment)
		if c.old = lead + d.reword(comment[len(indentOf(comment)):]); c.old != c.new {
			done++
		}
		c.new = c.old
	}
	return done > 0
}

// slurred has comments in a sloppier form in both strings, also behind the code that the edit changes: those of the
// file stay.
func (d *draft) slurred() bool {
	d.note("comments in a sloppier form")
	d.local = true
	if !d.betweenCode() {
		return false
	}
	done := 0
	for i := range d.cells {
		c := &d.cells[i]
		code, comment, sure := d.src.lang.split(c.old)
		if !c.hasOld() || !c.hasNew() || !sure || len(strings.Fields(comment)) < 5 {
			continue
		}
		lead := indentOf(comment)
		sloppy := lead + d.slur(comment[len(lead):])
		switch fresh, same, ok := d.src.lang.split(c.new); {
		case sloppy == comment:
		case c.kind == kept:
			c.old = code + sloppy
			c.new = c.old
			done++
		case c.kind == changed && code != "" && ok && same == comment:
			c.old, c.new = code+sloppy, fresh+sloppy
			done++
		}
	}
	return done > 0
}

// slur loses the full stop or the capital letter of a comment, or a word.
func (d *draft) slur(comment string) string {
	mark, text, _ := strings.Cut(comment, " ")
	switch d.IntN(3) {
	case 0:
		return mark + " " + strings.TrimRight(text, ".")
	case 1:
		return mark + " " + strings.ToLower(text[:1]) + text[1:]
	}
	return d.reword(comment)
}

// reword leaves a word out, puts one in, or takes another, once or twice.
func (d *draft) reword(comment string) string {
	words := strings.Split(comment, " ")
	for range 1 + len(words)/9 {
		i := 2 + d.IntN(len(words)-2)
		switch d.IntN(3) {
		case 0:
			words = slices.Insert(words, i, one(d.Rand, []string{"just", "always", "really", "also"}))
		case 1:
			words[i] = one(d.Rand, []string{"this", "value", "given", "whole", "next"})
		default:
			if len(words) > 6 {
				words = slices.Delete(words, i, i+1)
			}
		}
	}
	return strings.Join(words, " ")
}
