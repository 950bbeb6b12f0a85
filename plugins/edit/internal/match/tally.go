package match

import "slices"

// A tally counts the telling lines of old_string by what became of them.
type tally struct {
	lines, code, letters, same, typos, altered, missing, extra int
	endsFit                                                    bool
}

func (t *Text) tally(r *reading, w *window) (n tally) {
	for i := range r.index.keys {
		if r.index.telling(i) {
			n.count(r.index, w, i)
		}
	}
	n.endsFit = r.endsFit(w)
	n.extra = t.extra(w)
	return n
}

// endsFit says that the first and the last telling line are in the window. Comments there may be worded in another way, if
// the code next to them is right.
func (r *reading) endsFit(w *window) bool {
	var fits []bool
	for i := range r.index.keys {
		if r.index.telling(i) && (w.pairs[i] < 0 || w.kinds[i] != filler) {
			fits = append(fits, w.has(i))
		}
	}
	return len(fits) > 0 && fits[0] && fits[len(fits)-1]
}

// edged says that the file has the brackets that old_string begins and ends with: else it is half of another block.
func (r *reading) edged(w *window) bool {
	first, last := r.index.ends()
	for i, key := range r.index.keys {
		if (i < first || i > last) && key != "" && !r.index.note[i] && w.pairs[i] < 0 {
			return false
		}
	}
	return true
}

func (n *tally) count(x *index, w *window, i int) {
	n.lines++
	n.letters += len(x.keys[i])
	if !x.note[i] {
		n.code++
	}
	switch {
	case w.pairs[i] < 0:
		n.missing++
	case w.kinds[i] == same:
		n.same++
	case w.kinds[i] == typo:
		n.typos++
	default:
		n.altered++
	}
}

// extra counts the significant lines of the file within a window that old_string does not have.
func (t *Text) extra(w *window) (n int) {
	for j := w.first; j <= w.last; j++ {
		if t.lineIndex().significant(j) && !slices.Contains(w.pairs, j) {
			n++
		}
	}
	return n
}

// near says whether a window is so like old_string that it can be nothing else.
func (t *Text) near(r *reading, w *window) bool {
	n := t.tally(r, w)
	return n.lines >= 3 && n.letters >= 40 && n.endsFit && r.edged(w) && n.same >= 2 && n.same*100 >= 55*n.lines && n.typos*100 <= 45*n.lines &&
		n.altered+max(n.missing, n.extra) <= n.allowed() && !repeated(w.slips) && !t.contradicts(r, w)
}

// allowed is how many lines may be wrong. Lines too many or too few are less of a doubt than lines that are others, and
// those that old_string only leaves out are the least.
func (n *tally) allowed() int {
	lines := n.lines
	if n.altered > 0 {
		lines = n.code
	}
	most := 0
	if n.same == n.lines && lines >= 8 {
		most = 1
	}
	switch {
	case lines >= 18:
		return most + 2
	case lines >= 5:
		return most + 1
	}
	return 0
}
