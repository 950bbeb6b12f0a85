package match

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// A level says what two texts may differ in and still be equal. Line endings never count.
type level uint16

const (
	trail    level = 1 << iota // blanks at the end of lines
	lead                       // blanks at the start of lines
	fold                       // forms of Unicode: composed or not, quotes, dashes, width, zero width
	collapse                   // how many blanks there are in a run
	noBlank                    // blank lines
	noNotes                    // comments
	maybe                      // with noNotes, also what only may be a comment
	noSpace                    // white space of any kind, and which quote is used
	noSemi                     // semicolons, and commas before a closing bracket
)

// A stream is a text in the form that a level compares, and for each byte of it the range of the text it came from.
type stream struct {
	text       []byte
	start, end []int32
}

func (s *stream) add(c byte, from, to int) {
	s.text = append(s.text, c)
	s.start, s.end = append(s.start, int32(from)), append(s.end, int32(to))
}

func (s *stream) keep(n int) { s.text, s.start, s.end = s.text[:n], s.start[:n], s.end[:n] }

// canon makes the stream of a text.
func canon(src *source, lv level) *stream {
	s := &stream{text: make([]byte, 0, len(src.data)), start: make([]int32, 0, len(src.data)), end: make([]int32, 0, len(src.data))}
	var notes []Range
	switch {
	case lv&maybe != 0:
		notes = src.maybeNotes()
	case lv&noNotes != 0:
		notes = src.notes()
	}
	for _, l := range src.lines {
		for len(notes) > 0 && notes[0].End <= l.start {
			notes = notes[1:]
		}
		s.line(src.data, l, lv, notes)
	}
	if lv&noSemi != 0 {
		s.dropSeparators()
	}
	return s
}

// line appends one line. Notes are the comments from it on.
func (s *stream) line(data []byte, l line, lv level, notes []Range) {
	from := len(s.text)
	at := l.start
	for _, n := range notes {
		if n.Start >= l.end {
			break
		}
		if n.Start > at {
			s.part(data[at:n.Start], at, lv)
		}
		at = max(at, n.End)
	}
	if at < l.end {
		s.part(data[at:l.end], at, lv)
	}
	s.tidy(from, lv)
	if l.next > l.end && lv&noSpace == 0 && (lv&noBlank == 0 || len(s.text) > from) {
		s.add('\n', l.end, l.next)
	}
}

// part appends a part of a line as it is, but for forms of Unicode.
func (s *stream) part(b []byte, at int, lv level) {
	if lv&fold != 0 && !isASCII(b) {
		s.foldInto(b, at)
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

// tidy takes from the line that starts at from what the level does not see.
func (s *stream) tidy(from int, lv level) {
	if lv&trail != 0 {
		s.keep(from + len(bytes.TrimRight(s.text[from:], " \t")))
	}
	if lv&(lead|collapse|noSpace) == 0 {
		return
	}
	to, n := from, indentLen(s.text[from:])
	if lv&lead == 0 {
		n = 0
	}
	for i := from + n; i < len(s.text); i++ {
		c := s.text[i]
		blank := c == ' ' || c == '\t'
		switch {
		case blank && lv&noSpace != 0:
			continue
		case blank && lv&collapse != 0 && to > from && s.text[to-1] == ' ':
			s.end[to-1] = s.end[i]
			continue
		case blank && lv&collapse != 0:
			c = ' '
		case c == '\'' && lv&noSpace != 0:
			c = '"'
		}
		s.text[to], s.start[to], s.end[to] = c, s.start[i], s.end[i]
		to++
	}
	s.keep(to)
}

// dropSeparators takes away semicolons, and commas that a closing bracket or nothing follows.
func (s *stream) dropSeparators() {
	to := 0
	for i, c := range s.text {
		if c == ';' || c == ',' && s.closes(i+1) {
			continue
		}
		s.text[to], s.start[to], s.end[to] = c, s.start[i], s.end[i]
		to++
	}
	s.keep(to)
}

func (s *stream) closes(i int) bool {
	return i >= len(s.text) || bytes.IndexByte([]byte(")]}"), s.text[i]) >= 0
}

// trimmed is the stream without white space around it.
func (s *stream) trimmed() *stream {
	from := len(s.text) - len(bytes.TrimLeft(s.text, " \t\n"))
	to := max(from, len(bytes.TrimRight(s.text, " \t\n")))
	return &stream{s.text[from:to], s.start[from:to], s.end[from:to]}
}

// border says that no unit of the text reaches over the place before byte i.
func (s *stream) border(i int) bool {
	return i <= 0 || i >= len(s.text) || s.start[i] != s.start[i-1]
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
