package match

// near_line decides between places only when one is close to it, and twice as close as the next.
const nearLines = 20

// choose leaves in a finding the places to be changed, or refuses when it is not clear which they are.
func (t *Text) choose(c Change, f *finding) *Refusal {
	n := len(f.hits)
	switch {
	case c.Expected > 0 && c.All && n != c.Expected:
		return t.miscounted(c, f)
	case c.All || n == 1:
		return nil
	case c.NearLine > 0:
		if i := t.nearest(c.NearLine, f.hits); i >= 0 {
			f.hits = f.hits[i : i+1]
			return nil
		}
	}
	return t.ambiguous(f)
}

// nearest is the index of the place that near_line means, or -1.
func (t *Text) nearest(near int, hits []hit) int {
	best, first, second := -1, 1<<30, 1<<30
	for i, h := range hits {
		switch d := t.linesAway(near, h.Range); {
		case d < first:
			best, first, second = i, d, first
		case d < second:
			second = d
		}
	}
	if first > nearLines || second < 2*first || second == first {
		return -1
	}
	return best
}

func (t *Text) linesAway(line int, r Range) int {
	from, to := t.lineAt(r.Start)+1, t.lineAt(max(r.Start, r.End-1))+1
	return max(from-line, line-to, 0)
}
