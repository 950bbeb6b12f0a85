package match

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// An equivalence is a set of differences that do not count. Line endings never count.
type equivalence uint16

const (
	trailingBlanks equivalence = 1 << iota
	leadingBlanks
	unicodeForms  // composed or not, quotes, dashes, width, zero width
	blankRuns     // how many blanks there are in a run
	blankLines    // whether they are there
	comments      // likewise
	maybeComments // with comments: also what only may be a comment
	allSpace      // white space of any kind, and which quote is used
	separators    // semicolons, and commas before a closing bracket
)

// A stream is a text in the normal form of an equivalence, and for each byte of it the range of the text it came from.
type stream struct {
	text       []byte
	start, end []int32
}

func (s *stream) add(c byte, from, to int) {
	s.text = append(s.text, c)
	s.start, s.end = append(s.start, int32(from)), append(s.end, int32(to))
}

func (s *stream) truncate(n int) { s.text, s.start, s.end = s.text[:n], s.start[:n], s.end[:n] }

// trimmed is the stream without white space around it.
func (s *stream) trimmed() *stream {
	from := len(s.text) - len(bytes.TrimLeft(s.text, " \t\n"))
	to := max(from, len(bytes.TrimRight(s.text, " \t\n")))
	return &stream{s.text[from:to], s.start[from:to], s.end[from:to]}
}

// border reports whether no character of the original text spans the place before byte i.
func (s *stream) border(i int) bool {
	return i <= 0 || i >= len(s.text) || s.start[i] != s.start[i-1]
}

// maxCached is the size of a file up to which the streams of all equivalences are kept.
const maxCached = 2 << 20

// stream is the file in the normal form of an equivalence.
func (t *Text) stream(ignored equivalence) *stream {
	if s, ok := t.streams[ignored]; ok {
		return s
	}
	if len(t.data) > maxCached {
		clear(t.streams)
	}
	t.streams[ignored] = normalize(t.source, ignored)
	return t.streams[ignored]
}

// normalize makes the stream of a text, normalizeLines that of some lines, with a byte that no text has between those
// that are apart.
func normalize(src *source, ignored equivalence) *stream {
	return normalizeLines(src, ignored, []span{{0, len(src.lines)}})
}

func normalizeLines(src *source, ignored equivalence, parts []span) *stream {
	n := 0
	for _, part := range parts {
		n += len(src.bytes(part)) + 1
	}
	s := &stream{text: make([]byte, 0, n), start: make([]int32, 0, n), end: make([]int32, 0, n)}
	var left []Range // comments from the line on
	switch {
	case ignored&maybeComments != 0:
		left = src.maybeComments()
	case ignored&comments != 0:
		left = src.comments()
	}
	for _, part := range parts {
		if n := len(s.end); n > 0 {
			s.add(0, int(s.end[n-1]), int(s.end[n-1]))
		}
		s.lines(src, ignored, left, part)
	}
	if ignored&separators != 0 {
		s.dropSeparators()
	}
	return s
}

// lines appends some lines without the comments that are left.
func (s *stream) lines(src *source, ignored equivalence, left []Range, part span) {
	for _, l := range src.lines[part.from:part.to] {
		for len(left) > 0 && left[0].End <= l.start {
			left = left[1:]
		}
		from, at := len(s.text), l.start
		for _, c := range left {
			if c.Start >= l.end {
				break
			}
			if c.Start > at {
				s.part(src.data[at:c.Start], at, ignored)
			}
			at = max(at, c.End)
		}
		if at < l.end {
			s.part(src.data[at:l.end], at, ignored)
		}
		s.normalizeBlanks(from, ignored)
		if l.next > l.end && ignored&allSpace == 0 && (ignored&blankLines == 0 || len(s.text) > from) {
			s.add('\n', l.end, l.next)
		}
	}
}

// part appends a part of a line, which starts at an offset of the text.
func (s *stream) part(b []byte, at int, ignored equivalence) {
	if ignored&unicodeForms != 0 && !isASCII(b) {
		var it norm.Iter
		it.Init(norm.NFC, b)
		for !it.Done() {
			from := it.Pos()
			s.fold(it.Next(), at+from, at+it.Pos())
		}
		return
	}
	from := len(s.text)
	s.text = append(s.text, b...)
	s.start = slices.Grow(s.start, len(b))[:from+len(b)]
	s.end = slices.Grow(s.end, len(b))[:from+len(b)]
	start, end := s.start[from:], s.end[from:]
	for i := 0; i < len(b); {
		n := 1
		if b[i] >= utf8.RuneSelf {
			_, n = utf8.DecodeRune(b[i:])
		}
		first, last := int32(at+i), int32(at+i+n)
		for k := i + n; i < k; i++ {
			start[i], end[i] = first, last
		}
	}
}

// fold appends one segment of NFC text with plain quotes, dashes and blanks. What a segment folds to belongs
// together: a match takes all of it or none. Invalid bytes stay.
func (s *stream) fold(seg []byte, from, to int) {
	for len(seg) > 0 {
		r, n := utf8.DecodeRune(seg)
		if r == utf8.RuneError && n == 1 {
			s.add(seg[0], from, to)
		} else if signs := spelledOut[r]; signs != "" {
			for _, c := range []byte(signs) {
				s.add(c, from, to)
			}
		} else if r = foldRune(r); r >= 0 && r != '\ufe0e' && r != '\ufe0f' { // a sign as text or as a picture
			var buf [utf8.UTFMax]byte
			for _, c := range buf[:utf8.EncodeRune(buf[:], r)] {
				s.add(c, from, to)
			}
		}
		seg = seg[n:]
	}
}

// foldRune returns the plain form of quotes, dashes, odd blanks and full-width forms, and -1 for runes without width.
func foldRune(r rune) rune {
	switch {
	case r >= 0xFF01 && r <= 0xFF5E:
		return r - 0xFEE0
	case r < 0xA0:
		return r
	}
	if to, ok := folded[r]; ok {
		return to
	}
	if unicode.Is(unicode.Zs, r) {
		return ' '
	}
	return r
}

// spelledOut are signs for which a program has several.
var spelledOut = map[rune]string{'…': "...", '→': "->", '←': "<-", '⇒': "=>", '≠': "!=", '≤': "<=", '≥': ">="}

var folded = map[rune]rune{
	'\u2018': '\'', '\u2019': '\'', '\u201a': '\'', '\u201b': '\'', '\u2032': '\'',
	'\u201c': '"', '\u201d': '"', '\u201e': '"', '\u201f': '"', '\u2033': '"',
	'\u2010': '-', '\u2011': '-', '\u2012': '-', '\u2013': '-', '\u2014': '-', '\u2015': '-', '\u2212': '-',
	'\u3002': '.', '\uff61': '.', '\u3001': ',', '\uff64': ',',
	'\u200b': -1, '\u200c': -1, '\u200d': -1, '\u2060': -1, '\ufeff': -1, '\u00ad': -1, '\u200e': -1, '\u200f': -1,
}

// normalizeBlanks drops or joins the ignored blanks of the line that starts at from.
func (s *stream) normalizeBlanks(from int, ignored equivalence) {
	if ignored&trailingBlanks != 0 {
		s.truncate(from + len(bytes.TrimRight(s.text[from:], blanks)))
	}
	if ignored&(leadingBlanks|blankRuns|allSpace) == 0 {
		return
	}
	to, n := from, 0
	rule := ignored&blankRuns != 0 && isTableRule(s.text[from:]) // which is as long as the columns are wide
	if ignored&leadingBlanks != 0 {
		n = indentLen(s.text[from:])
	}
	for i := from + n; i < len(s.text); i++ {
		c := s.text[i]
		switch {
		case blankByte(c) && (rule || ignored&allSpace != 0):
			continue
		case rule && c == '-' && to > from && s.text[to-1] == '-':
			s.end[to-1] = s.end[i]
			continue
		case blankByte(c) && ignored&blankRuns != 0 && to > from && s.text[to-1] == ' ':
			s.end[to-1] = s.end[i]
			continue
		case blankByte(c) && ignored&blankRuns != 0:
			c = ' '
		case c == '\'' && ignored&allSpace != 0:
			c = '"'
		}
		s.text[to], s.start[to], s.end[to] = c, s.start[i], s.end[i]
		to++
	}
	s.truncate(to)
}

// isTableRule reports whether a line is the rule below the head of a table in Markdown.
func isTableRule(line []byte) bool {
	return bytes.IndexByte(line, '|') >= 0 && bytes.IndexByte(line, '-') >= 0 && len(bytes.Trim(line, "|:- \t")) == 0
}

// dropSeparators drops semicolons, and commas before a closing bracket or the end.
func (s *stream) dropSeparators() {
	to := 0
	for i, c := range s.text {
		if c == ';' || c == ',' && (i+1 >= len(s.text) || bytes.IndexByte([]byte(")]}"), s.text[i+1]) >= 0) {
			continue
		}
		s.text[to], s.start[to], s.end[to] = c, s.start[i], s.end[i]
		to++
	}
	s.truncate(to)
}
