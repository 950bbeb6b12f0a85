package editbench

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// A kind says what an edit does to a line.
type kind int

const (
	kept kind = iota
	changed
	deleted
	inserted
	extra // a line that the model quotes and the file does not have
)

// A cell is a line of the window that an edit is about: as the file has it, and as the model writes it before and
// after.
type cell struct {
	kind     kind
	at       int    // the line of the file, from 0; -1 for none
	want     string // what becomes of it; of no meaning when it is kept or deleted
	old, new string // the model's lines, which noise changes
	hidden   bool   // the model leaves the line out
}

// A draft is a case in the making.
type draft struct {
	*rand.Rand
	src   *Source
	lines []line // the file; noise may change it, for which it is copied
	from  int    // the window's first line, from 0
	count int    // and how many lines it has
	cells []cell

	tail       bool   // old and new end with a line ending
	head, rest string // the parts of the first and the last line that are not quoted
	local      bool   // single lines were changed so that no equality finds them
	content    bool   // the file's text was changed, not only its white space
	literal    bool   // old_string may be in the file to the byte after all
	wrap       []func(old, fresh string) (string, string)
	notes      []string
}

// window opens a draft on some lines of a file.
func window(r *rand.Rand, src *Source, lines []line, from, count int) *draft {
	d := &draft{Rand: r, src: src, lines: lines, tail: r.IntN(2) == 0}
	d.look(from, count)
	return d
}

func (d *draft) look(from, count int) {
	d.from, d.count, d.cells = from, count, nil
	for i := from; i < from+count; i++ {
		text := d.lines[i].text
		d.cells = append(d.cells, cell{kind: kept, at: i, old: text, new: text})
	}
}

// rewrite makes the file the draft's own, and changes it; the cells must be untouched yet.
func (d *draft) rewrite(change func(lines []line) []line) {
	d.lines = change(append([]line(nil), d.lines...))
	d.look(d.from, d.count)
}

func (d *draft) note(text string) { d.notes = append(d.notes, text) }

// yes is true once in n times.
func (d *draft) yes(n int) bool { return d.IntN(n) == 0 }

// one picks one of several.
func one[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// hasOld and hasNew say whether a cell is in old_string and in new_string.
func (c *cell) hasOld() bool { return c.kind != inserted && !c.hidden }
func (c *cell) hasNew() bool { return c.kind != deleted && !c.hidden }

// still reports whether a cell has a line of the file that stays unchanged.
func (c *cell) still() bool { return c.kind == kept && !c.hidden }

// calm reports whether noise may add or drop a line at a cell: it and its neighbours are not touched by the edit, so
// that no one can ask on which side of the noise something goes.
func (d *draft) calm(i int) bool {
	return i > 0 && i < len(d.cells)-1 && d.cells[i].still() && d.cells[i-1].still() && d.cells[i+1].still()
}

// strings returns old_string and new_string.
func (d *draft) strings() (before, after string) {
	var old, fresh []string
	for i := range d.cells {
		if c := &d.cells[i]; c.hasOld() {
			old = append(old, c.old)
		}
		if c := &d.cells[i]; c.hasNew() {
			fresh = append(fresh, c.new)
		}
	}
	before, after = strings.Join(old, "\n"), strings.Join(fresh, "\n")
	if d.tail {
		before += "\n"
	}
	if d.tail && len(fresh) > 0 {
		after += "\n"
	}
	for _, wrap := range d.wrap {
		before, after = wrap(before, after)
	}
	return before, after
}

// outcomes are the lines of the window after the edit.
func (d *draft) outcomes() []outcome {
	eol := d.lines[d.from].eol
	if eol == "" && d.from > 0 {
		eol = d.lines[d.from-1].eol
	}
	var out []outcome
	for _, c := range d.cells {
		switch c.kind {
		case kept:
			out = append(out, outcome{line: line{d.lines[c.at].text, d.lines[c.at].eol}})
		case changed:
			out = append(out, outcome{line{c.want, d.lines[c.at].eol}, true})
		case inserted:
			out = append(out, outcome{line{c.want, eol}, true})
		}
	}
	for i := range out {
		if out[i].line.eol == "" {
			out[i].line.eol = eol
		}
	}
	if d.lines[d.from+d.count-1].eol == "" && len(out) > 0 {
		out[len(out)-1].line.eol = ""
	}
	return out
}

// finish makes the case of a draft, if it is a fair one.
func (d *draft) finish() (Case, bool) {
	old, fresh := d.strings()
	after := d.outcomes()
	var mid strings.Builder
	for _, o := range after {
		mid.WriteString(o.line.text + o.line.eol)
	}
	before, behind := joinLines(d.lines[:d.from]), joinLines(d.lines[d.from+d.count:])
	data := joinLines(d.lines)
	c := Case{
		Name: d.src.Name, Noise: strings.Join(d.notes, ", "), Data: []byte(data), Old: old, New: fresh,
		Want: []byte(before + mid.String() + behind), start: len(before), end: len(data) - len(behind), after: after,
	}
	return c, d.fair(&c)
}

// An operation is something that an edit does at a cell; it reports whether that was possible.
type operation func(d *draft, i int) bool

var operations = []operation{
	(*draft).changeToken, (*draft).changeToken, (*draft).changeToken, (*draft).insert, (*draft).insert, (*draft).insert,
	(*draft).remove, (*draft).replace, (*draft).rename, (*draft).parameter,
}

// plan makes one edit of one to three hunks. With inner it leaves the window's first and last line alone.
func (d *draft) plan(inner bool) bool {
	hunks := 1
	if d.count >= 8 && d.yes(3) {
		hunks += 1 + d.IntN(2)
	}
	part := d.count / hunks
	done := 0
	for h := range hunks {
		for range 4 {
			if i, ok := d.spot(h*part, part, inner); ok && one(d.Rand, operations)(d, i) {
				done++
				break
			}
		}
	}
	return done > 0
}

// spot picks a cell by the file's line, as cells move when others are put in.
func (d *draft) spot(first, count int, inner bool) (int, bool) {
	lo, hi := first, first+count-1
	if inner {
		lo, hi = max(lo, 1), min(hi, d.count-2)
	}
	if lo > hi {
		return 0, false
	}
	at := d.from + lo + d.IntN(hi-lo+1)
	i := slices.IndexFunc(d.cells, func(c cell) bool { return c.at == at })
	return i, i >= 0 && d.cells[i].kind == kept
}

// alter makes a cell one that the edit changes.
func (c *cell) alter(want string) {
	c.kind, c.want, c.new = changed, want, want
}

func (d *draft) text(i int) string { return d.lines[d.cells[i].at].text }

// changeToken puts another name, number or operator in a line.
func (d *draft) changeToken(i int) bool {
	text := d.text(i)
	found := tokens.FindAllStringIndex(text, -1)
	if len(found) == 0 {
		return false
	}
	t := found[d.IntN(len(found))]
	want := text[:t[0]] + d.instead(text[t[0]:t[1]]) + text[t[1]:]
	if squash(want) == squash(text) {
		return false
	}
	d.cells[i].alter(want)
	return true
}

// parameter adds one before a closing parenthesis.
func (d *draft) parameter(i int) bool {
	text := d.text(i)
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open <= 0 || end < open || d.src.lang.prose {
		return d.changeToken(i)
	}
	add := one(d.Rand, []string{"limit", "strict", "depth"})
	if end > open+1 {
		add = ", " + add
	}
	d.cells[i].alter(text[:end] + add + text[end:])
	return true
}

// rename gives a name of the line another one, everywhere in the window.
func (d *draft) rename(i int) bool {
	name := d.word(d.text(i))
	if name == "" {
		return false
	}
	fresh, done := d.freshName(name), 0
	for j := range d.cells {
		if d.cells[j].kind != kept {
			continue
		}
		if want := swapWord(d.text(j), name, fresh); want != d.text(j) {
			d.cells[j].alter(want)
			done++
		}
	}
	return done > 0 && done < d.count
}

// remove takes one to three lines out, not all.
func (d *draft) remove(i int) bool {
	n := 1 + d.IntN(3)
	left := 0
	for j := range d.cells {
		if d.cells[j].kind == kept && (j < i || j >= i+n) && !blank(d.text(j)) {
			left++
		}
	}
	if left == 0 || blank(d.text(i)) {
		return false
	}
	for j := i; j < min(i+n, len(d.cells)) && d.cells[j].kind == kept; j++ {
		d.cells[j].kind = deleted
	}
	return true
}

// insert puts one to four lines before or after a cell.
func (d *draft) insert(i int) bool {
	if blank(d.text(i)) {
		return false
	}
	at := i + d.IntN(2)
	d.cells = slices.Insert(d.cells, at, d.fresh(i)...)
	return true
}

// replace puts other lines in place of two to four.
func (d *draft) replace(i int) bool {
	n := 2 + d.IntN(3)
	if i+n > len(d.cells) || blank(d.text(i)) {
		return false
	}
	for j := i; j < i+n; j++ {
		if d.cells[j].kind != kept {
			return false
		}
	}
	if d.IntN(2) == 0 && !d.changeToken(i) {
		return false
	}
	for j := i; j < i+n; j++ {
		if d.cells[j].kind == kept {
			d.cells[j].kind = deleted
		}
	}
	d.cells = slices.Insert(d.cells, i+n, d.fresh(i)...)
	return slices.ContainsFunc(d.cells, func(c cell) bool { return c.kind == kept })
}

// fresh writes new lines with the indentation that a cell's line has.
func (d *draft) fresh(i int) []cell {
	indent, word := indentOf(d.text(i)), d.word(d.text(i))
	if word == "" {
		word = "value"
	}
	var out []cell
	for range 1 + d.IntN(2) {
		for _, text := range one(d.Rand, d.src.lang.inserts) {
			deep := len(text) - len(strings.TrimLeft(text, "\t"))
			text = indent + strings.Repeat(d.src.unit, deep) + strings.ReplaceAll(text[deep:], "W", word)
			out = append(out, cell{kind: inserted, at: -1, want: text, new: text})
		}
		if len(out) > 3 {
			break
		}
	}
	return out
}
