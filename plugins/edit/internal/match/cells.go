package match

import "slices"

// A cell says which lines of old_string are which lines of the file. Either side may be empty: a line that the file does
// not have, or one that old_string did not quote.
type cell struct {
	o0, o1, f0, f1 int
	kind           relation
}

// A relation says how the two sides of a cell are related.
type relation int

const (
	same    relation = iota // equal at the level of the pass
	typo                    // equal but for misspelt words
	altered                 // something else
	filler                  // blank lines and comments, of which the passes took no notice
)

func (c cell) single() bool { return c.o1-c.o0 == 1 && c.f1-c.f0 == 1 }

// oneSided says that only one of the two texts has the lines.
func (c cell) oneSided() bool { return c.o0 == c.o1 || c.f0 == c.f1 }

// A place is where old_string was found, and how its lines lie on those of the file.
type place struct {
	Range
	level level
	cells []cell
	// headCut and tailCut say that the place starts or ends within a line.
	headCut, tailCut bool
}

// place makes cells of a hit, from the lines that the equal bytes came from.
func (t *Text) place(f *finding, h hit) *place {
	p := &place{Range: h.Range, level: f.level, headCut: !t.startsLine(f.file, h), tailCut: !t.endsLine(f.file, h, f.level)}
	o, l := f.reading.old.lineAt(int(f.old.start[0])), t.lineAt(h.Start)
	p.cells = []cell{{o, o + 1, l, l + 1, same}}
	for k := range f.old.text {
		o = advance(f.reading.old, o, int(f.old.start[k]))
		l = advance(t.source, l, int(f.file.start[h.i+k]))
		last := &p.cells[len(p.cells)-1]
		if o >= last.o1 && l >= last.f1 {
			p.cells = append(p.cells, cell{o, o + 1, l, l + 1, same})
			continue
		}
		last.o1, last.f1 = max(last.o1, o+1), max(last.f1, l+1)
	}
	p.cells = t.fill(f.reading.old, p.cells)
	return p
}

// advance is the line that holds an offset, looked for from line i on.
func advance(s *source, i, offset int) int {
	for i+1 < len(s.lines) && s.lines[i+1].start <= offset {
		i++
	}
	return i
}

// fill gives cells to the lines between those that have one, and to the blank lines around them that old_string and the
// file both have.
func (t *Text) fill(old *source, cells []cell) []cell {
	first, last := cells[0], cells[len(cells)-1]
	out := t.headCells(old, first.o0, first.f0)
	for i, c := range cells {
		if i > 0 {
			before := cells[i-1]
			out = append(out, t.gap(old, before.o1, c.o0, before.f1, c.f0)...)
		}
		out = append(out, c)
	}
	return append(out, t.tailCells(old, last.o1, last.f1)...)
}

// outer pairs the blank lines at one end of old_string with those of the file that lie next to the place, if the file has
// as many. Else they are lines that the file does not have.
func (t *Text) outer(from, to, at, step int) []cell {
	var out []cell
	n := to - from
	l := at
	if step < 0 {
		l = at - 1
	}
	have := 0
	for k := l; have < n && k >= 0 && k < len(t.lines) && isBlankLine(t.text(k)); k += step {
		have++
	}
	missing := n - have
	if step > 0 && missing > 0 || step < 0 && missing > 1 {
		have = 0
	}
	for k := range n {
		c := cell{from + k, from + k + 1, at, at, filler}
		switch {
		case step < 0 && k >= n-have:
			c.f0, c.f1, c.kind = at-(n-k), at-(n-k)+1, same
		case step > 0 && k < have:
			c.f0, c.f1, c.kind = at+k, at+k+1, same
		case step < 0:
			c.f0, c.f1 = at-have, at-have
		}
		out = append(out, c)
	}
	return out
}

// gap pairs lines that the pass took no notice of: blank lines and comments.
func (t *Text) gap(old *source, o0, o1, f0, f1 int) []cell {
	n, m := o1-o0, f1-f0
	if n == 0 || m == 0 || n*m > maxGapCells {
		return append(span(o0, o1, f0, f0), span(o1, o1, f0, f1)...)
	}
	gain := make([][]float64, n+1)
	for i := range gain {
		gain[i] = make([]float64, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			gain[i][j] = max(gain[i+1][j], gain[i][j+1], gain[i+1][j+1]+t.likeness(old, o0+i, f0+j))
		}
	}
	return t.matched(old, gain, o0, o1, f0, f1)
}

// matched makes cells of the pairs that gain the most.
func (t *Text) matched(old *source, gain [][]float64, o0, o1, f0, f1 int) (out []cell) {
	o, f := o0, f0
	for o < o1 && f < f1 {
		i, j, g := o-o0, f-f0, t.likeness(old, o, f)
		switch {
		case g > 0 && gain[i][j] == gain[i+1][j+1]+g:
			c := cell{o, o + 1, f, f + 1, filler}
			if g == alike || isBlankLine(old.text(o)) {
				c.kind = same
			}
			out = append(out, c)
			o, f = o+1, f+1
		case gain[i][j] == gain[i+1][j]:
			out = append(out, cell{o, o + 1, f, f, filler})
			o++
		default:
			out = append(out, cell{o, o, f, f + 1, filler})
			f++
		}
	}
	return slices.Concat(out, span(o, o1, f, f), span(o1, o1, f, f1))
}

// maxGapCells bounds the lines that are compared in a gap.
const maxGapCells = 4000

// span makes a cell of each line, old ones or such of the file.
func span(o0, o1, f0, f1 int) (out []cell) {
	for o := o0; o < o1; o++ {
		out = append(out, cell{o, o + 1, f0, f0, filler})
	}
	for f := f0; f < f1; f++ {
		out = append(out, cell{o1, o1, f, f + 1, filler})
	}
	return out
}

// alike is the likeness of lines that are equal but for blanks.
const alike = 10.0

// likeness says how well a line of old_string and one of the file go together, both of no weight for the pass.
func (t *Text) likeness(old *source, o, f int) float64 {
	a, b := squeeze(old.text(o)), squeeze(t.text(f))
	switch {
	case a == "" && b == "":
		return 1
	case a == "" || b == "":
		return 0
	case a == b:
		return alike
	}
	if s := similarity(a, b); s >= minNoteAlike {
		return 4 + s
	}
	return 2
}
