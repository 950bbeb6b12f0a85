package match

import "bytes"

// change makes new line j of the line of the file that a unit stands for.
func (p *projection) change(u cell, j int) *Refusal {
	switch {
	case isBlankLine(p.old.text(u.o0)) && isBlankLine(p.new.text(j)):
		return nil
	case u.f0 == u.f1:
		return p.conflict(u, "a line that changes is not in the file")
	}
	if refusal := p.sameNote(u); refusal != nil {
		return refusal
	}
	body := p.body(u.f0)
	file := p.t.data[body.Start:body.End]
	old, fresh := p.old.text(u.o0), p.new.text(j)
	if u.kind == same && leading(old) != leading(fresh) && similarity(squeeze(old), squeeze(fresh)) < minSameLine {
		return p.replace(u, j)
	}
	ind, ok := p.indentation(u, old, fresh, file)
	if !ok {
		return p.conflict(u, "how far a changed line is to be indented does not follow from the lines around it")
	}
	rest := p.trim(fresh)[indentLen(fresh):]
	text, ok := p.merged(u, j, old[indentLen(old):], rest, file[indentLen(file):])
	if !ok {
		return p.conflict(u, "the part of a line that changes is another one in the file")
	}
	p.edit(body.Start, body.End, append([]byte(ind), text...))
	return nil
}

// minSameLine is how alike an old and a new line are that are the same one, though it is indented in another way.
const minSameLine = 0.75

// indentation is that of the file where the model did not change it, or what the model's new one is in the file.
func (p *projection) indentation(u cell, old, fresh, file []byte) (string, bool) {
	if p.cut(u.f0) || leading(old) == leading(fresh) {
		return leading(file), true
	}
	return p.indents.of(leading(fresh), p.near)
}

// cut says that the place starts within line f of the file.
func (p *projection) cut(f int) bool { return p.place.headCut && f == p.t.lineAt(p.place.Start) }

// body is the part of line f that belongs to the place.
func (p *projection) body(f int) Range {
	l := p.t.lines[f]
	r := Range{l.start, l.end}
	if p.cut(f) {
		r.Start = p.place.Start
	}
	if p.place.tailCut && f == p.t.lineAt(p.place.End-1) {
		r.End = p.place.End
	}
	return r
}

// merged joins a changed line with that of the file. A comment at its end that is another one in the file stays there,
// as long as the model has not changed it.
func (p *projection) merged(u cell, j int, old, fresh, file []byte) ([]byte, bool) {
	if p.equal(old, file) {
		return p.mergeBody(old, fresh, file)
	}
	a, b := p.tails(u, j, len(old), len(fresh))
	c := len(file)
	if !p.place.tailCut {
		c -= p.t.lines[u.f0].end - p.t.tail(u.f0)
	}
	if c < 0 {
		return nil, false
	}
	switch {
	case p.equal(old[a:], file[c:]) || p.t.isMisspelt(squeeze(old), squeeze(file)):
		return p.mergeBody(old, fresh, file)
	case !p.equal(old[a:], fresh[b:]) && !p.equal(file[c:], fresh[b:]):
		return nil, false
	}
	code := bytes.TrimRight(file[:c], " \t")
	text, ok := p.mergeBody(bytes.TrimRight(old[:a], " \t"), bytes.TrimRight(fresh[:b], " \t"), code)
	return append(text, file[len(code):]...), ok
}

// equal compares two lines, comments included, at the level of the pass.
func (p *projection) equal(a, b []byte) bool {
	return bytes.Equal(p.stream(a).trimmed().text, p.stream(b).trimmed().text)
}

// tails gives where the comments start that end the old and the new line, both without indentation.
func (p *projection) tails(u cell, j, oldLen, newLen int) (old, fresh int) {
	old = oldLen - (p.old.lines[u.o0].end - p.old.tail(u.o0))
	fresh = newLen - (p.new.lines[j].end - p.new.tail(j))
	return max(0, old), max(0, fresh)
}

// replace puts new line j in the place of a line that it has little in common with.
func (p *projection) replace(u cell, j int) *Refusal {
	if refusal := p.sameNote(u); refusal != nil {
		return refusal
	}
	if tail := p.t.tail(u.f0); !p.t.onlyNotes(u.f0) && !p.equal(p.t.data[tail:p.t.lines[u.f0].end], p.old.data[p.old.tail(u.o0):p.old.lines[u.o0].end]) {
		return p.conflict(u, "a line that is rewritten has a comment in the file that old_string does not have")
	}
	old, fresh := p.old.text(u.o0), p.new.text(j)
	if u.kind == same && leading(old) == leading(fresh) && sameShape(string(old), string(fresh)) {
		return p.change(u, j) // what the two have in common, be it brackets or quotes, is as the file has it
	}
	if p.doubtful(u) {
		return p.conflict(u, "a line that changes is worded in another way in the file")
	}
	return p.rewrite(u, j)
}

// doubtful says that a line is not quite what the file has: another comment, or words written together.
func (p *projection) doubtful(u cell) bool {
	if u.kind == filler {
		return true
	}
	a, b := p.stream(p.old.text(u.o0)), p.stream(p.t.text(u.f0))
	at := stops(a, b)
	return p.place.level&noSpace != 0 && at != nil && gluedWords(a, b, at, 1, len(a.text)-1)
}

// sameShape says that two lines differ in a few words and in nothing else.
func sameShape(a, b string) bool {
	x, y := tokens.FindAllString(a, -1), tokens.FindAllString(b, -1)
	if len(x) != len(y) {
		return false
	}
	differ := 0
	for i := range x {
		if x[i] != y[i] {
			differ++
		}
	}
	return 2*differ <= len(x)
}
