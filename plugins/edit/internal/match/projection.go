package match

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/toolhost/toolhost/internal/lazy"
)

// A projection carries the model's own change, from its old to its new lines, over to the lines of the file that the
// old ones are aligned with. What the model did not change keeps its bytes.
type projection struct {
	t           *Text
	number      int // of the pass
	old, new    *source
	at          *alignment
	indents     *indentation
	blockOf     []int // index of the block of each old line
	edits       []Edit
	surplus     map[string]int // how often new_string has a line more than old_string; made when needed
	stands      map[string]int // where the file has the lines that stay, by their keys; made with surplus
	quoted      []int          // old lines that old_string left out
	near        int            // the old line that the current hunk starts with
	trimsBlanks bool           // blanks at the ends of the model's lines are its own
}

// project makes the edits for one alignment.
func (t *Text) project(number int, r *reading, a *alignment) ([]Edit, *Refusal) {
	head, _ := outerSpace(string(r.old.data))
	p := &projection{t: t, number: number, old: r.old, new: newSource([]byte(r.new), t.syntax), at: a}
	down := p.movesDown()
	if !down {
		p.new = newSource([]byte(withHead(head, r.new)), t.syntax)
	}
	p.dropExtraBlanks()
	p.quoteRepeated()
	p.adoptForms()
	p.keepOuterBlanks(down)
	if !a.headCut {
		p.unshift()
	}
	if bytes.HasSuffix(p.new.data, newline) && !bytes.HasSuffix(r.old.data, newline) {
		n := len(p.new.data)
		p.new.lines = append(p.new.lines, line{n, n, n})
	}
	p.settleCommas()
	p.indents = t.indentation(p.old, p.new, p.at)
	if p.indents.inFile {
		p.indentAsFile()
	}
	p.blockOf = make([]int, len(p.old.lines))
	for i, b := range p.at.blocks {
		for o := b.o0; o < b.o1; o++ {
			p.blockOf[o] = i
		}
	}
	if number >= 4 && p.indents.layout && !p.indents.ordered() {
		return nil, p.conflict(a.blocks[0], "its lines are indented against each other in another way there, "+
			"and here that carries meaning")
	}
	if p.fragment() {
		if refusal := p.changeFragment(); refusal != nil {
			return nil, refusal
		}
		return p.finish()
	}
	for _, h := range p.hunks() {
		h, refusal := p.widen(h)
		if i := slices.IndexFunc(p.quoted, func(o int) bool { return o >= h.a && o < h.b }); refusal == nil && i >= 0 {
			refusal = p.conflict(p.block(p.quoted[i]), "the file has a comment there that old_string does not have, and "+
				"new_string has it in another place")
		}
		if refusal == nil {
			refusal = p.hunk(h)
		}
		if refusal != nil {
			return nil, refusal
		}
	}
	edits, refusal := p.finish()
	if refusal == nil {
		refusal = cmp.Or(t.doubled(p.old, p.at, edits), p.unended(edits))
	}
	return edits, refusal
}

// settleCommas gives an element of a list, behind which one of old_string and the file has a comma and the other has
// not, that of the file in both strings. What new_string has in its place, or behind it at the same depth, ends alike
// where the element is the last one of the list in one of the two.
func (p *projection) settleCommas() {
	if p.t.syntax == nil && p.t.ext != "json" || p.t.prose() || slices.Contains(noCommas, p.t.syntax) {
		return
	}
	var pairs []int
	for _, b := range p.at.blocks {
		if !b.single() || p.t.commentOnly(b.f0) || p.body(b.f0).End < p.t.lines[b.f0].end {
			continue
		}
		has := bytes.HasSuffix(p.t.code(b.f0), comma)
		last := has && closesNext(p.old, b.o0) || !has && closesNext(p.t.source, b.f0)
		if has == bytes.HasSuffix(p.old.code(b.o0), comma) || !has && !last {
			continue
		}
		if pairs == nil {
			pairs = counterparts(p.old, p.new)
		}
		own, end := slices.Index(pairs, b.o0), len(pairs)
		for j, o := range slices.Backward(pairs) {
			if o > b.o0 && p.old.key(o) == p.new.key(j) {
				end = j
			}
		}
		depth := leading(p.old.text(b.o0))
		tail := p.new.closest(end, -1, func(j int) bool {
			return p.new.blankOrComment(j) || len(leading(p.new.text(j))) > len(depth)
		})
		above := p.t.closeCode(b.f0, -1)
		list := above >= 0 && (strings.IndexByte(")]}", p.t.key(b.f0)[0]) >= 0 ||
			bytes.IndexByte([]byte(",([{"), p.t.code(above)[len(p.t.code(above))-1]) >= 0)
		p.old = p.old.withComma(b.o0, has)
		if own >= 0 {
			p.new = p.new.withComma(own, has || list && tail > own && !closesNext(p.new, own))
		}
		first := p.t.closeCode(p.t.lineAt(p.at.Start), -1)
		switch {
		case !last || own >= 0 && tail == own:
		case tail >= 0 && leading(p.new.text(tail)) == depth:
			p.new = p.new.withComma(tail, has)
		case tail < 0 && !has && first >= 0 && bytes.HasSuffix(p.t.code(first), comma): // all of the place goes
			end := p.t.lines[first].start + len(p.t.code(first))
			p.edit(end-1, end, nil)
		}
	}
}

// noCommas are languages whose lists have none.
var noCommas = []*syntax{shell, lisp, tex, ini, markup}

var comma = []byte(",")

// closesNext reports whether the next line behind line i that has code begins with a closing bracket, if there is one.
func closesNext(s *source, i int) bool {
	next := s.closeCode(i, +1)
	return next < 0 || strings.IndexByte(")]}", s.key(next)[0]) >= 0
}

// withComma is the text with a comma behind the code of line i, or without one.
func (s *source) withComma(i int, has bool) *source {
	code := s.code(i)
	bare, had := bytes.CutSuffix(code, comma)
	if had == has || has && !endsStatement(string(bare)) {
		return s
	}
	at := s.lines[i].start + len(bare)
	rest := s.data[s.lines[i].start+len(code):]
	if has {
		rest = slices.Concat(comma, rest)
	}
	out := newSource(slices.Concat(s.data[:at], rest), s.syntax)
	for n := len(out.data); len(out.lines) < len(s.lines); {
		out.lines = append(out.lines, line{n, n, n})
	}
	return out
}

// unended refuses new statements without a semicolon where the statements of old_string lost theirs.
func (p *projection) unended(edits []Edit) *Refusal {
	ends := func(b []byte) bool { return bytes.HasSuffix(bytes.TrimRight(b, spaces), []byte(";")) }
	i := slices.IndexFunc(p.at.blocks, func(b block) bool {
		return b.single() && ends(p.t.text(b.f0)) && !ends(p.old.text(b.o0))
	})
	for _, e := range edits {
		was, with := p.t.data[e.Start:e.End], newSource(e.With, p.t.syntax)
		for j := range with.lines {
			text := with.code(j)
			block := bytes.HasSuffix(text, []byte("}")) && (bytes.IndexByte(text, '{') < 0 || bytes.IndexByte(text, ';') >= 0)
			if i >= 0 && (len(was) == 0 || ends(was)) && endsStatement(string(text)) && !block {
				return p.conflict(p.at.blocks[i], "the lines end with a semicolon there, and a line of new_string has none")
			}
		}
	}
	return nil
}

// doubled refuses edits that write a line which the file has at the place and old_string leaves out, or a comment like
// one that it has there or beside it: the file would have it twice.
func (t *Text) doubled(old *source, a *alignment, edits []Edit) *Refusal {
	var left []block // what old_string leaves out, or has in other words
	for _, b := range a.blocks {
		if (b.onlyFile() || b.single() && b.relation == skipped) && alnums(t.text(b.f0)) > minBeside &&
			informative(t.key(b.f0)) {
			left = append(left, b)
		}
	}
	beside := t.commentsBeside(old, a)
	if len(left)+len(beside) == 0 || len(edits) == 0 {
		return nil
	}
	more := map[string]int{} // how often the file has a line more
	for _, e := range edits {
		for l := range bytes.Lines(e.With) {
			more[squeeze(l)]++
		}
		for l := range bytes.Lines(t.data[e.Start:e.End]) {
			more[squeeze(l)]--
		}
	}
	quoted := old.counts(0, len(old.lines)) // and those that go
	for l, n := range more {
		if n < 0 {
			quoted[l]++
		}
	}
	comes := func(f int, among map[string]int) bool { // a line like one of the file
		for l := range among {
			if l != "" && more[l] > 0 && quoted[l] == 0 && comesLike(l, t.key(f), quoted) {
				return true
			}
		}
		return false
	}
	for _, b := range left {
		if more[t.key(b.f0)] > 0 {
			return t.conflict(a, b, "the file has a line there that old_string does not have, and new_string has it, too")
		}
		if t.commentOnly(b.f0) && comes(b.f0, more) {
			return t.conflict(a, b, "the file has a comment there that old_string does not have, and new_string has one like it")
		}
	}
	if len(beside) == 0 {
		return nil
	}
	place := newSource(changedPart(t.data, edits, a.Range), t.syntax)
	for _, f := range beside {
		step, near := 1, map[string]int{} // the comments of the place on that side, before any code
		i, own := place.closeFilled(-1, step), old.closeFilled(-1, step)
		if t.lines[f].start >= a.End {
			step = -1
			i, own = place.closeFilled(len(place.lines), step), old.closeFilled(len(old.lines), step)
		}
		if own >= 0 && old.commentOnly(own) { // all is one comment
			i = -1
		}
		for ; i >= 0 && place.commentOnly(i); i = place.closeFilled(i, step) {
			near[place.key(i)]++
		}
		if more[t.key(f)] > 0 || comes(f, near) {
			out := guard("new_string has a comment like the one that the file has beside the place, "+quoteShort(t.key(f))+
				", and old_string has not. The file would have that twice.",
				"Give all of the lines that are shown in old_string, or leave that out of new_string.")
			t.show(out, Range{min(a.Start, t.lines[f].start), max(a.End, t.lines[f].end)})
			return out
		}
	}
	return nil
}

// changedPart is what a part of a text becomes by edits that may reach beyond it.
func changedPart(text []byte, edits []Edit, part Range) []byte {
	from, to := min(part.Start, edits[0].Start), max(part.End, edits[len(edits)-1].End)
	local := slices.Clone(edits)
	for i := range local {
		local[i].Start, local[i].End = local[i].Start-from, local[i].End-from
	}
	out := (&Plan{Edits: local}).Apply(text[from:to])
	start := min(part.Start-from, len(out)) // less is left where the place goes with what is before it
	return out[start:max(start, len(out)-(to-part.End))]
}

// commentsBeside are the comments above and below a place. One that the file has in several places may come again.
func (t *Text) commentsBeside(old *source, a *alignment) (out []int) {
	from, to := t.span(a.Range)
	for _, b := range a.blocks { // comments at the edges are part of what old_string quotes
		if !b.oneSided() {
			from, to = min(from, b.f0), max(to, b.f1)
		}
	}
	for _, f := range []int{t.closeFilled(from, -1), t.closeFilled(to-1, +1)} {
		if f >= 0 && t.commentOnly(f) && alnums(t.text(f)) > minBeside && old.count(t.key(f)) == 0 && t.count(t.key(f)) == 1 {
			out = append(out, f)
		}
	}
	return out
}

// comesLike reports whether a line that comes is like a comment that stays, and more than like one of old_string.
func comesLike(l, comment string, quoted map[string]int) bool {
	like := similarity(l, comment)
	for own := range quoted {
		if similarity(l, own) >= like {
			return false
		}
	}
	return like >= minCommentAlike
}

// dropExtraBlanks leaves out blank lines at the ends of both strings that the file does not have there: what comes
// before them would not be set apart from what the file has next, or twice.
func (p *projection) dropExtraBlanks() {
	_, tail := p.old.outerBlanks()
	_, newTail := p.new.outerBlanks()
	blocks, n := p.at.blocks, 0
	for n < len(blocks) && blocks[len(blocks)-1-n].onlyOld() {
		n++
	}
	n = min(n, tail)
	end := blocks[len(blocks)-1].f1
	have := 0
	for have < n && end+have < len(p.t.lines) && isBlank(p.t.text(end+have)) {
		have++
	}
	if have == n || newTail < n-have || p.at.tailCut {
		return
	}
	cut := func(s *source) *source {
		return newSource(s.data[:s.lines[len(s.lines)-1-(n-have)].next], p.t.syntax)
	}
	a := *p.at
	a.blocks = slices.Clone(blocks[:len(blocks)-n])
	for k := range have {
		o := len(p.old.lines) - n + k
		a.blocks = append(a.blocks, block{o, o + 1, end + k, end + k + 1, same})
		a.End = p.t.lines[end+k].next
	}
	p.old, p.new, p.at = cut(p.old), cut(p.new), &a
}

// quoteRepeated gives old_string the comments of the file that it leaves out and new_string has, with blank lines
// beside them: a change must not write them for a second time.
func (p *projection) quoteRepeated() {
	more, at := p.new.more(p.old), map[string]int{} // where a line is first
	for j := range slices.Backward(p.new.lines) {
		at[p.new.key(j)] = j
	}
	delete(at, "")
	blankAt := func(j int) bool { return j >= 0 && j < len(p.new.lines) && isBlank(p.new.text(j)) }
	var data []byte
	var blocks []block
	copied, shift := 0, 0
	quote := func(b block, l []byte) block {
		start := p.old.lines[b.o0].start
		data = append(append(append(data, p.old.data[copied:start]...), l...), '\n')
		copied = start
		shift++
		return block{b.o0 + shift - 1, b.o0 + shift, b.f0, b.f1, same}
	}
	next := -1 // the line of new_string behind the comment quoted last, while blank lines follow
	for i, b := range p.at.blocks {
		inner := b.onlyFile() && b.o0 > 0 && b.o0 < len(p.old.lines)
		j, ok := at[p.t.key(min(b.f0, len(p.t.lines)-1))]
		switch {
		case inner && isBlank(p.t.text(b.f0)) && blankAt(next) && more[""] > 0:
			more[""]--
			blocks, next = append(blocks, quote(b, nil)), next+1
			continue
		case inner && ok && more[p.new.key(j)] > 0 && p.t.commentOnly(b.f0):
			more[p.new.key(j)]--
			if n := len(blocks); blankAt(j-1) && more[""] > 0 && blocks[n-1].onlyFile() && isBlank(p.t.text(blocks[n-1].f0)) {
				more[""]--
				blocks[n-1] = quote(p.at.blocks[i-1], nil)
			}
			p.quoted = append(p.quoted, b.o0+shift)
			blocks, next = append(blocks, quote(b, p.new.text(j))), j+1
			continue
		}
		b.o0, b.o1, next = b.o0+shift, b.o1+shift, -1
		blocks = append(blocks, b)
	}
	if shift > 0 {
		a := *p.at
		a.blocks = blocks
		p.old, p.at = newSource(append(data, p.old.data[copied:]...), p.t.syntax), &a
	}
}

// meansMore matches what may not mean the same in other quotes.
var meansMore = lazy.Regexp("[$\\\\`]|#\\{")

// quotesAll reports whether a line has the quotes around strings only, not as apostrophes, one after another as an
// escape, or for anything else.
func quotesAll(l, quote string) bool {
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(strings.TrimLeft(l, blanks), triple) {
		l = strings.ReplaceAll(l, triple, quote)
	}
	parts := strings.Split(l, quote)
	for i := 2; i < len(parts); i += 2 {
		r, _ := utf8.DecodeRuneInString(parts[i])
		if wordRune(r) || parts[i] == "" && i < len(parts)-1 || prefixWord().MatchString(parts[i-2]) {
			return false
		}
	}
	return len(parts)%2 == 1
}

// prefixWord matches a word at the end that is longer than what may be in front of a string, as in rb"".
var prefixWord = lazy.Regexp(`\w{3}$`)

// adoptForms brings what the model wrote in another form throughout, such as curly quotes or decomposed letters, into
// the form that the file has at the place, so that new lines have it too.
func (p *projection) adoptForms() {
	file := p.t.data[p.at.Start:p.at.End]
	old, fresh := p.old.data, toLF(p.new.data)
	if !isASCII(old) || !isASCII(fresh) {
		if norm.NFC.IsNormal(old) && !norm.NFC.IsNormal(file) && norm.NFD.IsNormal(file) {
			old, fresh = norm.NFD.Bytes(old), norm.NFD.Bytes(fresh)
		}
		if !norm.NFC.IsNormal(old) && norm.NFC.IsNormal(file) {
			old, fresh = norm.NFC.Bytes(old), norm.NFC.Bytes(fresh)
		}
		plain := p.t.plainForms(old, fresh, file)
		old, fresh = []byte(plain.Replace(string(old))), []byte(plain.Replace(string(fresh)))
		lines := len(p.old.lines)
		p.old = newSource(old, p.t.syntax)
		if n := len(old); len(p.old.lines) < lines { // the last one had nothing that is visible
			p.old.lines = append(p.old.lines, line{n, n, n})
		}
	}
	for _, q := range [][2]string{{`'`, `"`}, {`"`, `'`}} {
		if n := bytes.Count(old, []byte(q[0])); n == 0 || n != bytes.Count(file, []byte(q[1])) ||
			p.t.prose() || p.t.syntax == sql || bytes.Contains(slices.Concat(old, fresh), []byte(q[1])) ||
			bytes.Contains(file, []byte(q[0])) {
			continue
		}
		is := newSource(fresh, nil)
		for j, o := range counterparts(p.old, is) { // of lines that come
			if l := is.text(j); quotesAll(string(l), q[0]) &&
				(o < 0 || likeness(string(p.old.text(o)), string(l)) == 0) &&
				(!meansMore().Match(l) || meansMore().Match(old)) {
				copy(l, bytes.ReplaceAll(l, []byte(q[0]), []byte(q[1])))
			}
		}
		break
	}
	p.new = newSource(fresh, p.t.syntax)
	for _, b := range p.at.blocks {
		if !b.single() || isBlank(p.old.text(b.o0)) {
			continue
		}
		o, f := endsBlank(p.old.text(b.o0)), endsBlank(p.t.text(b.f0))
		if o && f {
			p.trimsBlanks = false
			return
		}
		p.trimsBlanks = p.trimsBlanks || o
	}
}

// indentAsFile gives the lines of old_string the indentation of the file, which those of new_string have already: else
// a line such as } is taken for another one that is as deep in one of the strings as it is in the other.
func (p *projection) indentAsFile() {
	lines := make([][]byte, len(p.old.lines))
	for o := range lines {
		lines[o] = p.old.text(o)
	}
	for _, b := range p.at.blocks {
		if b.single() && !isBlank(lines[b.o0]) {
			lines[b.o0] = append([]byte(leading(p.t.text(b.f0))), lines[b.o0][indentLen(lines[b.o0]):]...)
		}
	}
	p.old = newSource(append(bytes.Join(lines, newline), newline...), p.t.syntax)
	p.indents = p.t.indentation(p.old, p.new, p.at)
	p.indents.inFile = true
}

// unshift undoes that all lines are deeper in new_string than in old_string, or less deep, where neither is as deep as
// the file: that is not meant where something else changes. Deeper by tabs for the blanks of the file, or by blanks for
// its tabs, may be meant.
func (p *projection) unshift() {
	from, to := p.t.span(p.at.Range)
	was, is := commonIndent(p.old, 0, len(p.old.lines)), commonIndent(p.new, 0, len(p.new.lines))
	file, stay := commonIndent(p.t.source, from, to), 0
	for n, o := range counterparts(p.old, p.new) {
		if o < 0 || isBlank(p.new.text(n)) || likeness(string(p.old.text(o)), string(p.new.text(n))) < minSameLine {
			continue
		} else if leading(p.old.text(o))[len(was):] != leading(p.new.text(n))[len(is):] {
			return
		}
		stay++
	}
	tabs := func(s string) bool { return strings.Contains(s, "\t") }
	if was == is || was == file || is == file || stay < 2 || squeeze(p.old.data) == squeeze(p.new.data) ||
		was != "" && tabs(was) != tabs(file) && strings.HasPrefix(is, was) {
		return
	}
	lines := slices.Collect(bytes.Lines(p.new.data))
	for i, l := range lines {
		if !isBlank(l) {
			lines[i] = append([]byte(was), l[len(is):]...)
		}
	}
	p.new = newSource(bytes.Join(lines, nil), p.t.syntax)
}

func endsBlank(b []byte) bool { return len(b) > 0 && blankByte(b[len(b)-1]) }

// plainForms replaces runes that old has and the place in the file has not by what they fold to, if the place has
// that. A model writes all signs of a family so or none: it replaces others of the family, too, which fresh has and the
// file has nowhere. Full-width signs may belong to a text in ideographs.
func (t *Text) plainForms(old, fresh, file []byte) *strings.Replacer {
	var swap []string
	seen, families, spelled := map[rune]bool{}, map[rune]bool{}, false
	add := func(r, to rune) {
		families[formFamily(r)] = true
		if swap = append(swap, string(r), ""); to >= 0 {
			swap[len(swap)-1] = string(to)
		}
	}
	for _, r := range string(old) {
		if r < utf8.RuneSelf || seen[r] || bytes.ContainsRune(file, r) {
			continue
		}
		seen[r] = true
		switch to := foldRune(r); {
		case spelledOut[r] != "" && bytes.Contains(file, []byte(spelledOut[r])):
			swap, spelled = append(swap, string(r), spelledOut[r]), spelled || r != '…'
		case to == r:
		case to < 0, bytes.ContainsRune(file, to):
			add(r, to)
		}
	}
	for _, r := range string(fresh) {
		if to := spelledOut[r]; to != "" && spelled && r != '…' && !seen[r] && !bytes.ContainsRune(t.data, r) {
			swap, seen[r] = append(swap, string(r), to), true
		}
		if r < utf8.RuneSelf || seen[r] || !families[formFamily(r)] || bytes.ContainsRune(t.data, r) ||
			formFamily(r) == firstWide && bytes.ContainsFunc(fresh, ideograph) {
			continue
		}
		seen[r] = true
		if to := foldRune(r); r == '—' && bytes.Contains(t.data, []byte("--")) {
			swap = append(swap, "—", "--")
		} else if to != r {
			add(r, to)
		}
	}
	return strings.NewReplacer(swap...)
}

// firstWide is the first of the blanks, signs and letters that are as wide as an ideograph.
const firstWide = '\u3000'

// formFamily is the same for runes that are written in place of plain ones for the same reason: curly quotes, dashes,
// odd blanks, runes without width, full-width signs.
func formFamily(r rune) rune {
	switch to := foldRune(r); {
	case to >= 0 && r >= firstWide:
		return firstWide
	case to == '\'':
		return '"'
	default:
		return to
	}
}

// keepOuterBlanks lets new_string begin and end with as many blank lines as old_string does. That it has fewer, and
// text, means that it was trimmed: how many there are in the file does not change.
func (p *projection) keepOuterBlanks(down bool) {
	edge := func(s *source, i int) string { // line i, counted from the end when it is less than 0
		if i < 0 {
			i += len(s.lines)
		}
		if i < 0 || i >= len(s.lines) {
			return ""
		}
		return s.key(i)
	}
	head, tail := p.old.outerBlanks()
	quoted := p.old.counts(0, len(p.old.lines))
	delete(quoted, "")
	newHead, newTail := p.new.outerBlanks()
	first, last := edge(p.new, newHead), edge(p.new, -1-newTail)
	if edge(p.old, head) != first && quoted[first] > 0 || down {
		head = newHead // the first line goes, and the blank lines before it may as well, or both come further down
	}
	if edge(p.old, -1-tail) != last && quoted[last] > 0 {
		tail = newTail
	}
	if newHead == len(p.new.lines) || head <= newHead && tail <= newTail {
		return
	}
	data := p.new.data
	if tail > newTail && !bytes.HasSuffix(data, newline) {
		data = append(bytes.Clone(data), '\n')
	}
	data = slices.Concat(bytes.Repeat(newline, max(0, head-newHead)), data, bytes.Repeat(newline, max(0, tail-newTail)))
	p.new = newSource(data, p.t.syntax)
}

// movesDown reports that new_string has the first line of old_string further down, with the blank lines that it has
// before it there and in the file: what comes goes before these.
func (p *projection) movesDown() bool {
	fresh := p.new
	blank, _ := p.old.outerBlanks()
	return blank > 0 && blank < len(p.old.lines) && p.at.blocks[0].single() && len(fresh.lines) > 0 &&
		!isBlank(fresh.text(0)) && slices.ContainsFunc(fresh.lines, func(l line) bool {
		j := fresh.lineAt(l.start)
		return j >= blank && fresh.key(j) == p.old.key(blank) &&
			isBlank(fresh.data[fresh.lines[j-blank].start:fresh.lines[j-1].end])
	})
}

// hunks are the differences between the old and the new lines. Where the place starts or ends within a line, the
// first or last lines belong together.
func (p *projection) hunks() []hunk {
	x, y := p.old.rightTrimmed(), p.new.rightTrimmed()
	var out, tail []hunk
	off := 0
	if p.at.headCut {
		if x[0] != y[0] {
			out = []hunk{{0, 1, 0, 1}}
		}
		x, y, off = x[1:], y[1:], 1
	}
	if p.at.tailCut {
		n, m := len(x)-1, len(y)-1
		if x[n] != y[m] {
			tail = []hunk{{n + off, n + off + 1, m + off, m + off + 1}}
		}
		x, y = x[:n], y[:m]
	}
	for _, h := range diffLines(x, y) {
		out = append(out, hunk{h.a + off, h.b + off, h.na + off, h.nb + off})
	}
	return append(out, tail...)
}

// block is the block of an old line.
func (p *projection) block(o int) block { return p.at.blocks[p.blockOf[o]] }

// widen makes a hunk cover whole blocks where the file breaks the lines in other places. It can do so only within one
// such block: else it is not known where the breaks should be.
func (p *projection) widen(h hunk) (hunk, *Refusal) {
	if h.a == h.b {
		if h.a > 0 && h.a < len(p.old.lines) && p.blockOf[h.a-1] == p.blockOf[h.a] {
			return h, p.conflict(p.block(h.a), "new_string has a line more within lines that the file breaks in other places")
		}
		return h, nil
	}
	first, last := p.block(h.a), p.block(h.b-1)
	if first.o0 == h.a && last.o1 == h.b {
		return h, nil
	}
	return h, p.conflict(first, "the change covers parts of lines that the file breaks in other places")
}

func (p *projection) edit(start, end int, with []byte) {
	p.edits = append(p.edits, Edit{Range{start, end}, with})
}

// finish sorts and joins the edits, and drops those that change nothing.
func (p *projection) finish() ([]Edit, *Refusal) {
	slices.SortStableFunc(p.edits, func(a, b Edit) int { return a.Start - b.Start })
	var out []Edit
	for _, e := range p.edits {
		if n := len(out); n > 0 && out[n-1].End > e.Start {
			return nil, p.conflict(p.at.blocks[0], "the parts of the change overlap there")
		} else if n > 0 && out[n-1].End == e.Start {
			out[n-1].End, out[n-1].With = e.End, append(out[n-1].With, e.With...)
			continue
		}
		out = append(out, e)
	}
	out = slices.DeleteFunc(out, func(e Edit) bool { return bytes.Equal(p.t.data[e.Start:e.End], e.With) })
	if len(out) == 0 {
		return out, nil
	}
	// A file without a final line ending keeps it so when its last lines go and others of the place stay.
	e, lines := &out[len(out)-1], p.t.lines
	if last := lines[len(lines)-1]; e.End == len(p.t.data) && len(e.With) == 0 && last.next == last.end {
		if i := p.t.lineAt(e.Start); i > 0 && lines[i].start == e.Start && lines[i-1].end >= p.at.Start {
			e.Start = lines[i-1].end
		}
	}
	return out, nil
}

// conflict refuses because the file has something at a block that old_string does not have.
func (p *projection) conflict(b block, why string) *Refusal {
	r := p.t.conflict(p.at, b, why)
	if p.says(b) && p.old.key(b.o0) != p.t.key(min(b.f0, len(p.t.lines)-1)) {
		if line := quoteShort(strings.TrimSpace(string(p.old.text(b.o0)))); !strings.Contains(why, line) {
			r.Message += fmt.Sprintf(" old_string has %s.", line)
		}
	}
	return r
}

// fragment reports whether the place is a part of a line, or starts or ends within one and new_string has too few
// lines to say which of them belong to those.
func (p *projection) fragment() bool {
	cuts := 0
	if p.at.headCut {
		cuts++
	}
	if p.at.tailCut {
		cuts++
	}
	return cuts > 0 && (len(p.new.lines) < cuts || len(p.old.lines) < max(2, cuts) || len(p.at.blocks) == 1)
}

// changeFragment changes the text of the place as one.
func (p *projection) changeFragment() *Refusal {
	// The white space around old_string is dropped, and as much of it from new_string.
	old, fresh := bytes.TrimLeft(p.old.data, spaces), p.new.data
	fresh = fresh[min(len(p.old.data)-len(old), len(fresh)-len(bytes.TrimLeft(fresh, spaces))):]
	tail := len(old) - len(bytes.TrimRight(old, spaces))
	old, fresh = old[:len(old)-tail], fresh[:len(fresh)-min(tail, len(fresh)-len(bytes.TrimRight(fresh, spaces)))]
	nl := p.t.eol(p.t.lineAt(p.at.Start))
	var out []byte
	for i, l := range bytes.Split(toLF(fresh), newline) {
		if i > 0 {
			ind, ok := p.reindent(l)
			if !ok {
				return p.conflict(p.at.blocks[0], unclearIndentation)
			}
			l = append(bytes.Clone(nl), ind...)
		}
		out = append(out, l...)
	}
	text, ok := p.mergeLine(old, out, p.t.data[p.at.Start:p.at.End])
	if !ok {
		return p.conflict(p.at.blocks[0], "the part that changes is another one in the file")
	}
	p.edit(p.at.Start, p.at.End, text)
	return nil
}
