package match

import (
	"bytes"
	"cmp"
	"slices"
)

// notes gives the comments of a text that are so for certain, without those that tell a compiler or another program
// something. The text is read from its start on, which may be within a string, and a quote in a regular expression or in
// a here-document may be taken for a string: so a comment must be one as well when its line is read alone.
func (s *source) notes() []Range {
	if !s.scanned {
		s.scanned = true
		if s.syntax != nil {
			s.comments = slices.DeleteFunc(s.syntax.scan(s.data), func(r Range) bool { return !s.certain(r) })
		}
	}
	return s.comments
}

// maybeNotes gives all that may be a comment, whether the text is read as a whole or line by line.
func (s *source) maybeNotes() []Range {
	if s.syntax == nil {
		return nil
	}
	all := s.syntax.scan(s.data)
	for _, l := range s.lines {
		for _, r := range s.syntax.scan(s.data[l.start:l.end]) {
			all = append(all, Range{l.start + r.Start, l.start + r.End})
		}
	}
	slices.SortFunc(all, func(a, b Range) int { return cmp.Or(a.Start-b.Start, b.End-a.End) })
	out := all[:0]
	for _, r := range all {
		if n := len(out); n == 0 || r.End > out[n-1].End {
			out = append(out, r)
		}
	}
	return out
}

// certain says that a comment is one when its line is read alone, and that no quote stands alone before it.
func (s *source) certain(r Range) bool {
	l := s.lines[s.lineAt(r.Start)]
	at := l.start + indentLen(s.data[l.start:l.end])
	if at == r.Start {
		return true
	}
	if bytes.IndexByte([]byte(" \t;{}(),"), s.data[r.Start-1]) < 0 {
		return false
	}
	for at < r.Start {
		end, lone := s.syntax.step(s.data[:l.end], at)
		if lone {
			return false
		}
		at = end
	}
	return at == r.Start
}

// step is the end of what is at an offset, and whether that is a quote alone.
func (x *syntax) step(data []byte, at int) (end int, lone bool) {
	for _, q := range x.quotes {
		if bytes.HasPrefix(data[at:], []byte(q.open)) {
			n := q.length(data[at:])
			return at + n, n == len(q.open)
		}
	}
	end, _ = x.token(data, at)
	return end, false
}
