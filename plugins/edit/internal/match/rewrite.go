package match

import "bytes"

// rewrite puts new line j in the place of a line, with nothing of it left.
func (p *projection) rewrite(u cell, j int) *Refusal {
	body, fresh := p.body(u.f0), p.trim(p.new.text(j))
	ind, ok := p.indentation(u, p.old.text(u.o0), fresh, p.t.data[body.Start:body.End])
	if !ok {
		return p.conflict(u, "how far a new line is to be indented does not follow from the lines around it")
	}
	if isBlankLine(fresh) {
		ind = ""
	}
	p.edit(body.Start, body.End, append([]byte(ind), fresh[indentLen(fresh):]...))
	return nil
}

// rewrapped changes lines that the file breaks in other places: only the changed part, which must be on one line.
func (p *projection) rewrapped(u cell, h hunk) *Refusal {
	first, last := p.body(u.f0), p.body(u.f1-1)
	file := p.t.data[first.Start:last.End]
	old := p.joined(p.old, u.o0, u.o1)
	fresh := p.joined(p.new, h.na, h.nb)
	n := indentLen(file)
	if h.nb-h.na != u.o1-u.o0 && similarity(squeeze(old), squeeze(fresh)) < 0.5 {
		return p.rewritten(u, h)
	}
	text, ok := p.mergeBody(old[indentLen(old):], fresh[indentLen(fresh):], file[n:])
	if !ok || bytes.Count(text, newline) > u.f1-u.f0-1 {
		return p.conflict(u, "the file breaks the lines that change in other places")
	}
	p.edit(first.Start, last.End, append(bytes.Clone(file[:n]), text...))
	return nil
}

// rewritten puts all new lines of a hunk in the place of a unit.
func (p *projection) rewritten(u cell, h hunk) *Refusal {
	if p.place.headCut || p.place.tailCut {
		return p.conflict(u, "the file breaks the lines that change in other places")
	}
	p.edit(p.t.lines[u.f0].start, p.t.lines[u.f1-1].next, nil)
	return p.insert(h.na, h.nb, u.f1-1)
}

// joined is a range of lines as one text.
func (p *projection) joined(s *source, from, to int) []byte {
	return s.data[s.lines[from].start:s.lines[to-1].end]
}

// fragment says that the place is a part of a line, or that it starts or ends within one and new_string has too few lines
// to tell which of them belong to those.
func (p *projection) fragment() bool {
	cuts := 0
	if p.place.headCut {
		cuts++
	}
	if p.place.tailCut {
		cuts++
	}
	return cuts > 0 && (len(p.new.lines) < cuts || len(p.old.lines) <= 1 || len(p.place.cells) == 1 || len(p.old.lines) < cuts)
}

// wholeFragment changes the text of the place as one.
func (p *projection) wholeFragment() *Refusal {
	old, fresh := cancelOuter(p.old.data, p.new.data)
	nl := p.t.eol(p.t.lineAt(p.place.Start))
	var out []byte
	for i, l := range bytes.Split(toLF(fresh), newline) {
		if i > 0 {
			ind, ok := p.reindent(l)
			if !ok {
				return p.conflict(p.place.cells[0], "how far a new line is to be indented does not follow from the lines around it")
			}
			l = append(bytes.Clone(nl), ind...)
		}
		out = append(out, l...)
	}
	text, ok := p.mergeBody(old, out, p.t.data[p.place.Start:p.place.End])
	if !ok {
		return p.conflict(p.place.cells[0], "the part that changes is another one in the file")
	}
	p.edit(p.place.Start, p.place.End, text)
	return nil
}

// cancelOuter drops the white space around old, and as much of it from new.
func cancelOuter(old, fresh []byte) (a, b []byte) {
	a = bytes.TrimLeft(old, " \t\r\n")
	b = fresh[min(len(old)-len(a), len(fresh)-len(bytes.TrimLeft(fresh, " \t\r\n"))):]
	n := len(a)
	a = bytes.TrimRight(a, " \t\r\n")
	return a, b[:len(b)-min(n-len(a), len(b)-len(bytes.TrimRight(b, " \t\r\n")))]
}
