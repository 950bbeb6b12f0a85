package match

import (
	"slices"
	"strings"
)

// An indents tells what indentation of the model's is which one in the file, as the lines that are in both show it.
type indents struct {
	known    map[string]string
	identity bool
	layout   bool // indentation carries meaning
	// twofold says that one indentation of the model's stands for several in the file.
	twofold bool
	shown   bool     // a line of the match is indented
	plain   bool     // no line of the file is
	samples []sample // in the order of lines
	lost    bool     // the first line has lost its indentation, and says nothing of the others
	step
}

// A sample is the indentation of one line, in both texts.
type sample struct {
	line      int // of old_string
	old, file string
}

// indents learns from the cells of a place. The first line of old_string counts only if it does not speak against the
// others, as models tend to lose its indentation.
func (t *Text) indents(old, fresh *source, p *place) *indents {
	m := &indents{known: map[string]string{}, identity: true, layout: t.syntax != nil && t.syntax.layout}
	var first *sample
	for _, c := range p.cells {
		if !c.single() || c.kind == altered || isBlankLine(old.text(c.o0)) || c.f0 == t.lineAt(p.Start) && p.headCut {
			continue
		}
		s := sample{c.o0, leading(old.text(c.o0)), leading(t.text(c.f0))}
		if len(m.samples) == 0 && first == nil && s.old == "" && s.file != "" {
			first = &s
			continue
		}
		m.learn(s)
	}
	cut := 0
	if p.headCut || first != nil {
		cut = 1
	}
	m.units(t, old, fresh, cut)
	m.lost = first != nil && !m.believes(*first)
	if first != nil && !m.lost {
		m.learn(*first)
		m.units(t, old, fresh, cut)
	}
	return m
}

// believes says whether the first line, which has lost its indentation, can be taken with the others.
func (m *indents) believes(first sample) bool {
	if len(m.samples) == 0 {
		return true
	}
	if m.identity && m.shown {
		return false // the others are as in the file: it has lost its indentation
	}
	for _, s := range m.samples {
		step, ok := m.convert(s.old)
		if s.file != first.file+step && (!ok || s.file != first.file+s.old) {
			return false
		}
	}
	return true
}

func (m *indents) learn(s sample) {
	m.samples = append(m.samples, s)
	if have, ok := m.known[s.old]; ok && have != s.file {
		m.twofold, m.identity = true, false
		return
	}
	m.known[s.old] = s.file
	m.shown = m.shown || s.old != "" || s.file != ""
	m.identity = m.identity && s.old == s.file
}

func leading(b []byte) string { return string(b[:indentLen(b)]) }

// of gives the file's indentation for one of the model's, near a line of old_string. It is false when the lines of the
// match do not tell, and for tabs and blanks in one that no line of the file has there.
func (m *indents) of(ind string, near int) (string, bool) {
	if m.lost && ind == "" && near <= 1 {
		return "", false // it may be the one of the first line
	}
	file, ok := m.tell(ind, near)
	if ok && file != ind && strings.Contains(file, "\t") && strings.Contains(file, " ") {
		ok = slices.ContainsFunc(m.samples, func(s sample) bool { return s.file == file })
	}
	return file, ok
}

func (m *indents) tell(ind string, near int) (string, bool) {
	if m.identity && (ind == "" || m.shown || m.plain) {
		return ind, true
	}
	if m.identity && uniform(ind) && ind[0] == m.char {
		return ind, !m.mixed && len(ind)%m.to == 0 // the model has seen steps that the match does not show
	}
	if m.twofold {
		return m.nearest(ind, near) // what the lines around have is all that is known
	}
	if f, ok := m.known[ind]; ok {
		return f, true
	}
	return m.derive(ind)
}

// nearest is the file's indentation for the lines with the same one in old_string that are closest, above and below. Where
// these disagree there is no telling.
func (m *indents) nearest(ind string, near int) (file string, ok bool) {
	above, below := "", ""
	hasAbove, hasBelow := false, false
	for _, s := range m.samples {
		switch {
		case s.old != ind:
		case s.line < near:
			above, hasAbove = s.file, true
		case !hasBelow:
			below, hasBelow = s.file, true
		}
	}
	if hasAbove && hasBelow {
		return above, above == below
	}
	return above + below, hasAbove || hasBelow
}

func abs(n int) int { return max(n, -n) }

// derive works out an indentation that no line of the match has.
func (m *indents) derive(ind string) (string, bool) {
	base, found := "", false
	for k := range m.known {
		if strings.HasPrefix(ind, k) && (!found || len(k) > len(base)) {
			base, found = k, true
		}
	}
	if found {
		step, ok := m.convert(ind[len(base):])
		return m.known[base] + step, ok
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

// ordered says that what is deeper in the model's text is deeper in the file, and what is equal, equal.
func (m *indents) ordered() bool {
	if m.twofold {
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
