package match

import "bytes"

// insert puts new lines after the anchor, or before the place when there is none.
func (p *projection) insert(from, to, anchor int) *Refusal {
	if from >= to {
		return nil
	}
	for anchor >= 0 && anchor+1 < len(p.t.lines) && isBlankLine(p.t.text(anchor)) && isBlankLine(p.t.text(anchor+1)) && p.unquoted(anchor+1) {
		anchor++ // how many blank lines there are is the file's affair
	}
	f := anchor
	if f < 0 {
		f = p.firstLine()
	}
	nl := p.t.eol(f)
	var text []byte
	for j := from; j < to; j++ {
		l, ok := p.reindent(p.new.text(j))
		if !ok {
			return p.conflict(p.place.cells[0], "how far a new line is to be indented does not follow from the lines around it")
		}
		text = append(append(text, l...), nl...)
	}
	l := p.t.lines[f]
	switch {
	case anchor < 0:
		p.edit(l.start, l.start, text)
	case l.next == l.end:
		p.edit(l.end, l.end, append(bytes.Clone(nl), text[:len(text)-len(nl)]...))
	default:
		p.edit(l.next, l.next, text)
	}
	return nil
}

// firstLine is the first line of the file that old_string quotes.
func (p *projection) firstLine() int {
	for _, c := range p.place.cells {
		if c.o1 > c.o0 && c.f1 > c.f0 {
			return c.f0
		}
	}
	return p.t.lineAt(p.place.Start)
}

func (p *projection) edit(start, end int, with []byte) {
	p.edits = append(p.edits, Edit{Range{start, end}, with})
}

// reindent gives a new line the indentation that it has in the file.
func (p *projection) reindent(b []byte) ([]byte, bool) {
	if isBlankLine(b) {
		return nil, true
	}
	ind, ok := p.indents.of(leading(b), p.near)
	return append([]byte(ind), p.trim(b[indentLen(b):])...), ok
}

// trim drops blanks at the end of a line that the model has put there as it did everywhere.
func (p *projection) trim(b []byte) []byte {
	if p.trims && !isBlankLine(b) {
		return bytes.TrimRight(b, " \t")
	}
	return b
}
