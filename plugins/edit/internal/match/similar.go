package match

import (
	"cmp"
	"slices"
)

// Pass 8 is for small files and small old_strings: it compares lines with lines.
const (
	maxSimilarLines = 400
	maxSimilarFile  = 2 << 20
)

// windows are the parts of the file that come closest to a reading, the best first.
func (t *Text) windows(r *reading) []*window {
	if len(t.data) > maxSimilarFile || len(r.old.lines) > maxSimilarLines {
		return nil
	}
	if r.windows != nil {
		return r.windows
	}
	file := t.lineIndex()
	r.index = newIndex(r.old, canon(r.old, keyLevel))
	r.windows = t.windowsAt(r, votes(r.index, file))
	return r.windows
}

// windowsAt lays a reading on the parts of the file that have the most votes.
func (t *Text) windowsAt(r *reading, v map[int]float64) (out []*window) {
	for _, at := range peaks(v) {
		if w := t.align(r.index, t.lineIndex(), at, Range{}); w.first >= 0 {
			out = append(out, w)
		}
	}
	slices.SortStableFunc(out, func(a, b *window) int { return cmp.Or(cmp.Compare(b.score, a.score), a.first-b.first) })
	return out
}

// similar is pass 8: old_string as a block whose lines are nearly those of the file, in one place that is clearly the best.
func (t *Text) similar(c Change, readings []*reading) (*Plan, *Refusal) {
	for _, r := range readings {
		if r.lastPass < 9 {
			continue
		}
		all := t.windows(r)
		if len(all) == 0 || !t.near(r, all[0]) || t.renumbered(r, t.placeOf(r, all[0])) {
			continue
		}
		w := all[0]
		if asOld, _ := r.framed(t, t.placeOf(r, w)); r.bareNew && !asOld {
			continue // how far new_string is indented does not follow from what is behind the numbers
		}
		for _, rival := range append(all[1:], t.beside(r, w)...) {
			if !w.overlaps(rival) && !r.index.dominates(w, rival) {
				return nil, t.rivals(w, rival)
			}
		}
		return t.planSimilar(c, r, w)
	}
	return nil, nil
}

// rivaled says that, line by line, another part of the file is as like a reading as the place h, or a part of what is a
// comment there. What is a comment at one place need not be one at the other.
func (t *Text) rivaled(r *reading, h hit) bool {
	from, to := t.span(h.Range)
	here := &window{first: from, last: to - 1}
	all := t.windows(r)
	if r.index == nil {
		return false
	}
	for i, key := range r.index.keys {
		if r.index.significant(i) && slices.ContainsFunc(t.lineIndex().at[key], func(j int) bool { return j >= from && j < to && t.lineIndex().note[j] }) {
			return true
		}
	}
	at := slices.IndexFunc(all, here.overlaps)
	return at >= 0 && slices.ContainsFunc(all, func(w *window) bool { return !w.overlaps(here) && !r.index.dominates(all[at], w) })
}

// beside are the windows right before and after another one, which lie too close to it to have votes of their own.
func (t *Text) beside(r *reading, w *window) (out []*window) {
	for _, at := range []int{w.first - len(r.index.keys), w.last + 1} {
		if v := t.align(r.index, t.lineIndex(), at, Range{w.first, w.last + 1}); v.first >= 0 {
			out = append(out, v)
		}
	}
	return out
}

func (t *Text) planSimilar(c Change, r *reading, w *window) (*Plan, *Refusal) {
	pl := t.placeOf(r, w)
	if inserted(c, pl.Range) {
		return nil, t.ownInsertion(pl.Range)
	}
	if refusal := t.harmful(c, r, []Range{pl.Range}); refusal != nil {
		return nil, refusal
	}
	r, refusal := t.alone(c, r, pl.Range)
	if refusal != nil {
		return nil, refusal
	}
	edits, refusal := t.project(8, r, pl)
	if refusal != nil {
		return nil, refusal
	}
	if len(edits) == 0 {
		return nil, t.unchanged(pl.Range)
	}
	return &Plan{Edits: edits, Places: []Range{pl.Range}, Pass: 8, PassName: passNames[8], Warnings: t.similarWarnings(r, w)}, nil
}

func (w *window) overlaps(v *window) bool { return w.first <= v.last && v.first <= w.last }

// dominates says that nothing speaks for the rival: no line of old_string is nearer to one of its lines than to one of the
// winner's, and it lacks two lines that the winner has. A misspelt line is one of both when both have what it misspells.
func (x *index) dominates(w, rival *window) bool {
	fewer := 0
	for i := range x.keys {
		if !x.telling(i) || x.note[i] && !w.has(i) {
			continue
		}
		switch has, other := w.has(i), rival.has(i); {
		case other && (!has || w.kinds[i] != same && rival.kinds[i] == same):
			return false
		case has && !other:
			fewer++
		}
	}
	return fewer >= 2
}

func (w *window) has(i int) bool {
	return w.pairs[i] >= 0 && (w.kinds[i] == same || w.kinds[i] == typo)
}

// repeated says that one word stands for another on several lines: a change of name, not a misspelling.
func repeated(s []slip) bool {
	seen := map[slip]bool{}
	for _, one := range s {
		if seen[one] {
			return true
		}
		seen[one] = true
	}
	return false
}

// contradicts says that a line differs from the file in a number or in a name that the file has as well: another line then,
// however like it is.
func (t *Text) contradicts(r *reading, w *window) bool {
	for i, k := range w.kinds {
		if k == altered && w.pairs[i] >= 0 && t.other(r.index.keys[i], t.lineIndex().keys[w.pairs[i]]) {
			return true
		}
	}
	return false
}

// other says that two lines have the same shape but name other things.
func (t *Text) other(old, file string) bool {
	x, y := tokens.FindAllString(old, -1), tokens.FindAllString(file, -1)
	if len(x) != len(y) {
		return false
	}
	n, known := 0, false
	for i := range x {
		if x[i] != y[i] {
			n++
			known = known || digits(x[i]) != digits(y[i]) || t.hasWord(x[i])
		}
	}
	return n <= 2 && known
}

// placeOf makes cells of a window.
func (t *Text) placeOf(r *reading, w *window) *place {
	p := &place{level: keyLevel}
	p.Start = t.lines[w.first].start + indentLen(t.text(w.first))
	p.End = t.lines[w.last].end
	at := w.first
	for i, j := range w.pairs {
		if j < 0 {
			p.cells = append(p.cells, cell{i, i + 1, at, at, filler})
			if r.index.keys[i] != "" && !r.index.note[i] {
				p.cells[len(p.cells)-1].kind = altered
			}
			continue
		}
		p.cells = append(p.cells, span(i, i, at, j)...)
		if w.kinds[i] == altered && similarity(r.index.keys[i], t.lineIndex().keys[j]) < minAlike { // a line too many and one too few
			p.cells = append(p.cells, cell{i, i + 1, j, j, altered}, cell{i + 1, i + 1, j, j + 1, filler})
			at = j + 1
			continue
		}
		p.cells = append(p.cells, cell{i, i + 1, j, j + 1, w.kinds[i]})
		at = j + 1
	}
	return p
}
