package match

import (
	"cmp"
	"strings"
)

// A step tells how far from bytes of indentation in the model's text go in the file: to bytes of char.
type step struct {
	from, to       int
	fromChar, char byte
	unsure         bool // the match does not show it, or shows several, and the file has several
	mixed          bool // the file has steps of tabs and of spaces
}

// units finds how long a step of indentation is in both texts: from two lines of the match, or else from the steps that
// are most common, those of the first lines of old_string and new_string not counted that have lost their indentation.
func (m *indents) units(t *Text, old, fresh *source, cut int) {
	m.step = step{}
	if m.measured() {
		return
	}
	from, _ := commonStep(cut, old, fresh)
	to, share := commonStep(0, t.source)
	m.plain = to == ""
	from, to = cmp.Or(from, to), cmp.Or(to, from)
	if to != "" {
		m.step = step{len(from), len(to), from[0], to[0], !m.plain && share[to]*10 < share[""]*9, min(share["\t"], share[""]-share["\t"])*10 > share[""]}
	}
}

// measured takes the step that pairs of lines of the match show. It is no help when they show several.
func (m *indents) measured() bool {
	for i, a := range m.samples {
		for _, b := range m.samples[:i] {
			for _, pair := range [2][2]sample{{a, b}, {b, a}} {
				if s, ok := measure(pair[0], pair[1]); ok && !m.agree(s) {
					return true
				}
			}
		}
	}
	return m.from > 0
}

// agree notes one more step that the match shows, and is false when it is another one than those before. Alignment, which
// has as many blanks in both texts, does not count beside others.
func (m *indents) agree(s step) bool {
	switch {
	case m.from == 0 || m.aligns():
		m.step = s
	case s != m.step && !s.aligns():
		m.unsure = true
	}
	return !m.unsure
}

func (s step) aligns() bool { return s.from == s.to && s.fromChar == ' ' && s.char == ' ' }

// maxStep is how much longer than another a step may be: a tab stands for 8 spaces at most.
const maxStep = 8

// measure takes the step from b to a, if it is one in both texts.
func measure(a, b sample) (s step, ok bool) {
	x, ok1 := strings.CutPrefix(a.old, b.old)
	y, ok2 := strings.CutPrefix(a.file, b.file)
	if !ok1 || !ok2 || x == "" || y == "" || !uniform(x) || !uniform(y) {
		return s, false
	}
	g := gcd(len(x), len(y))
	if max(len(x), len(y)) > maxStep*g {
		return s, false
	}
	return step{from: len(x) / g, to: len(y) / g, fromChar: x[0], char: y[0]}, true
}

func uniform(s string) bool { return strings.Count(s, s[:1]) == len(s) }

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// steps are those that indentation is made of.
var steps = []string{"\t", "  ", "   ", "    ", "        "}

// commonStep is the most common increase of indentation from a line to the next: a tab, or 2, 3, 4 or 8 spaces. The count is
// that of each, and of all together as "". The first lines of the texts, which have lost their indentation, are left out.
func commonStep(cut int, texts ...*source) (best string, count map[string]int) {
	count = map[string]int{}
	for _, s := range texts {
		s.countSteps(count, cut)
	}
	total := 0
	for _, step := range steps {
		total += count[step]
		if count[step] > count[best] || best == "" && count[step] > 0 {
			best = step
		}
	}
	count[""] = total
	return best, count
}

func (s *source) countSteps(count map[string]int, from int) {
	last, first := "", true
	for i := from; i < len(s.lines); i++ {
		b := s.text(i)
		if isBlankLine(b) {
			continue
		}
		now := leading(b)
		if step, ok := strings.CutPrefix(now, last); ok && !first && step != "" {
			count[step]++
		}
		last, first = now, false
	}
}

// convert turns a part of the model's indentation into one of the file's. What is no whole step is taken for alignment, and
// kept where the file has blanks.
func (s step) convert(part string) (string, bool) {
	switch {
	case part == "" || s.from == 0:
		return part, true
	case !uniform(part):
		return "", false
	case part[0] != s.fromChar:
		return part, part[0] == s.char && s.char == ' ' && !s.unsure
	case s.from == s.to && s.fromChar == s.char:
		return part, !s.mixed
	case s.unsure:
		return "", false
	}
	n := len(part) / s.from * s.to
	rest := strings.Repeat(" ", len(part)%s.from)
	switch {
	case rest == "":
		return strings.Repeat(string(s.char), n), true
	case s.char == ' ' && part[0] == ' ':
		return part, true
	}
	return "", false
}
