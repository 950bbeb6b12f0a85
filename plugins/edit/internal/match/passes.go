package match

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"
)

// A pass looks for old_string in the text, both in the form of its level.
type pass struct {
	number int
	level  level
	trim   bool // old_string is looked for without the white space around it
}

// The passes that compare for equality, in their order. The eighth, which measures distances, is not here: it comes last.
var passes = []pass{
	{1, 0, false},
	{2, 0, true},
	{3, trail, true},
	{4, trail | lead, true},
	{5, trail | lead | fold, true},
	{6, trail | lead | fold | collapse, true},
	{6, trail | lead | fold | collapse | noBlank, true},
	{7, trail | lead | fold | collapse | noBlank | noNotes, true},
	{9, noSpace | fold, true},
	{9, noSpace | fold | noSemi, true},
	{9, noSpace | fold | noSemi | noNotes, true},
}

var passNames = [...]string{
	1: "exact", 2: "trimmed", 3: "trailing blanks", 4: "tabs and spaces", 5: "Unicode forms", 6: "runs of blanks",
	7: "comments", 8: "similar lines", 9: "key tokens",
}

// lastForAll is the last pass that may change all places of old_string.
const lastForAll = 5

// lastNoted is the last pass to which comments are text like any other.
const lastNoted = 6

// maxHits bounds how many places are counted.
const maxHits = 100_000

// A hit is a place found in a stream: its bytes i to j.
type hit struct {
	Range
	i, j int
}

// A finding is what a pass found for a reading.
type finding struct {
	pass
	order   int // of the pass
	reading *reading
	file    *stream
	old     *stream
	hits    []hit
	also    []*finding // what other readings have found in the same pass
	short   bool       // old_string has so little in it that it must be whole lines, with the same signs in the same order
	literal bool       // new_string takes the place as it is, in a later pass than the first
}

// search looks for a reading of old_string in the stream of a pass. It gives nil when there is no place.
func (t *Text) search(p pass, r *reading, file *stream, all bool) *finding {
	old := canon(r.old, p.level)
	if p.trim {
		old = old.trimmed()
	}
	if len(old.text) == 0 {
		return nil
	}
	f := &finding{pass: p, reading: r, file: file, old: old}
	if p.number > 1 && !p.allows(r, old) {
		if f.short = p.allowsShort(old); !f.short {
			return nil
		}
	}
	for from := 0; len(f.hits) < maxHits; {
		i := bytes.Index(file.text[from:], old.text)
		if i < 0 {
			break
		}
		h := hit{i: from + i, j: from + i + len(old.text)}
		h.Range = Range{int(file.start[h.i]), int(file.end[h.j-1])}
		from = h.i + 1
		if file.border(h.i) && file.border(h.j) && (p.number == 1 || t.fits(f, h)) && (r.numbers == nil || t.numberedAt(f, h)) {
			f.hits = append(f.hits, h)
			if all {
				from = h.j
			}
		}
	}
	switch {
	case len(f.hits) == 0:
		return nil
	case p.level&(noNotes|maybe) == noNotes:
		return t.undoubted(f)
	}
	return f
}

// undoubted is a finding of a pass that ignores comments, if what only may be a comment makes no difference. There may be
// more places then, or it is not clear that this is one.
func (t *Text) undoubted(f *finding) *finding {
	p := f.pass
	p.level |= maybe
	g := t.search(p, f.reading, t.stream(p.level), false)
	switch {
	case g != nil && len(g.hits) > len(f.hits):
		return g
	case g == nil || g.hits[0].Range != f.hits[0].Range:
		return nil
	case len(f.hits) == 1 && (t.misquoted(f.reading, t.place(f, f.hits[0])) || t.rivaled(f.reading, f.hits[0])):
		return nil
	}
	return f
}

// allows says whether old_string, in the form of the pass, has enough in it to be looked for.
func (p pass) allows(r *reading, old *stream) bool {
	letters := alnums(old.text)
	switch p.number {
	case 2, 3, 4, 5, 6:
		return letters >= 3
	}
	return letters >= 12 && (p.level&noNotes == 0 || r.old.syntax != nil && r.codeLines() >= 2 && !r.old.syntax.unbalanced(r.old.data))
}

// allowsShort says whether old_string has at least enough in it to be looked for as whole lines that differ in blanks.
func (p pass) allowsShort(old *stream) bool {
	return alnums(old.text) > 0 && len(old.text) > 1 && p.level&(noNotes|noSemi) == 0
}

// sameSigns says that a place has the words and signs of old_string, whatever blanks are between them.
func (t *Text) sameSigns(r *reading, h hit) bool {
	return slices.Equal(tokens.FindAllString(string(r.old.data), -1), tokens.FindAllString(string(t.data[h.Start:h.End]), -1))
}

// fits says whether a place ends and starts where words do, and where lines do when it must.
func (t *Text) fits(f *finding, h hit) bool {
	if insideWord(t.data, h.Start) || insideWord(t.data, h.End) {
		return false
	}
	starts, ends := t.startsLine(f.file, h), t.endsLine(f.file, h, f.level)
	if f.short && (!starts || !ends || !t.sameSigns(f.reading, h)) {
		return false
	}
	if f.number >= 7 || f.bare(starts, ends) {
		return starts && ends && (f.level&(noNotes|maybe) != noNotes || t.edgeNotes(f.reading, h))
	}
	return (starts || !f.reading.spaceBefore) && (ends || !f.reading.spaceAfter)
}

// bare says that old_string has several lines, and that the first or the last of them is no more than brackets and yet a part
// of a line of the file. Such a part says nothing.
func (f *finding) bare(starts, ends bool) bool {
	text := f.old.text
	first, last := text[:lineLen(text)], text[bytes.LastIndexByte(text, '\n')+1:]
	return len(f.reading.old.lines) > 1 && (!starts && alnums(first) == 0 || !ends && alnums(last) == 0)
}

// insideWord says whether the runes before and after an offset are parts of one word.
func insideWord(data []byte, at int) bool {
	before, _ := utf8.DecodeLastRune(data[:at])
	after, _ := utf8.DecodeRune(data[at:])
	return at > 0 && at < len(data) && wordRune(before) && wordRune(after) && !ideograph(before) && !ideograph(after)
}

func wordRune(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// ideograph is for scripts that put no blanks between words.
func ideograph(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// startsLine says that nothing the level sees is before the hit on its line.
func (t *Text) startsLine(s *stream, h hit) bool {
	l := t.lines[t.lineAt(h.Start)]
	if h.i == 0 || int(s.start[h.i-1]) < l.start {
		return true
	}
	return isBlankLine(t.data[l.start:h.Start])
}

// endsLine says that nothing the level sees is after the hit on its line.
func (t *Text) endsLine(s *stream, h hit, lv level) bool {
	l := t.lines[t.lineAt(max(h.Start, h.End-1))]
	if h.j == len(s.text) || int(s.start[h.j]) >= l.end {
		return true
	}
	rest := t.data[h.End:max(h.End, l.end)]
	if lv&noSemi != 0 {
		rest = bytes.TrimLeft(rest, " \t;,")
		return len(rest) == 0 || lv&noNotes != 0 && t.tail(t.lineAt(h.End)) <= l.end-len(rest)
	}
	return isBlankLine(rest)
}

// alnums counts letters and digits.
func alnums(b []byte) int {
	n := 0
	for len(b) > 0 {
		r, size := rune(b[0]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(b)
		}
		if r != '_' && wordRune(r) {
			n++
		}
		b = b[size:]
	}
	return n
}
