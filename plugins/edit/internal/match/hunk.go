package match

import "slices"

// hunk makes the edits for one hunk.
func (p *projection) hunk(h hunk) *Refusal {
	if refusal := p.known(h); refusal != nil {
		return refusal
	}
	p.near = h.a
	units := p.units(h)
	if len(units) == 1 && h.na < h.nb && !units[0].single() && units[0].f1 > units[0].f0 {
		return p.rewrapped(units[0], h)
	}
	at, anchor := h.na, p.before(h.a)
	from := 0
	for _, pair := range append(p.pairs(units, h), [2]int{len(units), h.nb}) {
		refusal := p.between(units[from:pair[0]], at, pair[1], &anchor)
		if refusal == nil && pair[0] < len(units) {
			refusal = p.change(units[pair[0]], pair[1])
			anchor = units[pair[0]].f1 - 1
		}
		if refusal != nil {
			return refusal
		}
		from, at = pair[0]+1, pair[1]+1
	}
	return nil
}

// units are the cells of the old lines of a hunk.
func (p *projection) units(h hunk) (out []cell) {
	for o := h.a; o < h.b; {
		c := p.place.cells[p.cellOf[o]]
		out = append(out, c)
		o = c.o1
	}
	return out
}

// before is the last line of the file that a line of old_string before line o stands for, or -1.
func (p *projection) before(o int) int {
	for o--; o >= 0; o-- {
		if c := p.place.cells[p.cellOf[o]]; c.f1 > c.f0 {
			return c.f1 - 1
		}
	}
	return -1
}

// maxPairs bounds the lines of one hunk that are compared with each other.
const maxPairs = 2500

// pairs finds which old lines became which new ones: index of a unit and of a new line, both increasing.
func (p *projection) pairs(units []cell, h hunk) (out [][2]int) {
	n, m := len(units), h.nb-h.na
	if n == 0 || m == 0 || n*m > maxPairs {
		return nil
	}
	like := make([]float64, n*m)
	gain := make([]float64, (n+1)*(m+1))
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			like[i*m+j] = p.resemblance(units[i], h.na+j)
			gain[i*(m+1)+j] = max(gain[(i+1)*(m+1)+j], gain[i*(m+1)+j+1], gain[(i+1)*(m+1)+j+1]+like[i*m+j])
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		l := like[i*m+j]
		switch g := gain[i*(m+1)+j]; {
		case l > 0 && g == gain[(i+1)*(m+1)+j+1]+l:
			out = append(out, [2]int{i, h.na + j})
			i, j = i+1, j+1
		case g == gain[(i+1)*(m+1)+j]:
			i++
		default:
			j++
		}
	}
	return out
}

// resemblance is how like an old line a new one is; 0 is for lines that have nothing to do with each other.
func (p *projection) resemblance(u cell, j int) float64 {
	if u.o1-u.o0 != 1 || u.f1-u.f0 > 1 {
		return 0
	}
	a, b := squeeze(p.old.text(u.o0)), squeeze(p.new.text(j))
	switch {
	case a == "" && b == "":
		return 0.1
	case a == "" || b == "":
		return 0
	}
	if s := similarity(a, b); s >= 0.5 {
		return s
	}
	return 0
}

// between handles units and new lines that have no counterpart: the first take each other's place, the others go or are
// put in after the anchor, which is the last line of the file dealt with.
func (p *projection) between(units []cell, from, to int, anchor *int) *Refusal {
	for i, u := range units {
		switch {
		case u.f0 == u.f1:
			if p.speaks(u) && (from < to || p.outermost(u)) {
				return p.conflict(u, "a line that changes is not in the file")
			}
		case from < to && u.single() && !isBlankLine(p.old.text(u.o0)):
			if refusal := p.replace(u, from); refusal != nil {
				return refusal
			}
			from++
		default:
			if refusal := p.remove(u, i > 0, units); refusal != nil {
				return refusal
			}
		}
		if u.f1 > u.f0 {
			*anchor = u.f1 - 1
		}
	}
	return p.insert(from, to, *anchor)
}

// speaks says whether the old lines of a unit are more than blank.
func (p *projection) speaks(u cell) bool {
	for o := u.o0; o < u.o1; o++ {
		if !isBlankLine(p.old.text(o)) {
			return true
		}
	}
	return false
}

// outermost says that old_string has no line before a unit, or none after it, that the file has as well.
func (p *projection) outermost(u cell) bool {
	shared := func(c cell) bool { return !c.oneSided() }
	i := p.cellOf[u.o0]
	return !slices.ContainsFunc(p.place.cells[:i], shared) || !slices.ContainsFunc(p.place.cells[i:], shared)
}

// remove deletes the lines of a unit, and blank lines between it and the unit before that goes as well.
func (p *projection) remove(u cell, inner bool, units []cell) *Refusal {
	if refusal := p.sameNote(u); refusal != nil {
		return refusal
	}
	if p.moved(u) {
		return p.conflict(u, "a line that new_string has in another place has a comment in the file that old_string does not have")
	}
	from := u.f0
	if inner {
		for from > units[0].f0 && p.unquoted(from-1) {
			from--
			if !isBlankLine(p.t.text(from)) {
				return p.conflict(u, "among the lines that go the file has a comment that old_string does not have")
			}
		}
	}
	p.edit(p.t.lines[from].start, p.t.lines[u.f1-1].next, nil)
	return nil
}

// moved says that a line which goes has a comment that old_string did not quote, and comes again elsewhere.
func (p *projection) moved(u cell) bool {
	if !u.single() || p.t.onlyNotes(u.f0) || p.t.tail(u.f0) == p.t.lines[u.f0].end || p.old.tail(u.o0) < p.old.lines[u.o0].end {
		return false
	}
	if p.more == nil {
		p.more = map[string]int{}
		for i := range p.new.lines {
			p.more[squeeze(p.new.text(i))]++
		}
		for i := range p.old.lines {
			p.more[squeeze(p.old.text(i))]--
		}
	}
	return p.more[squeeze(p.old.text(u.o0))] >= 0
}

// unquoted says that no line of old_string stands for line f of the file.
func (p *projection) unquoted(f int) bool {
	for _, c := range p.place.cells {
		if f >= c.f0 && f < c.f1 {
			return c.o0 == c.o1
		}
	}
	return false
}

// sameNote refuses to touch a comment that is another one in the file.
func (p *projection) sameNote(u cell) *Refusal {
	if u.kind == filler && u.single() && !p.t.isMisspelt(squeeze(p.old.text(u.o0)), squeeze(p.t.text(u.f0))) {
		return p.conflict(u, "a comment that changes is another one in the file")
	}
	return nil
}
