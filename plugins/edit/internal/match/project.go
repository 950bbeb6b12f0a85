package match

import (
	"bytes"
	"slices"
)

// A projection carries the model's own change, from its old to its new lines, over to the lines of the file that the old
// ones stand for. What the model did not change keeps its bytes.
type projection struct {
	t        *Text
	number   int // of the pass
	old, new *source
	place    *place
	indents  *indents
	cellOf   []int // index of the cell of each old line
	edits    []Edit
	more     map[string]int // how many more lines of a text new_string has than old_string; made when asked for
	near     int            // the old line that the hunk at work starts with
	trims    bool           // blanks at the end of the model's lines are its own
}

// project makes the edits for one place.
func (t *Text) project(number int, r *reading, p *place) ([]Edit, *Refusal) {
	fresh := withHead(outerHead(r.old.data), r.new)
	pr := &projection{t: t, number: number, old: r.old, new: newSource([]byte(fresh), t.syntax), place: p}
	pr.adopt()
	pr.keepOuter()
	if bytes.HasSuffix(pr.new.data, newline) && !bytes.HasSuffix(r.old.data, newline) {
		n := len(pr.new.data)
		pr.new.lines = append(pr.new.lines, line{n, n, n})
	}
	pr.indents = t.indents(pr.old, pr.new, p)
	pr.cellOf = make([]int, len(r.old.lines))
	for i, c := range p.cells {
		for o := c.o0; o < c.o1; o++ {
			pr.cellOf[o] = i
		}
	}
	if number >= 4 && pr.indents.layout && !pr.indents.ordered() {
		return nil, pr.conflict(p.cells[0], "its lines are indented against each other in another way there, and here that carries meaning")
	}
	if refusal := pr.run(); refusal != nil {
		return nil, refusal
	}
	return pr.finish()
}

// keepOuter lets new_string begin and end with as many blank lines as old_string does. That it has fewer, and text, says that
// it was trimmed: how many there are in the file is none of its business.
func (p *projection) keepOuter() {
	outer := func(s *source) (head, tail int) {
		for head < len(s.lines) && isBlankLine(s.text(head)) {
			head++
		}
		for tail < len(s.lines)-head && isBlankLine(s.text(len(s.lines)-1-tail)) {
			tail++
		}
		return head, tail
	}
	head, tail := outer(p.old)
	newHead, newTail := outer(p.new)
	if p.ends(p.old, head) != p.ends(p.new, newHead) && p.has(p.ends(p.new, newHead)) {
		head = newHead // the first line goes, and the blank lines before it may as well
	}
	if p.ends(p.old, -1-tail) != p.ends(p.new, -1-newTail) && p.has(p.ends(p.new, -1-newTail)) {
		tail = newTail
	}
	if newHead == len(p.new.lines) || head <= newHead && tail <= newTail {
		return
	}
	data := p.new.data
	if tail > newTail && !bytes.HasSuffix(data, newline) {
		data = append(bytes.Clone(data), '\n')
	}
	data = slices.Concat(bytes.Repeat(newline, max(0, head-newHead)), data, bytes.Repeat(newline, max(0, tail-newTail)))
	p.new = newSource(data, p.t.syntax)
}

// ends is line i of a text, counted from its end when i is less than 0.
func (p *projection) ends(s *source, i int) string {
	if i < 0 {
		i += len(s.lines)
	}
	if i < 0 || i >= len(s.lines) {
		return ""
	}
	return squeeze(s.text(i))
}

// has says that old_string has a line.
func (p *projection) has(line string) bool {
	for i := range p.old.lines {
		if line != "" && squeeze(p.old.text(i)) == line {
			return true
		}
	}
	return false
}

// run goes through the hunks of the model's change.
func (p *projection) run() *Refusal {
	if p.fragment() {
		return p.wholeFragment()
	}
	if p.place.headCut && p.unlike(0, 0) || p.place.tailCut && p.unlike(len(p.old.lines)-1, len(p.new.lines)-1) {
		return p.conflict(p.place.cells[0], "it starts or ends within a line there, and new_string has another line in that place")
	}
	for _, h := range p.hunks() {
		h, refusal := p.widen(h)
		if refusal == nil {
			refusal = p.hunk(h)
		}
		if refusal != nil {
			return refusal
		}
	}
	return nil
}

// unlike says that an old and a new line have little in common, in a change that has lines come or go.
func (p *projection) unlike(o, n int) bool {
	return len(p.old.lines) != len(p.new.lines) && similarity(squeeze(p.old.text(o)), squeeze(p.new.text(n))) < minAlike
}

// hunks are the differences between the old and the new lines. Where the place starts or ends within a line, the first or
// last lines belong together.
func (p *projection) hunks() []hunk {
	x, y := trimmedLines(p.old), trimmedLines(p.new)
	var head, tail []hunk
	off := 0
	if p.place.headCut {
		if x[0] != y[0] {
			head = []hunk{{0, 1, 0, 1}}
		}
		x, y, off = x[1:], y[1:], 1
	}
	if p.place.tailCut {
		n, m := len(x)-1, len(y)-1
		if x[n] != y[m] {
			tail = []hunk{{n + off, n + off + 1, m + off, m + off + 1}}
		}
		x, y = x[:n], y[:m]
	}
	for _, h := range diffLines(x, y) {
		head = append(head, hunk{h.a + off, h.b + off, h.na + off, h.nb + off})
	}
	return append(head, tail...)
}

// widen makes a hunk take whole cells where the file has broken the lines in other places. It can do so only within one
// such cell: else nobody knows where the breaks should be.
func (p *projection) widen(h hunk) (hunk, *Refusal) {
	if h.a == h.b {
		if h.a > 0 && h.a < len(p.old.lines) && p.cellOf[h.a-1] == p.cellOf[h.a] {
			return h, p.conflict(p.place.cells[p.cellOf[h.a]], "new_string has a line more within lines that the file breaks in other places")
		}
		return h, nil
	}
	first, last := p.place.cells[p.cellOf[h.a]], p.place.cells[p.cellOf[h.b-1]]
	if first.o0 == h.a && last.o1 == h.b {
		return h, nil
	}
	if first != last {
		return h, p.conflict(first, "the change covers parts of lines that the file breaks in other places")
	}
	return hunk{first.o0, first.o1, h.na - (h.a - first.o0), h.nb + (first.o1 - h.b)}, nil
}

// finish puts the edits in order.
func (p *projection) finish() ([]Edit, *Refusal) {
	slices.SortStableFunc(p.edits, func(a, b Edit) int { return a.Start - b.Start })
	var out []Edit
	for _, e := range p.edits {
		if n := len(out); n > 0 && out[n-1].End > e.Start {
			return nil, p.conflict(p.place.cells[0], "the parts of the change overlap there")
		} else if n > 0 && out[n-1].End == e.Start {
			out[n-1].End, out[n-1].With = e.End, append(out[n-1].With, e.With...)
			continue
		}
		out = append(out, e)
	}
	out = slices.DeleteFunc(out, func(e Edit) bool { return bytes.Equal(p.t.data[e.Start:e.End], e.With) })
	p.dropLastBreak(out)
	return out, nil
}

// dropLastBreak keeps a file without a final end of line so when its last lines go and others of the place stay.
func (p *projection) dropLastBreak(edits []Edit) {
	if len(edits) == 0 {
		return
	}
	e := &edits[len(edits)-1]
	lines := p.t.lines
	last := lines[len(lines)-1]
	if e.End != len(p.t.data) || len(e.With) > 0 || last.next > last.end {
		return
	}
	if i := p.t.lineAt(e.Start); i > 0 && lines[i].start == e.Start && lines[i-1].end >= p.place.Start {
		e.Start = lines[i-1].end
	}
}

// conflict refuses since the file has something at a cell that old_string does not know of.
func (p *projection) conflict(c cell, why string) *Refusal {
	return p.t.conflict(p.place, c, why)
}
