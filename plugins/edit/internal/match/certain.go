package match

// known refuses a hunk next to a line of the file that says something and that old_string does not have.
func (p *projection) known(h hunk) *Refusal {
	lo, hi := 0, len(p.place.cells)
	if h.a > 0 {
		lo = p.cellOf[h.a-1] + 1
	}
	if h.b < len(p.old.lines) {
		hi = p.cellOf[h.b]
	}
	for _, c := range p.place.cells[min(lo, hi):hi] {
		if c.o0 == c.o1 && p.t.weighty(c.f0) {
			return p.conflict(c, "next to what changes the file has a line that old_string does not have")
		}
		if c.kind == altered && c.o0 >= h.a && c.o1 <= h.b {
			return p.conflict(c, "a line that changes is another one in the file")
		}
	}
	for _, u := range p.units(h) {
		if p.contested(u) {
			return p.conflict(u, "old_string has the line that changes more often than the file has it there")
		}
	}
	if h.na == h.nb {
		return nil
	}
	if refusal := p.inOrder(h); refusal != nil {
		return refusal
	}
	return p.certain(h)
}

// contested reports whether a line of old_string next to a unit is not in the file and could as well be the one that the
// unit's line of the file is: which of the two changes cannot be told then.
func (p *projection) contested(u cell) bool {
	if !u.single() {
		return false
	}
	file, at := squeeze(p.t.text(u.f0)), p.cellOf[u.o0]
	for _, step := range []int{-1, +1} {
		for i := at + step; i >= 0 && i < len(p.place.cells); i += step {
			c := p.place.cells[i]
			if !c.oneSided() && p.speaks(c) {
				break
			}
			for o := c.o0; o < c.o1; o++ {
				old := squeeze(p.old.text(o))
				if c.f0 == c.f1 && old != "" && (old == file || p.t.isMisspelt(old, file)) {
					return true
				}
			}
		}
	}
	return false
}

// nearby is how many lines around a place, and around a change, are looked at for lines in another order.
const nearby = 4

// inOrder refuses new lines next to one of old_string that the file does have there, but in another place.
func (p *projection) inOrder(h hunk) *Refusal {
	if h.a == h.b && h.a > 0 && h.a == len(p.old.lines) || h.b == 0 { // at an end, whose line must be certain
		if refusal := p.sameNote(p.place.cells[p.cellOf[max(0, h.a-1)]]); refusal != nil {
			return refusal
		}
	}
	for o := max(0, h.a-nearby); o < min(len(p.old.lines), h.b+nearby); o++ {
		c := p.place.cells[p.cellOf[o]]
		if c.f0 == c.f1 && p.elsewhere(squeeze(p.old.text(o))) {
			return p.conflict(c, "the lines are in another order there: "+quoteShort(squeeze(p.old.text(o)))+" is not where old_string has it")
		}
	}
	return nil
}

// elsewhere says that a line of the place, or near it, which old_string does not quote says the same.
func (p *projection) elsewhere(line string) bool {
	from, to := p.t.span(p.place.Range)
	for f := max(0, from-nearby); line != "" && f < min(len(p.t.lines), to+nearby); f++ {
		if squeeze(p.t.text(f)) == line && !p.quoted(f) {
			return true
		}
	}
	return false
}

// quoted says that a line of old_string stands for line f of the file.
func (p *projection) quoted(f int) bool {
	for _, c := range p.place.cells {
		if f >= c.f0 && f < c.f1 && c.o0 < c.o1 {
			return true
		}
	}
	return false
}

// certain refuses new lines when it cannot be told where exactly they go: next to comments that only the file has, or to
// lines that only old_string has.
func (p *projection) certain(h hunk) *Refusal {
	cells := p.place.cells
	lo := len(cells)
	if h.a < len(p.old.lines) {
		lo = p.cellOf[h.a]
	}
	hi := lo
	for lo > 0 && cells[lo-1].oneSided() {
		lo--
	}
	for hi < len(cells) && cells[hi].oneSided() {
		hi++
	}
	theirs, ours := p.leftOver(cells[lo:hi])
	if ours == nil {
		lo, hi = p.beyondBlanks(lo, hi)
		_, ours = p.leftOver(cells[lo:hi])
	}
	switch {
	case theirs != nil && (h.a == h.b || ours != nil):
		return p.conflict(*theirs, "where new lines go the file has a comment that old_string does not have")
	case ours != nil && (lo == 0 || hi == len(cells)):
		return p.conflict(*ours, "where new lines go old_string has a line that is not in the file")
	}
	return nil
}

// beyondBlanks widens a range of cells over blank lines, and over one-sided cells behind them.
func (p *projection) beyondBlanks(lo, hi int) (from, to int) {
	cells := p.place.cells
	passable := func(c cell) bool { return c.oneSided() || !p.speaks(c) }
	for lo > 0 && passable(cells[lo-1]) {
		lo--
	}
	for hi < len(cells) && passable(cells[hi]) {
		hi++
	}
	return lo, hi
}

// leftOver gives a cell whose lines only the file has, and one whose lines only old_string has, blank lines aside.
func (p *projection) leftOver(cells []cell) (theirs, ours *cell) {
	for i, c := range cells {
		switch {
		case c.f0 == c.f1 && p.speaks(c):
			ours = &cells[i]
		case c.o0 == c.o1 && !isBlankLine(p.t.text(c.f0)):
			theirs = &cells[i]
		}
	}
	return theirs, ours
}

// weighty says whether line i of the file is more than a blank line, a bracket or a comment.
func (t *Text) weighty(i int) bool { return alnums(t.text(i)) >= 1 && !t.onlyNotes(i) }
