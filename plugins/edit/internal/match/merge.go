package match

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
)

// mergeComment merges a changed line into that of the file. A comment at its end that is another one in the file
// stays there, as long as the model has not changed it.
func (p *projection) mergeComment(u block, j int, old, fresh, file []byte) ([]byte, bool) {
	if p.equal(old, file) {
		return p.mergeLine(old, fresh, file)
	}
	// Where the comments start that end the three lines.
	a := max(0, len(old)-(p.old.lines[u.o0].end-p.old.commentStart(u.o0)))
	b := max(0, len(fresh)-(p.new.lines[j].end-p.new.commentStart(j)))
	c := len(file)
	if !p.at.tailCut {
		c -= p.t.lines[u.f0].end - p.t.commentStart(u.f0)
	}
	if c < 0 {
		return nil, false
	}
	switch {
	case p.equal(old[a:], file[c:]) || p.t.isTypo(squeeze(old), squeeze(file)):
		return p.mergeLine(old, fresh, file)
	case !p.equal(old[a:], fresh[b:]) && !p.equal(file[c:], fresh[b:]):
		return nil, false
	}
	code := bytes.TrimRight(file[:c], blanks)
	text, ok := p.mergeLine(bytes.TrimRight(old[:a], blanks), bytes.TrimRight(fresh[:b], blanks), code)
	return slices.Concat(text, file[len(code):]), ok
}

// normalize makes the stream of a line in the form that the place was found in, comments included; equal compares two
// lines so.
func (p *projection) normalize(b []byte) *stream {
	return normalize(newSource(b, nil), p.at.ignores&^comments)
}

func (p *projection) equal(a, b []byte) bool {
	return bytes.Equal(p.normalize(a).trimmed().text, p.normalize(b).trimmed().text)
}

// mergeLine returns the line of the file as the model changed it: what its old and new line have in common keeps the
// bytes of the file, and only what is between comes from the new line. All three are without indentation. It is false
// when the file differs from the old line in the very part that changes.
func (p *projection) mergeLine(old, fresh, file []byte) ([]byte, bool) {
	if t := bytes.TrimRight(old, blanks); len(t) < len(old) {
		if !endsBlank(fresh) {
			file = bytes.TrimRight(file, blanks) // where the file has them, too, they go
		}
		old, fresh = t, bytes.TrimRight(fresh, blanks)
	}
	for _, sign := range [][]byte{[]byte(";"), []byte(",")} { // that old_string alone has or has not
		switch has := bytes.HasSuffix(file, sign); {
		case has != bytes.HasSuffix(fresh, sign) || has == bytes.HasSuffix(old, sign):
		case has:
			old = slices.Concat(old, sign)
		default:
			old = bytes.TrimSuffix(old, sign)
		}
	}
	if bytes.Equal(old, file) {
		return fresh, true // blanks and separators of new_string are the change, too
	}
	old, fresh = quotedAs(old, fresh, file)
	a, b := p.normalize(old), p.normalize(file)
	if bytes.Equal(p.normalize(fresh).text, b.text) {
		return file, true
	}
	at := equalOffsets(a, b)
	if at == nil {
		typos, _ := p.t.typos(string(a.text), string(b.text))
		old, fresh = p.t.respell(old, typos), p.t.respell(fresh, typos)
		a = p.normalize(old)
		at = equalOffsets(a, b)
	}
	head := commonPrefix(old, fresh)
	tail := commonSuffix(old[head:], fresh[head:])
	if at == nil {
		if at = tokenOffsets(a, b); at == nil {
			return nil, false
		}
		for head > 0 && (insideWord(old, head) || insideWord(fresh, head)) {
			head--
		}
		for tail > 0 && (insideWord(old, len(old)-tail) || insideWord(fresh, len(fresh)-tail)) {
			tail--
		}
	}
	x, y := unitsBefore(a, head), unitsBefore(a, len(old)-tail)
	if gluedWords(a, b, at, max(1, x), y) {
		return nil, false
	}
	m := merge{old: old, fresh: fresh, file: file, a: a, b: b, at: at, head: head, tail: tail}
	start, end, middle := m.middle()
	otherQuotes := plainQuotes(old) != plainQuotes(file)
	if end < start || otherQuotes && bytes.ContainsAny(middle, `"'`) { // one of the file's would end a string of another
		return nil, false
	}
	return slices.Concat(file[:start], middle, file[end:]), true
}

// plainQuotes are the quotes of a line, typographic ones as the plain ones for which they stand.
func plainQuotes(line []byte) string {
	return keepOnly(straight.Replace(string(line)), func(r rune) bool { return r == '"' || r == '\'' })
}

var straight = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‘", "'", "’", "'")

// quotedAs are a line of old_string and the one that it becomes with the quotes of the file's line, where that has the
// other kind throughout, as the one that it becomes may have, too.
func quotedAs(old, fresh, file []byte) (was, is []byte) {
	for _, q := range [][2]string{{`"`, "'"}, {"'", `"`}} {
		own, other := []byte(q[0]), []byte(q[1])
		if n := bytes.Count(old, own); n > 0 && n == bytes.Count(file, other) && !bytes.Contains(file, own) &&
			!bytes.Contains(old, other) && !(bytes.Contains(fresh, other) && bytes.Contains(fresh, own)) {
			return bytes.ReplaceAll(old, own, other), bytes.ReplaceAll(fresh, own, other)
		}
	}
	return old, fresh
}

// gluedWords reports that between units from and to two words stand together in one text and apart in the other: it
// is not known then which words of the new line do.
func gluedWords(a, b *stream, at []int, from, to int) bool {
	for k := from; k <= to && k < len(a.text); k++ {
		j := at[k]
		if !a.border(k) || j < 1 || j >= len(b.text) || (a.start[k] > a.end[k-1]) == (b.start[j] > b.end[j-1]) {
			continue
		}
		if wordRune(lastRune(a.text[:k])) && wordRune(firstRune(a.text[k:])) {
			return true
		}
	}
	return false
}

// equalOffsets returns for each offset of a the one of b, when both are equal.
func equalOffsets(a, b *stream) []int {
	if !bytes.Equal(a.text, b.text) {
		return nil
	}
	at := make([]int, len(a.text)+1)
	for i := range at {
		at[i] = i
	}
	return at
}

// tokenOffsets does so for lines with misspelt words: word by word, or when only blanks differ, sign by sign.
func tokenOffsets(a, b *stream) []int {
	x, y := tokens().FindAllIndex(a.text, -1), tokens().FindAllIndex(b.text, -1)
	if len(x) != len(y) {
		x, y = signs().FindAllIndex(a.text, -1), signs().FindAllIndex(b.text, -1)
		if despaced(string(a.text)) != despaced(string(b.text)) || len(x) != len(y) {
			return nil
		}
	}
	at := make([]int, len(a.text)+1)
	i := 0
	for k := range x {
		for ; i < x[k][1]; i++ {
			at[i] = y[k][0]
		}
		at[x[k][1]] = y[k][1]
		if i = x[k][1] + 1; k+1 < len(x) && x[k+1][0] == x[k][1] {
			i--
		}
	}
	for ; i <= len(a.text); i++ {
		at[i] = len(b.text)
	}
	return at
}

// unitsBefore counts the units of a stream that end at an offset of its text or before.
func unitsBefore(s *stream, offset int) int {
	n := 0
	for n < len(s.text) && int(s.end[n]) <= offset {
		n++
	}
	return n
}

// A merge puts the part that the model changed in a line into the line of the file. Beside the part, on either side,
// is a gap: blanks, or nothing. A gap that the model did not change comes from the file, any other from new_string.
type merge struct {
	old, fresh, file []byte
	a, b             *stream // of old and of file
	at               []int   // for each offset of a the one of b
	head, tail       int     // bytes that old and fresh have in common at their ends
}

// middle returns the part of the file's line that changes, and what replaces it.
func (m *merge) middle() (start, end int, with []byte) {
	lo, hi := m.changed()
	if start, end = m.inFile(lo, hi); end < start {
		return start, end, nil
	}
	wasLeft, was, wasRight := cutSpace(m.old[lo:hi])
	fileLeft, fileRight := m.beside(start, end, lo+len(wasLeft), hi-len(wasRight))
	left, fresh, right := cutSpace(m.fresh[lo : len(m.fresh)-(len(m.old)-hi)])
	before, after := lastRune(m.old[:lo]), firstRune(m.old[hi:])
	switch { // text for text, or no text where some was, or text where none was
	case len(was) > 0 && len(fresh) > 0:
		left = gap(wasLeft, left, fileLeft, before, firstRune(fresh))
		right = gap(wasRight, right, fileRight, lastRune(fresh), after)
	case hi == len(m.old):
	case len(was) > 0:
		old, file := wasLeft, fileLeft
		if !bytes.Equal(wasLeft, left) {
			old, file = wasRight, fileRight
		}
		if len(left) == 0 || len(file) > 0 {
			left = gap(old, left, file, before, after)
		}
	case len(fresh) > 0:
		onLeft, onRight := m.sides(wasLeft, left, fileLeft, fresh, right, before, after)
		if onLeft {
			left = gap(wasLeft, left, fileLeft, before, firstRune(fresh))
		}
		if onRight {
			right = gap(wasLeft, right, fileLeft, lastRune(fresh), after)
		}
	}
	return start, end, slices.Concat(left, fresh, right)
}

// changed is the part of the old line that changes, with the blanks beside it.
func (m *merge) changed() (lo, hi int) {
	return len(bytes.TrimRightFunc(m.old[:m.head], unicode.IsSpace)),
		len(m.old) - len(bytes.TrimLeftFunc(m.old[len(m.old)-m.tail:], unicode.IsSpace))
}

// inFile is the range of the file's line that bytes lo to hi of the old one stand for, blanks around it included.
func (m *merge) inFile(lo, hi int) (start, end int) {
	x, y := m.at[unitsBefore(m.a, lo)], m.at[unitsBefore(m.a, hi)]
	for x > 0 && blankByte(m.b.text[x-1]) {
		x--
	}
	for y < len(m.b.text) && blankByte(m.b.text[y]) {
		y++
	}
	if lo > 0 && x > 0 {
		start = m.behindSign(lo, int(m.b.end[x-1]))
	}
	switch {
	case y < len(m.b.text):
		end = int(m.b.start[y])
	case y > 0:
		end = m.behindSign(hi, int(m.b.end[y-1]))
	}
	return start, end
}

// behindSign is an offset of the file's line behind the separator there, which the equivalence ignores, where the old
// line has it before offset o.
func (m *merge) behindSign(o, at int) int {
	from := 0
	if n := unitsBefore(m.a, o); n > 0 {
		from = int(m.a.end[n-1])
	}
	sign := bytes.TrimSpace(m.old[min(from, o):o])
	if left, text, _ := cutSpace(m.file[at:]); len(sign) > 0 && bytes.HasPrefix(text, sign) {
		return at + len(left) + len(sign)
	}
	return at
}

// beside returns the text of file[start:end] before and after the part that corresponds to old[from:to]: white space,
// and signs that the equivalence ignores.
func (m *merge) beside(start, end, from, to int) (left, right []byte) {
	if from == to {
		return m.file[start:end], nil
	}
	if u, v := unitsBefore(m.a, from), unitsBefore(m.a, to); u < v && m.at[u] < m.at[v] {
		return m.file[start:m.b.start[m.at[u]]], m.file[m.b.end[m.at[v]-1]:end]
	}
	left, _, right = cutSpace(m.file[start:end])
	return left, right
}

// gap returns the blanks between two signs of a changed line: what the file has there if new_string has what old_string
// has, otherwise what new_string has. It never joins signs that new_string separates, or separates those that it joins,
// where that makes other words of them.
func gap(old, fresh, file []byte, before, after rune) []byte {
	switch {
	case bytes.Equal(old, fresh) && !gapMatters(fresh, file, before, after):
		return file
	case bytes.IndexByte(file, '\n') >= 0 && bytes.IndexByte(fresh, '\n') < 0:
		return file // where lines end is not what the model changed
	}
	return fresh
}

const operators = "+-*/<>=&|!:.%^~?@$#"

// gapMatters reports that one of two gaps makes one word or operator of what the other one separates.
func gapMatters(fresh, file []byte, before, after rune) bool {
	return (len(fresh) == 0) != (len(file) == 0) && (wordRune(before) && wordRune(after) ||
		strings.ContainsRune(operators, before) && strings.ContainsRune(operators, after))
}

// sides decides on which sides of new text the gap of the file goes, where the old line has a gap, or nothing, and no
// text.
func (m *merge) sides(old, left, file, fresh, right []byte, before, after rune) (onLeft, onRight bool) {
	onLeft, onRight = bytes.Equal(old, left), bytes.Equal(old, right)
	if !onLeft || !onRight {
		return onLeft, onRight
	}
	if last := lastRune(fresh); last == before && (last == ',' || last == ';') {
		return true, true // an element of a list
	}
	onLeft = m.leansRight()
	switch {
	case onLeft && gapMatters(left, file, before, firstRune(fresh)):
		onLeft = false
	case !onLeft && gapMatters(right, file, lastRune(fresh), after):
		onLeft = true
	}
	return onLeft, !onLeft
}

// leansRight reports that what new has more after its first head bytes belongs to what follows there: it goes after the
// blanks that the file may have there, not before them.
func (m *merge) leansRight() bool {
	if m.head == 0 || blankByte(m.old[m.head-1]) {
		return m.head > 0
	}
	before, after := lastRune(m.old[:m.head]), firstRune(m.old[len(m.old)-m.tail:])
	last := lastRune(m.fresh[:len(m.fresh)-m.tail])
	return !wordRune(before) && wordRune(after) &&
		(wordRune(last) || last == '.' || strings.ContainsRune(",;:=+-*/<>&|", before))
}
