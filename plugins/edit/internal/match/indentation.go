package match

import (
	"cmp"
	"slices"
	"strings"
)

// An indentation maps indentations of the model to those of the file, as the lines that are in both show it.
type indentation struct {
	known    map[string]string
	identity bool
	layout   bool // indentation carries meaning
	// contradictory means that one indentation of the model stands for several in the file.
	contradictory bool
	shown         bool     // a line of the match is indented
	flat          bool     // no line of the file is
	samples       []sample // in the order of lines
	lost          bool     // the first line has lost its indentation, and says nothing of the others
	inFile        bool     // all of new_string is indented as in the file already, and old_string is not
	unit
}

// A sample is the indentation of one line, in both texts.
type sample struct{ old, file string }

// A unit maps one step of indentation: from bytes of fromChar in the model's text, to bytes of char in the file.
type unit struct {
	from, to       int
	fromChar, char byte
	unsure         bool // the match does not show it, or shows several, and the file has several
	mixed          bool // the file has steps of tabs and of spaces
}

// indentation learns from the blocks of an alignment. The first line of old_string counts only if it does not
// contradict the others, as models tend to lose its indentation.
func (t *Text) indentation(old, fresh *source, a *alignment) *indentation {
	m := &indentation{known: map[string]string{}, identity: true, layout: t.syntax != nil && t.syntax.layout}
	var first *sample
	for _, b := range a.blocks {
		if !b.single() || b.relation == altered || isBlank(old.text(b.o0)) || b.f0 == t.lineAt(a.Start) && a.headCut {
			continue
		}
		s := sample{leading(old.text(b.o0)), leading(t.text(b.f0))}
		if len(m.samples) == 0 && first == nil && s.old == "" && s.file != "" {
			first = &s
			continue
		}
		m.learn(s)
	}
	cut := 0
	if a.headCut || first != nil {
		cut = 1
	}
	m.findUnit(t, old, fresh, cut)
	if m.lost = first != nil && !m.agrees(*first); first != nil && !m.lost {
		m.learn(*first)
		m.findUnit(t, old, fresh, cut)
	}
	m.inFile = t.indentedAsFile(old, fresh, a)
	return m
}

// indentedAsFile reports whether new_string is indented as the file is, where old_string is not. No line may be less
// deep than those of the place before one that stays: a block put around lines, or taken away, may make some as deep by
// chance.
func (t *Text) indentedAsFile(old, fresh *source, a *alignment) bool {
	file, was := map[string][]string{}, map[string][]string{}
	for _, b := range a.blocks {
		if key := old.key(min(b.o0, len(old.lines)-1)); b.single() && key != "" {
			file[key], was[key] = append(file[key], leading(t.text(b.f0))), append(was[key], leading(old.text(b.o0)))
		}
	}
	from, to := t.span(a.Range)
	margin, is := commonIndent(t.source, from, to), commonIndent(fresh, 0, len(fresh.lines))
	moved, stayed, other := 0, 0, false
	count := fresh.counts(0, len(fresh.lines))
	for j := range fresh.lines {
		key, own := fresh.key(j), leading(fresh.text(j))
		if j == 0 && a.headCut {
			continue
		}
		if moved+stayed == 0 && key != "" && !strings.HasPrefix(own, margin) && !t.staysLeft(string(fresh.text(j))) {
			return false
		}
		if len(file[key]) != 1 || count[key] != 1 && alnums([]byte(key)) == 0 { // which of the brackets is not known
			continue
		}
		switch asOld, asFile := own == was[key][0], own == file[key][0]; {
		case asOld && !asFile:
			stayed++
		case asFile && !asOld:
			moved++
		default:
			other = other || !asFile
		}
	}
	whole := is == margin && commonIndent(old, 0, len(old.lines)) != margin // the left edge is that of the file
	return stayed == 0 && moved > 0 && !other || whole && (stayed == 0 || moved > 0)
}

// commonIndent is the indentation that all lines of a part of a text have, but for blank ones.
func commonIndent(s *source, from, to int) (common string) {
	first := true
	for i := from; i < to; i++ {
		switch b := s.text(i); {
		case isBlank(b):
		case first:
			common, first = leading(b), false
		default:
			for !strings.HasPrefix(leading(b), common) {
				common = common[:len(common)-1]
			}
		}
	}
	return common
}

func (m *indentation) learn(s sample) {
	m.samples = append(m.samples, s)
	if have, ok := m.known[s.old]; ok && have != s.file {
		m.contradictory, m.identity = true, false
		return
	}
	m.known[s.old] = s.file
	m.shown = m.shown || s.old != "" || s.file != ""
	m.identity = m.identity && s.old == s.file
}

// agrees reports whether the first line, which has lost its indentation, can be taken with the others.
func (m *indentation) agrees(first sample) bool {
	if len(m.samples) > 0 && m.identity && m.shown {
		return false // the others are as in the file
	}
	for _, s := range m.samples {
		step, ok := m.convert(s.old)
		if s.file != first.file+step && (!ok || s.file != first.file+s.old) {
			return false
		}
	}
	return true
}

// of returns the file's indentation for one of the model's, near a line of old_string. It is false when the lines of
// the match are not conclusive, and for tabs and blanks in one that no line of the file has there.
func (m *indentation) of(ind string, near int) (file string, ok bool) {
	if m.inFile {
		return ind, true
	}
	if m.lost && ind == "" && near <= 1 {
		return "", false // it may be the one of the first line
	}
	known, isKnown := m.known[ind]
	switch {
	case m.identity && (ind == "" || m.shown || m.flat):
		return ind, true
	case m.identity && uniform(ind) && ind[0] == m.char: // the model has seen steps that the match does not show
		return ind, !m.mixed && len(ind)%m.to == 0
	case m.contradictory: // the match shows several, of this one or of others
		file, ok = known, isKnown && !slices.ContainsFunc(m.samples, func(s sample) bool {
			return s.old == ind && s.file != known
		})
	case isKnown:
		file, ok = known, true
	default:
		file, ok = m.derive(ind)
	}
	if ok && file != ind && strings.Contains(file, "\t") && strings.Contains(file, " ") {
		ok = slices.ContainsFunc(m.samples, func(s sample) bool { return s.file == file })
	}
	return file, ok
}

// derive computes an indentation that no line of the match has. It is false where two of the model's stand for the
// same in the file.
func (m *indentation) derive(ind string) (string, bool) {
	if !m.ordered() {
		return "", false
	}
	base, found := "", false
	for k := range m.known {
		if strings.HasPrefix(ind, k) && (!found || len(k) > len(base)) {
			base, found = k, true
		}
	}
	if found {
		part := ind[len(base):]
		step, ok := m.convert(part)
		aligned := m.from > 0 && len(part)%m.from != 0 && len(part) == len(step) && m.from != m.to
		return m.known[base] + step, ok && !(aligned && m.layout)
	}
	for k := range m.known {
		if strings.HasPrefix(k, ind) && (!found || len(k) < len(base)) {
			base, found = k, true
		}
	}
	if !found {
		return "", false
	}
	step, ok := m.convert(base[len(ind):])
	f, fits := strings.CutSuffix(m.known[base], step)
	if !fits && !m.layout && strings.HasSuffix(step, f) {
		return "", ok // farther out than the file goes
	}
	return f, ok && fits
}

// ordered reports whether the mapping keeps the order of indentations: deeper stays deeper, equal stays equal.
func (m *indentation) ordered() bool {
	if m.contradictory {
		return false
	}
	for a, x := range m.known {
		for b, y := range m.known {
			if a != b && strings.HasPrefix(a, b) && (x == y || !strings.HasPrefix(x, y)) {
				return false
			}
		}
	}
	return true
}

// findUnit finds how long a step of indentation is in both texts: from two lines of the match, or else from the most
// common steps. The first cut lines of old_string and new_string, which have lost their indentation, do not count.
func (m *indentation) findUnit(t *Text, old, fresh *source, cut int) {
	m.unit = unit{}
	var distinct []sample
	seen := map[sample]bool{}
	for _, s := range m.samples {
		if !seen[s] {
			seen[s], distinct = true, append(distinct, s)
		}
	}
	for i, a := range distinct {
		for _, b := range distinct[:i] {
			for _, pair := range [2][2]sample{{a, b}, {b, a}} {
				u, ok := measure(pair[0], pair[1])
				switch {
				case !ok:
				case m.from == 0 || m.aligns(): // alignment does not count beside others
					m.unit = u
				case u != m.unit && !u.aligns():
					m.unsure = true
					return
				}
			}
		}
	}
	if m.from > 0 {
		return
	}
	from, _ := commonStep(cut, old, fresh)
	to, share := t.step()
	m.flat = to == ""
	from, to = cmp.Or(from, to), cmp.Or(to, from)
	if to == "" {
		return
	}
	all := share[""]
	m.unit = unit{from: len(from), to: len(to), fromChar: from[0], char: to[0],
		unsure: !m.flat && share[to]*10 < all*9, mixed: min(share["\t"], all-share["\t"])*10 > all}
}

// aligns reports that a unit is alignment: as many blanks in both texts.
func (u unit) aligns() bool { return u.from == u.to && u.fromChar == ' ' && u.char == ' ' }

// maxStep is how much longer than another a step may be: a tab stands for 8 spaces at most.
const maxStep = 8

// measure takes the step from b to a, if it is one in both texts.
func measure(a, b sample) (u unit, ok bool) {
	x, ok1 := strings.CutPrefix(a.old, b.old)
	y, ok2 := strings.CutPrefix(a.file, b.file)
	if !ok1 || !ok2 || x == "" || y == "" || !uniform(x) || !uniform(y) {
		return u, false
	}
	g, rest := len(x), len(y) // the greatest common divisor
	for rest != 0 {
		g, rest = rest, g%rest
	}
	return unit{from: len(x) / g, to: len(y) / g, fromChar: x[0], char: y[0]}, max(len(x), len(y)) <= maxStep*g
}

func uniform(s string) bool { return strings.Count(s, s[:1]) == len(s) }

// commonStep is the most common increase of indentation from a line to the next: a tab, or 2, 3, 4 or 8 spaces. The
// count is that of each, and of all together as "".
func commonStep(cut int, texts ...*source) (best string, count map[string]int) {
	count = map[string]int{}
	for _, s := range texts {
		last, first := "", true
		for i := cut; i < len(s.lines); i++ {
			b := s.text(i)
			if isBlank(b) {
				continue
			}
			now := leading(b)
			if step, ok := strings.CutPrefix(now, last); ok && !first && step != "" {
				count[step]++
			}
			last, first = now, false
		}
	}
	total := 0
	for _, step := range []string{"\t", "  ", "   ", "    ", "        "} {
		total += count[step]
		if count[step] > count[best] || best == "" && count[step] > 0 {
			best = step
		}
	}
	count[""] = total
	return best, count
}

// convert turns a part of the model's indentation into one of the file's. What is no whole step is taken for
// alignment, and kept where the file has blanks.
func (u unit) convert(part string) (string, bool) {
	switch {
	case part == "" || u.from == 0:
		return part, true
	case !uniform(part):
		return "", false
	case part[0] != u.fromChar:
		return part, part[0] == u.char && u.char == ' ' && !u.unsure
	case u.from == u.to && u.fromChar == u.char:
		return part, !u.mixed
	case u.unsure:
		return "", false
	case len(part)%u.from == 0:
		n := len(part) / u.from * u.to
		return strings.Repeat(string(u.char), n), n > 1 || u.char == '\t' // no step is a single blank
	case u.char == ' ' && part[0] == ' ':
		return part, true
	}
	return "", false
}
