package match

import "math"

// A window is a part of the file laid beside old_string, line by line.
type window struct {
	pairs []int // for each line of old_string the line of the file, or -1
	kinds []relation
	slips []slip
	score float64 // 1 when all lines are equal
	first int     // line of the file
	last  int
}

// noteWeight is what leaving out a comment of the file costs: next to nothing.
const noteWeight = 0.26

// An aligner finds the cheapest way to lay old_string on the lines of the file from lo to hi.
type aligner struct {
	t         *Text
	old, file *index
	lo, hi    int
	taken     Range // lines of the file that may not be used
	first     int   // significant line of old_string
	last      int
	cost      []float32
	pair      []float32 // cost of a pair, for each line of old_string and each column of its band
	typos     []bool    // the pair is but misspelt
}

const band = 2*slack + 1

// align lays old_string on the file from line at on, give or take some lines, but on none of those taken.
func (t *Text) align(old, file *index, at int, taken Range) *window {
	a := &aligner{t: t, old: old, file: file, lo: at - slack, hi: at + len(old.keys) + slack, taken: taken}
	n := len(old.keys)
	a.first, a.last = old.ends()
	a.cost = make([]float32, (n+1)*(n+band+1))
	a.pair, a.typos = make([]float32, n*band), make([]bool, n*band)
	for i := range n {
		for b := range band {
			p, misspelt := a.price(i, a.lo+i+b)
			a.pair[i*band+b], a.typos[i*band+b] = float32(p), misspelt
		}
	}
	a.fill(n)
	return a.trace(n)
}

// ends are the first and the last telling line, or -1.
func (x *index) ends() (first, last int) {
	first, last = -1, -1
	for i := range x.keys {
		if x.telling(i) {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	return first, last
}

// price is what it costs to take line i of old_string for line j of the file, and whether that one is but misspelt.
func (a *aligner) price(i, j int) (cost float64, misspelt bool) {
	if j < 0 || j >= len(a.file.keys) || j >= a.taken.Start && j < a.taken.End {
		return math.Inf(1), false
	}
	x, y := a.old.keys[i], a.file.keys[j]
	switch {
	case x == y:
		return 0, false
	case a.old.note[i] != a.file.note[j] && x != "" && y != "": // where a text is cut out, a part of it may be a comment no more
		if alike := a.t.compare(x, y); alike >= minMisspelt && a.t.isMisspelt(x, y) {
			return (1 - alike) * max(a.old.weight[i], a.file.weight[j]), true
		}
		return math.Inf(1), false
	case a.old.note[i] != a.file.note[j], a.old.significant(i) != a.file.significant(j), x == "", y == "":
		return math.Inf(1), false
	}
	alike := a.t.compare(x, y)
	misspelt = alike >= minMisspelt && a.t.isMisspelt(x, y)
	switch {
	case a.old.note[i] && alike < minNoteAlike:
		return math.Inf(1), false
	case a.old.note[i]:
		return noteWeight * (2 - alike), misspelt
	case misspelt:
		return (1 - alike) * max(a.old.weight[i], a.file.weight[j]), true
	}
	return a.other(i, j, alike), false
}

// other is the price of a line that is another one.
func (a *aligner) other(i, j int, alike float64) float64 {
	cost := max(1-alike, 0.5) * max(a.old.weight[i], a.file.weight[j])
	if alike < minAlike { // little better than a line too many and one too few
		cost = 0.95 * (a.old.weight[i] + a.file.weight[j])
	}
	if i == a.first || i == a.last { // which must be right: one farther off may be
		cost += endsWeight
	}
	return cost
}

// minMisspelt is how alike lines must be to be looked at for misspelt words.
const minMisspelt = 0.55

// minAlike is how alike lines are that may be the same one.
const minAlike = 0.4

// minNoteAlike is how alike two comments are that may be the same one.
const minNoteAlike = 0.45

// endsWeight is what leaving out the first or the last line costs more: more than any one line of the file.
const endsWeight = 12

// skipOld and skipFile are what it costs to leave out a line.
func (a *aligner) skipOld(i int) float32 {
	cost := float32(a.old.weight[i]) + 0.01
	if a.old.note[i] {
		cost = cost/2 + noteWeight
	}
	if i == a.first || i == a.last {
		cost += endsWeight
	}
	return cost
}

func (a *aligner) skipFile(j int) float32 {
	switch {
	case j < 0 || j >= len(a.file.keys):
		return 0
	case a.file.note[j]:
		return noteWeight
	}
	return float32(a.file.weight[j]) + 0.01
}

// fill works out the cost of laying the lines from i on the file from column c on. Lines of the file before the first and
// after the last that is used cost nothing.
func (a *aligner) fill(n int) {
	w := n + band + 1
	m := a.hi - a.lo
	for i := n - 1; i >= 0; i-- {
		a.cost[i*w+m] = a.cost[(i+1)*w+m] + a.skipOld(i)
		for c := m - 1; c >= 0; c-- {
			v := a.cost[(i+1)*w+c] + a.skipOld(i)
			skip := a.cost[i*w+c+1]
			if i > 0 {
				skip += a.skipFile(a.lo + c)
			}
			v = min(v, skip)
			if b := c - i; b >= 0 && b < band {
				v = min(v, a.cost[(i+1)*w+c+1]+a.pair[i*band+b])
			}
			a.cost[i*w+c] = v
		}
	}
}

func (a *aligner) trace(n int) *window {
	w, m := n+band+1, a.hi-a.lo
	out := &window{pairs: make([]int, n), kinds: make([]relation, n), first: -1}
	total := 0.0
	for i := range n {
		out.pairs[i] = -1
		total += float64(a.skipOld(i))
	}
	for i, c := 0, 0; i < n && c < m; {
		v := a.cost[i*w+c]
		if b := c - i; b >= 0 && b < band && v == a.cost[(i+1)*w+c+1]+a.pair[i*band+b] {
			out.take(a, i, a.lo+c, a.typos[i*band+b])
			i, c = i+1, c+1
		} else if v == a.cost[(i+1)*w+c]+a.skipOld(i) {
			i++
		} else {
			c++
		}
	}
	out.score = max(0, 1-float64(a.cost[0])/max(total, 0.01))
	return out
}

// take notes a pair of lines.
func (w *window) take(a *aligner, i, j int, misspelt bool) {
	w.pairs[i], w.last = j, j
	if w.first < 0 {
		w.first = j
	}
	switch {
	case a.old.keys[i] == a.file.keys[j]:
		w.kinds[i] = same
	case misspelt:
		w.kinds[i] = typo
		slips, _ := a.t.slips(a.old.keys[i], a.file.keys[j])
		w.slips = append(w.slips, slips...)
	case a.old.note[i]:
		w.kinds[i] = filler
	default:
		w.kinds[i] = altered
	}
}
