package match

import (
	"math"
	"strings"
)

// A window is a part of the file with old_string laid out on it, line by line.
type window struct {
	pairs       []int // for each line of old_string the line of the file, or -1
	relations   []relation
	typos       []substitution
	score       float64 // 1 when all lines are equal
	first, last int     // lines of the file; first is -1 when no line is paired
	more        bool    // it has code between the lines of old_string, or another comment behind one
}

func (w *window) overlaps(v *window) bool { return w.first <= v.last && v.first <= w.last }

// has reports that line i of old_string is in the window, but for typos.
func (w *window) has(i int) bool {
	return w.pairs[i] >= 0 && (w.relations[i] == same || w.relations[i] == typo)
}

const (
	minTypoAlike    = 0.55 // similarity of lines that may differ in typos
	minAlike        = 0.4  // similarity of lines that may be the same one
	minCommentAlike = 0.45 // similarity of two comments that may be the same one
	commentCost     = 0.26 // of leaving out a comment of the file: next to nothing
	endsCost        = 12   // of leaving out the first or the last line: more than of any other line
	band            = 2*slack + 1
)

// A lineLayout finds the cheapest way to lay out old_string on the lines of the file from lo to hi.
type lineLayout struct {
	t           *Text
	old, file   *lineIndex
	lo, hi      int
	taken       Range // lines of the file that may not be used
	first, last int   // informative lines of old_string
	cost        []float32
	pair        []float32 // cost of a pair, for each line of old_string and each column of its band
	typos       []bool    // the pair differs in typos only
}

// layOut lays out old_string on the file from line at on, give or take some lines, but on none of those taken.
func (t *Text) layOut(old *lineIndex, at int, taken Range) *window {
	n := len(old.keys)
	a := &lineLayout{t: t, old: old, file: t.lineIndex(), lo: at - slack, hi: at + n + slack, taken: taken}
	a.first, a.last = old.ends()
	a.pair, a.typos = make([]float32, n*band), make([]bool, n*band)
	for i := range n {
		for b := range band {
			p, typos := a.price(i, a.lo+i+b)
			a.pair[i*band+b], a.typos[i*band+b] = float32(p), typos
		}
	}
	a.fill(n)
	return a.trace(n)
}

// equal reports whether two lines are equal, also where one has a comment and that is a part of a string in the other.
func (a *lineLayout) equal(i, j int) bool {
	x, y := a.old.keys[i], a.file.keys[j]
	return x == y || x != "" && y != "" && (strings.HasPrefix(x, y) || strings.HasPrefix(y, x)) &&
		a.old.source.key(i) == a.file.source.key(j)
}

// price is the cost of taking line i of old_string for line j of the file, and whether they differ in typos only.
func (a *lineLayout) price(i, j int) (cost float64, typos bool) {
	never := math.Inf(1)
	if j < 0 || j >= len(a.file.keys) || j >= a.taken.Start && j < a.taken.End {
		return never, false
	}
	x, y := a.old.keys[i], a.file.keys[j]
	comment, code := a.old.comment[i], a.old.isCode(i) == a.file.isCode(j)
	kind := comment == a.file.comment[j]
	switch {
	case a.equal(i, j):
		return 0, false
	case x == "", y == "", kind && !code:
		return never, false
	}
	alike := a.t.compare(x, y)
	typos = alike >= minTypoAlike && a.t.isTypo(x, y)
	weight := max(a.old.weight[i], a.file.weight[j])
	switch {
	case !kind && !typos: // where a text is cut out, a part of it may be a comment no more
		return never, false
	case !kind:
		return (1 - alike) * weight, true
	case comment && alike < minCommentAlike:
		return never, false
	case comment:
		return commentCost * (2 - alike), typos
	case typos:
		return (1 - alike) * weight, true
	}
	cost = max(1-alike, 0.5) * weight
	if alike < minAlike { // little better than a line too many and one too few
		cost = 0.95 * (a.old.weight[i] + a.file.weight[j])
	}
	if i == a.first || i == a.last { // which must be right: one farther off may be
		cost += endsCost
	}
	return cost, false
}

// skipOld and skipFile are the costs of leaving out a line.
func (a *lineLayout) skipOld(i int) float32 {
	cost := float32(a.old.weight[i]) + 0.01
	if a.old.comment[i] {
		cost = cost/2 + commentCost
	}
	if i == a.first || i == a.last {
		cost += endsCost
	}
	return cost
}

func (a *lineLayout) skipFile(j int) float32 {
	switch {
	case j < 0 || j >= len(a.file.keys):
		return 0
	case a.file.comment[j]:
		return commentCost
	}
	return float32(a.file.weight[j]) + 0.01
}

// fill computes the cost of laying out the lines from i on, on the file from column c on. Lines of the file before
// the first and after the last that is used cost nothing.
func (a *lineLayout) fill(n int) {
	w, m := n+band+1, a.hi-a.lo
	a.cost = make([]float32, (n+1)*w)
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

func (a *lineLayout) trace(n int) *window {
	w, m := n+band+1, a.hi-a.lo
	out := &window{pairs: make([]int, n), relations: make([]relation, n), first: -1}
	total := 0.0
	for i := range n {
		out.pairs[i] = -1
		total += float64(a.skipOld(i))
	}
	used := -1
	for i, c := 0, 0; i < n && c < m; {
		v := a.cost[i*w+c]
		if b := c - i; b >= 0 && b < band && v == a.cost[(i+1)*w+c+1]+a.pair[i*band+b] {
			j := a.lo + c
			if out.pairs[i], out.last = j, j; out.first < 0 {
				out.first = j
			}
			for k := used + 1; used >= 0 && k < j; k++ {
				out.more = out.more || a.file.isCode(k)
			}
			if used = j; !out.more && a.old.keys[i] == a.file.keys[j] && !a.old.comment[i] {
				was := a.old.source.comment(i)
				out.more = was != "" && was != a.file.source.comment(j)
			}
			switch {
			case a.equal(i, j):
				out.relations[i] = same
			case a.typos[i*band+b]:
				out.relations[i] = typo
				typos, _ := a.t.typos(a.old.keys[i], a.file.keys[j])
				out.typos = append(out.typos, typos...)
			case a.old.comment[i]:
				out.relations[i] = skipped
			default:
				out.relations[i] = altered
			}
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
