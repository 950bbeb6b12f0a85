package match

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

const (
	maxPairs     = 2500 // lines of a hunk that are compared with each other
	minSameLine  = 0.75 // similarity of a line before and after a change of its indentation
	orderContext = 4    // lines around a place, and around a change, that are searched for lines in another order

	unclearIndentation = "how far a new line is to be indented does not follow from the lines around it"
	missingLine        = "a line that changes is not in the file"
	brokenElsewhere    = "the file breaks the lines that change in other places"
)

// hunk makes the edits for one hunk.
func (p *projection) hunk(h hunk) *Refusal {
	p.near = h.a
	var units []block // the blocks of the old lines
	for o := h.a; o < h.b; o = units[len(units)-1].o1 {
		units = append(units, p.block(o))
	}
	if refusal := p.checkSurroundings(h, units); refusal != nil {
		return refusal
	}
	if len(units) == 1 && h.na < h.nb && !units[0].single() && !units[0].onlyOld() {
		return p.changeRewrapped(units[0], h)
	}
	anchor := -1 // the last line of the file dealt with, after which new lines go
	for o := h.a - 1; o >= 0 && anchor < 0; o-- {
		anchor = p.block(o).f1 - 1
		if p.block(o).onlyOld() {
			anchor = -1
		}
	}
	at, from := h.na, 0
	var pairs [][2]int
	if len(units)*(h.nb-h.na) <= maxPairs {
		pairs = bestPairs(len(units), h.nb-h.na, func(i, j int) float64 { return p.resemblance(units[i], h.na+j) })
	}
	for _, pair := range pairs {
		u, j := units[pair[0]], h.na+pair[1]
		if refusal := p.between(units[from:pair[0]], at, j, &anchor, true); refusal != nil {
			return refusal
		}
		if refusal := p.change(u, j); refusal != nil {
			return refusal
		}
		from, at, anchor = pair[0]+1, j+1, u.f1-1
	}
	if refusal := p.between(units[from:], at, h.nb, &anchor, false); refusal != nil || h.na < h.nb {
		return refusal
	}
	p.closeGap(units)
	return nil
}

// closeGap removes blank lines that old_string leaves out, above lines that go or below, if there are others on the
// other side, or nothing: one gap stays of two.
func (p *projection) closeGap(units []block) {
	units = slices.DeleteFunc(slices.Clone(units), block.onlyOld)
	if len(units) == 0 {
		return
	}
	first, end := units[0].f0, units[len(units)-1].f1
	from, to := first, end+p.gap(end)
	for from > 0 && p.gap(from-1) > 0 {
		from--
	}
	switch {
	case from < first && (end == len(p.t.lines) || isBlank(p.t.text(end))):
		p.edit(p.t.lines[from].start, p.t.lines[first].start, nil)
	case to > end && (first == 0 || isBlank(p.t.text(first-1))):
		p.edit(p.t.lines[end].start, p.t.lines[to-1].next, nil)
	}
}

// gap counts the blank lines of the file, from line f on, that old_string leaves out.
func (p *projection) gap(f int) (n int) {
	for f+n < len(p.t.lines) && isBlank(p.t.text(f+n)) && p.unquoted(f+n) {
		n++
	}
	return n
}

// resemblance is how similar an old line and a new one are; 0 when one cannot have become the other.
func (p *projection) resemblance(u block, j int) float64 {
	if u.o1-u.o0 != 1 || u.f1-u.f0 > 1 {
		return 0
	}
	a, b := p.old.key(u.o0), p.new.key(j)
	switch {
	case a == "" && b == "":
		return 0.1
	case a == "" || b == "":
		return 0
	}
	s := similarity(a, b)
	if s < 0.5 {
		return 0
	}
	if word := tokens().FindString(a); word == tokens().FindString(b) && alnums([]byte(word)) > 0 {
		s += 0.1 // of two that are about as similar, the line with the same name changes
	}
	return s
}

// between handles units and new lines without counterpart: the first take each other's place, the others are removed or
// inserted after the anchor. With a line that changes next, they belong to that.
func (p *projection) between(units []block, from, to int, anchor *int, changes bool) *Refusal {
	for i, u := range units {
		var refusal *Refusal
		switch {
		case u.onlyOld():
			if p.says(u) {
				refusal = p.conflict(u, missingLine)
			}
		case from < to && u.single() && !isBlank(p.old.text(u.o0)):
			refusal = p.replace(u, from)
			from++
		default:
			refusal = p.remove(u, i > 0, units)
		}
		if refusal != nil {
			return refusal
		}
		if !u.onlyOld() {
			*anchor = u.f1 - 1
		}
	}
	return p.insert(from, to, *anchor, changes)
}

// says reports whether the old lines of a block are more than blank.
func (p *projection) says(b block) bool {
	return b.o0 < b.o1 && !isBlank(p.old.data[p.old.lines[b.o0].start:p.old.lines[b.o1-1].end])
}

// blockOfFile is the block of a line of the file, if the place has it.
func (p *projection) blockOfFile(f int) (block, bool) {
	i := slices.IndexFunc(p.at.blocks, func(b block) bool { return f >= b.f0 && f < b.f1 })
	if i < 0 {
		return block{}, false
	}
	return p.at.blocks[i], true
}

// unquoted reports that the place has line f of the file, and old_string does not.
func (p *projection) unquoted(f int) bool {
	b, ok := p.blockOfFile(f)
	return ok && b.onlyFile()
}

// remove deletes the lines of a unit, and blank lines between it and the unit before, which goes as well.
func (p *projection) remove(u block, inner bool, units []block) *Refusal {
	if refusal := p.checkComment(u); refusal != nil {
		return refusal
	}
	from := u.f0
	for inner && from > units[0].f0 && p.unquoted(from-1) {
		from--
		if !isBlank(p.t.text(from)) {
			return p.conflict(u, "among the lines that go the file has a comment that old_string does not have")
		}
	}
	p.edit(p.t.lines[from].start, p.t.lines[u.f1-1].next, nil)
	return nil
}

// hasTwin reports that a line beside a hunk is the same in old_string as the line next to it in the hunk, and in the
// file another one, or at another depth: which of the two changes or goes cannot be told.
func (p *projection) hasTwin(h hunk) bool {
	return slices.ContainsFunc([][2]int{{h.a, h.a - 1}, {h.b - 1, h.b}}, func(pair [2]int) bool {
		o := pair[1]
		if h.a == h.b || o < 0 || o >= len(p.old.lines) || isBlank(p.old.text(o)) {
			return false
		}
		u := p.block(pair[0])
		if !u.single() {
			return false
		}
		b := p.block(o)
		return bytes.Equal(p.old.text(o), p.old.text(u.o0)) && (!b.single() || p.t.key(b.f0) != p.t.key(u.f0) ||
			leading(p.t.text(b.f0)) != leading(p.t.text(u.f0)))
	})
}

// moved is the text that the file has, behind its indentation, for a line of old_string which is new line j elsewhere,
// with the comment that old_string does not quote.
func (p *projection) moved(j int) []byte {
	if p.surplus == nil {
		p.surplus, p.stands = p.new.more(p.old), map[string]int{}
		for _, b := range slices.Backward(p.at.blocks) {
			if b.single() && b.relation == same {
				p.stands[p.old.key(b.o0)] = b.f0
			}
		}
	}
	key := p.new.key(j)
	f, ok := p.stands[key]
	if !ok || key == "" || p.surplus[key] != 0 {
		return nil
	}
	return p.t.text(f)[indentLen(p.t.text(f)):]
}

// insert puts new lines after the anchor, or before the place when there is none. They come after blank lines of the
// file that old_string leaves out if they are set apart, or belong to the line that follows.
func (p *projection) insert(from, to, anchor int, changes bool) *Refusal {
	if from >= to {
		return nil
	}
	if gap := p.gap(anchor + 1); anchor >= 0 && gap > 0 && (isBlank(p.t.text(anchor)) || isBlank(p.new.text(to-1)) ||
		p.belongToNext(from, to, anchor, changes)) {
		anchor += gap
		for ; gap > 0 && from < to && isBlank(p.new.text(from)); gap-- {
			from++ // which the file has
		}
		if from == to {
			return nil
		}
	}
	f := anchor
	if f < 0 {
		f = p.t.lineAt(p.at.Start)
		if i := slices.IndexFunc(p.at.blocks, func(b block) bool { return !b.oneSided() }); i >= 0 {
			f = p.at.blocks[i].f0
		}
	}
	nl := p.t.eol(f)
	var text []byte
	for j := from; j < to; j++ {
		l, ok := p.reindent(p.new.text(j))
		if !ok {
			return p.conflict(p.at.blocks[0], unclearIndentation)
		}
		if body := p.moved(j); body != nil {
			l = append(l[:indentLen(l)], body...)
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

// annotation is a line that belongs to the next, such as the start of a directive's lines, not their end.
var annotation = lazy.Regexp(`^(@|#[^e])`)

// belongToNext reports that new lines begin no deeper than the line that follows, and end with a comment or an
// annotation of that, or came with it as it changed, or end as it begins and as the line of the file before does not.
func (p *projection) belongToNext(from, to, anchor int, changes bool) bool {
	text, hasNext := p.new.key(to-1), to < len(p.new.lines)
	if hasNext && indentLen(p.new.text(from)) > indentLen(p.new.text(to)) {
		return false
	}
	if changes || p.new.commentOnly(to-1) || annotation().MatchString(text) {
		return true
	}
	first := func(l string) bool { return tokens().FindString(l) == tokens().FindString(text) }
	return hasNext && first(p.new.key(to)) && !first(p.t.key(anchor))
}

// reindent gives a new line the indentation that it has in the file.
func (p *projection) reindent(b []byte) ([]byte, bool) {
	if isBlank(b) {
		return nil, true
	}
	own, star := leading(b), ""
	if _, known := p.indents.known[own]; !known && b[len(own)] == '*' && strings.HasSuffix(own, " ") && !p.t.prose() {
		own, star = own[:len(own)-1], " " // of a block comment, whose start is a blank less deep
	}
	ind, ok := p.indents.of(own, p.near)
	return append([]byte(ind+star), p.trimEnd(b[indentLen(b):])...), ok
}

// trimEnd drops blanks at the end of a line if the model has such blanks everywhere.
func (p *projection) trimEnd(b []byte) []byte {
	if p.trimsBlanks && !isBlank(b) {
		return bytes.TrimRight(b, blanks)
	}
	return b
}

// change makes new line j of the line of the file that a unit is aligned with.
func (p *projection) change(u block, j int) *Refusal {
	old, fresh := p.old.text(u.o0), p.new.text(j)
	switch {
	case isBlank(old) && isBlank(fresh):
		return nil
	case u.onlyOld():
		return p.conflict(u, missingLine)
	}
	asFile := p.new.key(j) == p.t.key(u.f0) && p.t.key(u.f0) != p.old.key(u.o0) // what old_string has does not matter
	if refusal := p.checkComment(u); refusal != nil && !asFile {
		return refusal
	}
	if !asFile && u.relation == same && leading(old) != leading(fresh) &&
		similarity(p.old.key(u.o0), p.new.key(j)) < minSameLine {
		return p.replace(u, j)
	}
	body := p.body(u.f0)
	file := p.t.data[body.Start:body.End]
	ind, ok := p.indentOf(u, fresh, file)
	if !ok {
		return p.conflict(u, "how far a changed line is to be indented does not follow from the lines around it")
	}
	text := file[indentLen(file):]
	if !asFile {
		text, ok = p.mergeComment(u, j, old[indentLen(old):], p.trimEnd(fresh)[indentLen(fresh):], text)
	}
	if !ok {
		return p.conflict(u, "the part of a line that changes is another one in the file")
	}
	p.edit(body.Start, body.End, append([]byte(ind), text...))
	return nil
}

// indentOf is the indentation of the file where the model did not change it, or what the model's new one is in the
// file.
func (p *projection) indentOf(u block, fresh, file []byte) (string, bool) {
	if p.at.headCut && u.f0 == p.t.lineAt(p.at.Start) || leading(p.old.text(u.o0)) == leading(fresh) {
		return leading(file), true
	}
	ind, ok := p.indents.of(leading(fresh), p.near)
	step, deeper := strings.CutPrefix(leading(fresh), leading(p.old.text(u.o0)))
	if own := leading(file); deeper && ok && len(ind) <= len(own) { // other lines say something else than this one
		step, ok = p.indents.convert(step)
		ind, ok = own+step, ok && !p.indents.contradictory
	}
	if !ok && bytes.Equal(bytes.TrimRight(fresh, blanks), bytes.TrimRight(file, blanks)) {
		return leading(file), true // new_string has the line of the file
	}
	return ind, ok
}

// body is the part of line f that belongs to the place.
func (p *projection) body(f int) Range {
	r := Range{p.t.lines[f].start, p.t.lines[f].end}
	if p.at.headCut && f == p.t.lineAt(p.at.Start) {
		r.Start = p.at.Start
	}
	if p.at.tailCut && f == p.t.lineAt(p.at.End-1) {
		r.End = p.at.End
	}
	return r
}

// replace puts new line j in place of a line that it has little in common with.
func (p *projection) replace(u block, j int) *Refusal {
	tail, oldTail := p.t.commentStart(u.f0), p.old.commentStart(u.o0)
	if !p.t.commentOnly(u.f0) && !p.equal(p.t.data[tail:p.t.lines[u.f0].end], p.old.data[oldTail:p.old.lines[u.o0].end]) {
		return p.conflict(u, "a line that is rewritten has a comment in the file that old_string does not have")
	}
	old, fresh := p.old.text(u.o0), p.new.text(j)
	if u.relation == same && leading(old) == leading(fresh) && sameShape(string(old), string(fresh)) {
		return p.change(u, j) // what the two have in common, such as brackets or quotes, keeps the form of the file
	}
	a, b := p.normalize(old), p.normalize(p.t.text(u.f0))
	at := equalOffsets(a, b)
	if u.relation == skipped || p.at.ignores&allSpace != 0 && at != nil && gluedWords(a, b, at, 1, len(a.text)-1) {
		return p.conflict(u, "a line that changes is worded in another way in the file")
	}
	body, fresh := p.body(u.f0), p.trimEnd(fresh)
	ind, ok := p.indentOf(u, fresh, p.t.data[body.Start:body.End])
	if !ok {
		return p.conflict(u, unclearIndentation)
	}
	if isBlank(fresh) {
		ind = ""
	}
	p.edit(body.Start, body.End, append([]byte(ind), fresh[indentLen(fresh):]...))
	return nil
}

// sameShape reports whether two lines differ in a few words and in nothing else.
func sameShape(a, b string) bool {
	differ, n, m := otherWords(a, b)
	return n == m && 2*len(differ) <= n
}

// changeRewrapped changes lines that the file breaks in other places: only the changed part, which must be on one line.
func (p *projection) changeRewrapped(u block, h hunk) *Refusal {
	joined := func(s *source, from, to int) []byte {
		return bytes.ReplaceAll(toLF(s.data[s.lines[from].start:s.lines[to-1].end]), newline, p.t.eol(u.f0))
	}
	old, fresh := joined(p.old, u.o0, u.o1), joined(p.new, h.na, h.nb)
	first, last := p.body(u.f0), p.body(u.f1-1)
	file := p.t.data[first.Start:last.End]
	n := indentLen(file)
	text, ok := p.mergeLine(old[indentLen(old):], fresh[indentLen(fresh):], file[n:])
	if !ok || bytes.Count(text, newline) > u.f1-u.f0-1 {
		return p.conflict(u, brokenElsewhere)
	}
	p.edit(first.Start, last.End, append(bytes.Clone(file[:n]), text...))
	return nil
}

// checkComment refuses to change a comment that is another one in the file.
func (p *projection) checkComment(u block) *Refusal {
	if u.relation == skipped && u.single() && !p.t.isTypo(p.old.key(u.o0), p.t.key(u.f0)) {
		return p.conflict(u, "a comment that changes is another one in the file")
	}
	return nil
}

// checkSurroundings refuses a hunk where the lines beside it leave open what is meant.
func (p *projection) checkSurroundings(h hunk, units []block) *Refusal {
	lo, hi := 0, len(p.at.blocks)
	if h.a > 0 {
		lo = p.blockOf[h.a-1] + 1
	}
	if h.b < len(p.old.lines) {
		hi = p.blockOf[h.b]
	}
	for _, b := range p.at.blocks[min(lo, hi):hi] {
		if b.onlyFile() && !p.t.blankOrComment(b.f0) &&
			(alnums(p.t.text(b.f0)) >= 1 || p.new.counts(h.na, h.nb)[p.t.key(b.f0)] > 0) {
			return p.conflict(b, "next to what changes the file has a line that old_string does not have")
		}
		if b.o0 >= h.a && b.o1 <= h.b && (b.relation == altered ||
			b.relation == typo && b.single() && !p.t.certainTypo(p.old.key(b.o0), p.t.key(b.f0))) &&
			!(b.single() && p.new.counts(h.na, h.nb)[p.t.key(b.f0)] > 0) {
			return p.conflict(b, "a line that changes is another one in the file")
		}
	}
	if p.hasTwin(h) {
		return p.conflict(units[0], "old_string has the line that changes or goes several times in a row, and the file has "+
			"other lines or depths there")
	}
	if i := slices.IndexFunc(units, p.contested); i >= 0 {
		return p.conflict(units[i], "old_string has the line that changes more often than the file has it there")
	}
	if h.na == h.nb {
		return nil
	}
	return cmp.Or(p.checkOrder(h), p.checkInsertion(h))
}

// contested reports whether a line of old_string next to a unit is not in the file and could as well be aligned with
// the unit's line of the file: which of the two changes is not clear then.
func (p *projection) contested(u block) bool {
	if !u.single() {
		return false
	}
	file, at := p.t.key(u.f0), p.blockOf[u.o0]
	for _, step := range []int{-1, +1} {
		for i := at + step; i >= 0 && i < len(p.at.blocks); i += step {
			b := p.at.blocks[i]
			if !b.oneSided() && p.says(b) {
				break
			}
			if !b.onlyOld() || !p.says(b) {
				continue
			}
			if old := p.old.key(b.o0); old == file || p.t.isTypo(old, file) {
				return true
			}
		}
	}
	return false
}

// checkOrder refuses new lines next to one of old_string that the file does have there, but in another place.
func (p *projection) checkOrder(h hunk) *Refusal {
	n := len(p.old.lines)
	if h.a == h.b && h.a > 0 && h.a == n || h.b == 0 { // at an end, whose line must be certain
		if refusal := p.checkComment(p.block(max(0, h.a-1))); refusal != nil {
			return refusal
		}
	}
	from, to := p.t.span(p.at.Range)
	from, to = max(0, from-orderContext), min(len(p.t.lines), to+orderContext)
	for o := max(0, h.a-orderContext); o < min(n, h.b+orderContext); o++ {
		key := p.old.key(o)
		for f := from; f < to && key != "" && p.block(o).onlyOld(); f++ {
			if b, ok := p.blockOfFile(f); p.t.key(f) == key && !(ok && !b.onlyFile()) {
				return p.conflict(p.block(o), "the lines are in another order there: "+quoteShort(key)+
					" is not where old_string has it")
			}
		}
	}
	return nil
}

// checkInsertion refuses new lines when it is not clear where exactly they go: next to comments that only the file
// has, or to lines that only old_string has.
func (p *projection) checkInsertion(h hunk) *Refusal {
	blocks := p.at.blocks
	lo := len(blocks)
	if h.a < len(p.old.lines) {
		lo = p.blockOf[h.a]
	}
	hi := lo
	widen := func(passable func(block) bool) {
		for lo > 0 && passable(blocks[lo-1]) {
			lo--
		}
		for hi < len(blocks) && passable(blocks[hi]) {
			hi++
		}
	}
	onlyFile := func(b block) bool { return b.onlyFile() && !isBlank(p.t.text(b.f0)) }
	onlyOld := func(b block) bool { return b.onlyOld() && p.says(b) }
	widen(block.oneSided)
	theirs, ours := lastBlock(blocks[lo:hi], onlyFile), lastBlock(blocks[lo:hi], onlyOld)
	if ours == nil {
		widen(func(b block) bool { return b.oneSided() || !p.says(b) })
		ours = lastBlock(blocks[lo:hi], onlyOld)
	}
	switch {
	case theirs != nil && (h.a == h.b || ours != nil):
		return p.conflict(*theirs, "where new lines go the file has a comment that old_string does not have")
	case ours != nil && (lo == 0 || hi == len(blocks)):
		return p.conflict(*ours, "where new lines go old_string has a line that is not in the file")
	}
	return nil
}

// lastBlock is the last block that fits, or nil.
func lastBlock(blocks []block, fits func(block) bool) (last *block) {
	for i := range blocks {
		if fits(blocks[i]) {
			last = &blocks[i]
		}
	}
	return last
}
