package corpus

import (
	"math/rand/v2"
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

// A cell is a line of the window that an edit is about: as the file has it, and as the model writes it before and after.
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

// still says whether a cell has a line of the file that stays as it is.
func (c *cell) still() bool { return c.kind == kept && !c.hidden }

// calm says whether noise may add or drop a line at a cell: it and its neighbours are not touched by the edit, so that
// nobody can ask on which side of the noise something goes.
func (d *draft) calm(i int) bool {
	return i > 0 && i < len(d.cells)-1 && d.cells[i].still() && d.cells[i-1].still() && d.cells[i+1].still()
}

// strings gives old_string and new_string.
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
