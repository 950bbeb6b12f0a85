package editbench

import (
	"slices"
	"strings"
)

// Blocks that a file has more than once.

// repeat finds a block of one to four lines that is in several places of a file, indentation aside.
func (m *maker) repeat() (s *Source, places []int, count int) {
	s = m.source()
	first := m.IntN(len(s.lines))
	if letters(s.lines[first].text) < 3 {
		return s, nil, 0
	}
	want := 1 + m.IntN(4)
	for count = want; count > 0; count-- {
		if places = s.same(first, count); len(places) > 1 {
			return s, places, count
		}
	}
	return s, nil, 0
}

// same finds the places where a block stands, first to last, none overlapping.
func (s *Source) same(first, count int) []int {
	var out []int
	for i := 0; i+count <= len(s.lines) && first+count <= len(s.lines); i++ {
		if s.equal(i, first, count) {
			out = append(out, i)
			i += count - 1
		}
	}
	return out
}

// equal compares two blocks, the second's indentation standing for the first's.
func (s *Source) equal(a, b, count int) bool {
	here, there := indentOf(s.lines[a].text), indentOf(s.lines[b].text)
	for i := range count {
		x, okX := strings.CutPrefix(s.lines[a+i].text, here)
		y, okY := strings.CutPrefix(s.lines[b+i].text, there)
		if x != y || okX != okY || !okX {
			return false
		}
	}
	return true
}

// repeated opens a draft with a plan on the first of several places, all the same in bytes.
func (m *maker) repeated() (*draft, []int, bool) {
	s, places, count := m.repeat()
	if len(places) < 2 {
		return nil, nil, false
	}
	d := window(m.Rand, s, s.lines, places[0], count)
	d.tail = d.tail && count > 1
	return d, places, !blank(d.text(count-1)) && d.plan(false)
}

func (s *Source) level(places []int) bool {
	return !slices.ContainsFunc(places, func(at int) bool {
		return indentOf(s.lines[at].text) != indentOf(s.lines[places[0]].text)
	})
}

// repeatedExactly fits several places to the byte.
func (m *maker) repeatedExactly() (Case, bool) {
	d, _, ok := m.repeated()
	if !ok {
		return Case{}, false
	}
	d.note("in several places")
	old, fresh := d.strings()
	c := Case{Name: d.src.Name, Noise: "in several places", Data: d.src.Data, Old: old, New: fresh}
	return c, strings.Count(string(c.Data), old) > 1 && old != fresh
}

// repeatedNearly fits several places alike, and none to the byte.
func (m *maker) repeatedNearly() (Case, bool) {
	d, places, ok := m.repeated()
	if !ok || !d.src.level(places) {
		return Case{}, false
	}
	d.note("in several places")
	noises := []func() bool{d.tabs, d.shift, d.padded, d.collapsed}
	if !one(m.Rand, noises)() {
		return Case{}, false
	}
	old, fresh := d.strings()
	c := Case{Name: d.src.Name, Noise: strings.Join(d.notes, ", "), Data: d.src.Data, Old: old, New: fresh}
	return c, strings.Count(string(c.Data), old) != 1 && old != fresh && letters(old) >= 8
}

// padded has blanks at the ends of the model's lines.
func (d *draft) padded() bool {
	d.note("blanks at line ends")
	done := false
	for i := range d.cells {
		c := &d.cells[i]
		if !c.hasOld() || blank(c.old) {
			continue
		}
		c.old += "  "
		if done = true; c.kind == kept {
			c.new = c.old
		}
	}
	return done
}

// everywhere replaces all places: of a name, of a block to the byte, or of a block but for white space.
func (m *maker) everywhere() (Case, bool) {
	switch m.IntN(4) {
	case 0:
		return m.renamed()
	case 1:
		return m.replaced(func(d *draft) bool { return d.count > 1 && d.returns() && len(d.wrap) == 0 })
	case 2:
		return m.replaced(func(d *draft) bool { return one(d.Rand, []func() bool{d.tabs, d.padded, d.shift})() })
	}
	return m.replaced(func(*draft) bool { return true })
}

// renamed replaces a name everywhere, wherever it stands.
func (m *maker) renamed() (Case, bool) {
	s := m.source()
	d := window(m.Rand, s, s.lines, m.IntN(len(s.lines)), 1)
	name := d.word(d.text(0))
	if n := strings.Count(string(s.Data), name); len(name) < 4 || n < 2 || n > 60 {
		return Case{}, false
	}
	fresh := d.freshName(name)
	want := strings.ReplaceAll(string(s.Data), name, fresh)
	return Case{Name: s.Name, Noise: "a name", Data: s.Data, Old: name, New: fresh, All: true, Want: []byte(want)}, true
}

// replaced makes the plan of one place everywhere, in each place's own indentation.
func (m *maker) replaced(noise func(d *draft) bool) (Case, bool) {
	d, places, ok := m.repeated()
	if !ok || len(places) > 40 || letters(joinLines(d.lines[d.from:d.from+d.count])) < 8 {
		return Case{}, false
	}
	block := strings.Join(d.src.keys[d.from:d.from+d.count], "")
	if strings.Count(strings.Join(d.src.keys, ""), block) != len(places) || !noise(d) || !d.oneReading() {
		return Case{}, false
	}
	old, fresh := d.strings()
	want, ok := d.atAll(places)
	data := joinLines(d.lines)
	c := Case{Name: d.src.Name, Noise: strings.Join(d.notes, ", "), Data: []byte(data), Old: old, New: fresh, All: true,
		Want: []byte(want)}
	exact := strings.Count(endings(data), endings(old))
	moved := slices.ContainsFunc(d.notes, indents)
	mixed := strings.Count(data, old) != 0 && strings.Count(data, old) != len(places)
	fair := exact == 0 && moved || !moved && d.src.level(places) && !mixed && (exact == len(places) || len(d.notes) > 0)
	return c, ok && fair && old != fresh && want != data
}

// indents reports whether a noise is one that makes all indentations alike.
func indents(note string) bool {
	return note == "block shifted" || strings.HasSuffix(note, "for blanks") || strings.HasSuffix(note, "for tabs")
}

// atAll is the file with the plan carried out at each place.
func (d *draft) atAll(places []int) (string, bool) {
	var out []line
	at, base := 0, indentOf(d.lines[d.from].text)
	for _, place := range places {
		if !d.endsAlike(place) {
			return "", false
		}
		out = append(out, d.lines[at:place]...)
		indent := indentOf(d.lines[place].text)
		for _, o := range d.outcomes() {
			rest, ok := strings.CutPrefix(o.line.text, base)
			if !ok {
				return "", false
			}
			out = append(out, line{indent + rest, o.line.eol})
		}
		at = place + d.count
	}
	return joinLines(append(out, d.lines[at:]...)), true
}

// endsAlike says that the lines of a place have the endings that those of the window have.
func (d *draft) endsAlike(place int) bool {
	for i := range d.count {
		if d.lines[place+i].eol != d.lines[d.from+i].eol {
			return false
		}
	}
	return true
}

// A file with two blocks that are nearly the same, as copied code is.

// sibling returns the lines of a window with some names changed throughout, and which lines differ.
func (d *draft) sibling(count int) (lines []line, differ []int) {
	lines = slices.Clone(d.lines[d.from : d.from+d.count])
	for range count {
		name := d.word(d.text(d.IntN(d.count)))
		if name == "" {
			continue
		}
		fresh := d.freshName(name)
		for i := range lines {
			lines[i].text = swapWord(lines[i].text, name, fresh)
		}
	}
	for i := range lines {
		if lines[i].text != d.text(i) {
			differ = append(differ, i)
		}
	}
	return lines, differ
}

// inCode leaves of the lines that differ those that do so in more than a comment, which may just be in other words.
func (d *draft) inCode(lines []line, differ []int) []int {
	if l := d.src.lang; l.comment == "" || l.prose {
		return differ
	}
	if !d.program() {
		return nil
	}
	return slices.DeleteFunc(differ, func(i int) bool {
		was, _, _ := d.src.lang.split(d.text(i))
		is, _, _ := d.src.lang.split(lines[i].text)
		return was == is
	})
}

// duplicates opens a draft on a window of which the file has a copy, before or after it.
func (m *maker) duplicates(lo, hi, names int) (d *draft, differ []int, ok bool) {
	d, ok = m.draw(m.source(), lo, hi)
	if !ok {
		return nil, nil, false
	}
	other, differ := d.sibling(names)
	at, from := d.from+d.count, d.from
	if m.yes(2) {
		at, from = d.from, d.from+d.count+1
		other = append(other, line{"", "\n"})
	} else {
		other = append([]line{{"", "\n"}}, other...)
	}
	d.lines = slices.Insert(slices.Clone(d.lines), at, other...)
	d.content = true
	d.look(from, d.count)
	return d, differ, len(differ) > 0
}

// rightDuplicate means one of the two copies, which at least two lines identify.
func (m *maker) rightDuplicate() (Case, bool) {
	d, differ, ok := m.duplicates(7, 20, 1+m.IntN(3))
	if !ok || len(differ) < 2 || !d.plan(false) {
		return Case{}, false
	}
	alike := func(c *cell) bool { return c.still() && !slices.Contains(differ, c.at-d.from) }
	noises := []func() bool{d.tabs, d.shift, d.spaced, d.returns, func() bool { return d.spell(1, alike, true) }}
	if !one(m.Rand, noises)() {
		return Case{}, false
	}
	d.local = false // the duplicate is a rival on purpose
	return d.finish()
}

// eitherDuplicate has other names than both where they differ, or leaves those lines out.
func (m *maker) eitherDuplicate() (Case, bool) {
	d, differ, ok := m.duplicates(7, 20, 1)
	if !ok || len(differ) > 3 {
		return Case{}, false
	}
	leave := len(differ) == 1 && m.yes(2)
	if !d.plan(true) {
		return Case{}, false
	}
	d.note("fits two blocks alike")
	for i := range d.cells {
		c := &d.cells[i]
		if c.kind != inserted && slices.Contains(differ, c.at-d.from) && !(leave && d.leaveOut(i) || d.third(c)) {
			return Case{}, false
		}
	}
	return d.refused(d.lines)
}

func (d *draft) leaveOut(i int) bool {
	d.cells[i].hidden = d.calm(i)
	return d.cells[i].hidden
}

// third gives a line that stays a third name for each of its names.
func (d *draft) third(c *cell) bool {
	if c.kind != kept {
		return false
	}
	c.old = names.ReplaceAllStringFunc(c.old, func(s string) string {
		if reserved[s] {
			return s
		}
		return "third_" + s
	})
	c.new = c.old
	return squash(c.old) != squash(d.lines[c.at].text)
}

// noSibling speaks of a block that is not in the file; one that is much like it is.
func (m *maker) noSibling() (Case, bool) {
	d, ok := m.draw(m.source(), 4, 20)
	if !ok {
		return Case{}, false
	}
	file := d.lines
	other, differ := d.sibling(2 + m.IntN(3))
	if differ = d.inCode(other, differ); len(differ) < max(3, d.count/3) || differ[0] != 0 {
		return Case{}, false
	}
	d.lines = slices.Concat(file[:d.from], other, file[d.from+d.count:])
	d.look(d.from, d.count)
	if !d.plan(false) {
		return Case{}, false
	}
	d.note("the block's sibling is not in the file")
	return d.refused(file)
}
