package corpus

import "slices"

// A file with two blocks that are nearly the same, as copied code is.

// sibling gives the lines of a window with some names changed throughout, and which lines differ.
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

// twins opens a draft on a window whose twin the file has too, before or behind it.
func (m *maker) twins(lo, hi, names int) (d *draft, differ []int, ok bool) {
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

// rightTwin means one of the two, and says so on two lines at least.
func (m *maker) rightTwin() (Case, bool) {
	d, differ, ok := m.twins(7, 20, 1+m.IntN(3))
	if !ok || len(differ) < 2 || !d.plan(false) {
		return Case{}, false
	}
	alike := func(c *cell) bool { return c.still() && !slices.Contains(differ, c.at-d.from) }
	noises := []func() bool{d.tabs, d.shift, d.spaced, d.returns, func() bool { return d.spell(1, alike, true) }}
	if !one(m.Rand, noises)() {
		return Case{}, false
	}
	d.local = false // the twin is a rival on purpose
	return d.finish()
}

// eitherTwin has other names than both where they differ, or leaves those lines out.
func (m *maker) eitherTwin() (Case, bool) {
	d, differ, ok := m.twins(7, 20, 1)
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
