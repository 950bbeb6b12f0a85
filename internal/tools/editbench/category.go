package editbench

import "strings"

// Categories to edit that are more than a plan and a noise.

// hard are texts that a careless program takes for commands of its own.
var hard = []string{"$&", "$1", `\1`, "%s", "{0}", "${x}", `\n`}

// exact has no noise. Parts of lines, and characters that programs stumble over, are exact too.
func (d *draft) exact() bool {
	d.literal = true
	if d.yes(4) {
		return d.plan(true) && d.cut()
	}
	if !d.plan(false) {
		return false
	}
	for i := range d.cells {
		if c := &d.cells[i]; c.kind == inserted && d.yes(4) {
			c.want += " " + one(d.Rand, hard)
			c.new = c.want
		}
	}
	return true
}

// deletion takes all the lines out that old_string has, which is noisy.
func (d *draft) deletion() bool {
	for i := range d.cells {
		d.cells[i].kind = deleted
	}
	noises := []func(*draft) bool{(*draft).tabs, (*draft).shift, (*draft).spaced, (*draft).returns, (*draft).collapsed}
	if d.count >= 6 {
		noises = append(noises, (*draft).typos)
	}
	d.tail = true // without it, an equality may take the lines out and leave the last one's ending
	return one(d.Rand, noises)(d)
}

// spaced is blanks at the ends of the model's lines, in the middle of the text.
func (d *draft) spaced() bool {
	d.note("blanks at line ends")
	done := false
	for i := 1; i < len(d.cells)-1; i++ {
		c := &d.cells[i]
		if c.kind != kept && c.kind != deleted || blank(c.old) || d.yes(2) {
			continue
		}
		c.old += one(d.Rand, []string{" ", "\t", "   "})
		c.new, done = c.old, true
	}
	return done
}

// trimmed has blank lines around old_string, or lacks the blanks before its first line.
func (d *draft) trimmed() bool {
	first := &d.cells[0]
	if !d.yes(4) || first.kind != kept || indentOf(first.old) == "" {
		return d.outerBlanks()
	}
	d.literal = true
	d.note("first line without its indentation")
	first.old = strings.TrimLeft(first.old, " \t")
	first.new = first.old
	d.tail = false
	return d.outerBlanks() || d.count > 1
}

// evenMiddles reports whether what the edit writes into lines has no runs of blanks.
func (d *draft) evenMiddles() bool {
	for i := range d.cells {
		if mid := d.middle(&d.cells[i]); collapse("x"+mid+"x") != "x"+mid+"x" {
			return false
		}
	}
	return true
}

// partial begins and ends within lines.
func (d *draft) partial() bool {
	if d.count == 1 {
		return d.fragment()
	}
	noises := []func(*draft) bool{
		(*draft).tabs, (*draft).returns, (*draft).spaced,
		func(d *draft) bool { return d.evenMiddles() && d.collapsed() },
		func(d *draft) bool { d.note("curly quotes"); return d.swapped(curly) },
	}
	return d.plan(true) && d.cut() && one(d.Rand, noises)(d)
}

// cut takes off the beginning of the first line and the end of the last, at words.
func (d *draft) cut() bool {
	if d.count < 2 {
		return false
	}
	first, last := &d.cells[0], &d.cells[len(d.cells)-1]
	a, b := tokens.FindAllStringIndex(first.old, -1), tokens.FindAllStringIndex(last.old, -1)
	if first.kind != kept || last.kind != kept || len(a) < 2 || len(b) < 2 {
		return false
	}
	from, to := a[1+d.IntN(len(a)-1)][0], b[d.IntN(len(b)-1)][1]
	d.note("parts of lines")
	d.head, d.rest, d.tail = first.old[:from], last.old[to:], false
	first.old, last.old = first.old[from:], last.old[:to]
	first.new, last.new = first.old, last.old
	return true
}

// fragment is a part of one line that has runs of blanks, which the model writes as one.
func (d *draft) fragment() bool {
	text := d.text(0)
	t := tokens.FindAllStringIndex(text, -1)
	if len(t) < 3 {
		return false
	}
	a := d.IntN(len(t) - 2)
	b := a + 1 + d.IntN(len(t)-a-1)
	pick := t[a+d.IntN(b-a+1)]
	part, fresh := text[t[a][0]:t[b][1]], d.instead(text[pick[0]:pick[1]])
	d.note("part of a line, runs of blanks as one")
	d.head, d.rest, d.tail = text[:t[a][0]], text[t[b][1]:], false
	c := &d.cells[0]
	c.alter(text[:pick[0]] + fresh + text[pick[1]:])
	c.old = collapse(part)
	c.new = collapse(c.want[len(d.head) : len(c.want)-len(d.rest)])
	return c.old != part
}

// mixed is two or three kinds of systematic noise at once.
func (d *draft) mixed() bool {
	noises := []func(*draft) bool{
		(*draft).tabs, (*draft).shift, (*draft).spaced, (*draft).returns, (*draft).outerBlanks,
		func(d *draft) bool { return d.evenMiddles() && d.collapsed() },
		func(d *draft) bool { d.note("curly quotes"); return d.swapped(curly) },
		func(d *draft) bool { return d.count >= 6 && d.inner() && d.blankLines() },
	}
	want, done := 2+d.IntN(2), 0
	for _, i := range d.Perm(len(noises)) {
		notes := len(d.notes)
		if done < want && noises[i](d) {
			done++
		} else {
			d.notes = d.notes[:notes]
		}
	}
	return done >= 2
}

func (d *draft) inner() bool { return d.cells[0].still() && d.cells[len(d.cells)-1].still() }

// ending is at the end of a file, with or without a last line ending.
func (m *maker) ending() (Case, bool) {
	s := m.source()
	count := 2 + m.IntN(min(12, len(s.lines)-3))
	d := window(m.Rand, s, s.lines, len(s.lines)-count, count)
	mode := m.IntN(5)
	d.literal = true
	if mode < 3 {
		d.note("no last line ending")
		d.rewrite(func(lines []line) []line { lines[len(lines)-1].eol = ""; return lines })
	}
	d.tail = mode != 1
	ok := d.telling() && d.plan(false) && d.cells[len(d.cells)-1].kind != deleted
	switch {
	case !ok:
		return Case{}, false
	case mode == 2:
		ok = d.returns()
	case mode == 3:
		d.blankEnd(1 + d.IntN(2))
	case mode == 4:
		ok = d.tabs()
	}
	if !ok {
		return Case{}, false
	}
	return d.finish()
}

// blankEnd has blank lines that the file has not at the end of both strings, or of old_string only.
func (d *draft) blankEnd(count int) {
	d.note("blank lines at the end")
	both := d.yes(2)
	d.wrap = append(d.wrap, func(old, fresh string) (string, string) {
		if both {
			fresh += strings.Repeat("\n", count)
		}
		return old + strings.Repeat("\n", count), fresh
	})
}

// cjk takes files in Korean, Japanese or Chinese, or writes comments in them into others.
func (m *maker) cjk() (Case, bool) {
	s := m.source()
	if !m.yes(3) {
		s = one(m.Rand, m.foreign)
	}
	d, ok := m.draw(s, 2, 20)
	if !ok || !d.eastern() {
		return Case{}, false
	}
	return d.finish()
}

func (m *maker) yes(n int) bool { return m.IntN(n) == 0 }
