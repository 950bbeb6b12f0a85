package match

import (
	"bytes"
	"regexp"
	"slices"
)

// scan finds comments from the start of a text on, which is taken to be outside of strings and comments.
func (x *syntax) scan(data []byte) []Range {
	var out []Range
	starts := x.starters()
	for at := 0; at < len(data); {
		if !starts[data[at]] {
			at++
			continue
		}
		end, comment := x.token(data, at)
		if comment && !isDirective(data[at:end]) {
			out = append(out, Range{at, end})
		}
		at = end
	}
	return out
}

// unbalanced says that a comment of a text starts before it or ends behind it.
func (x *syntax) unbalanced(data []byte) bool {
	starts := x.starters()
	for at := 0; at < len(data); {
		for _, b := range x.block {
			if bytes.HasPrefix(data[at:], []byte(b[1])) && b[1] != "]]" { // which ends other things as well
				return true
			}
		}
		if !starts[data[at]] {
			at++
			continue
		}
		end, comment := x.token(data, at)
		if comment && end == len(data) && x.open(data[at:]) {
			return true
		}
		at = end
	}
	return false
}

// open says that a text starts with a comment that has no end.
func (x *syntax) open(b []byte) bool {
	return slices.ContainsFunc(x.block, func(m [2]string) bool {
		return bytes.HasPrefix(b, []byte(m[0])) && !bytes.Contains(b[len(m[0]):], []byte(m[1]))
	})
}

// starters are the bytes that comments and strings begin with.
func (x *syntax) starters() (set [256]bool) {
	for _, l := range x.line {
		set[l[0]] = true
	}
	for _, b := range x.block {
		set[b[0][0]] = true
	}
	for _, q := range x.quotes {
		set[q.open[0]] = true
	}
	return set
}

// token gives the end of the comment or string at an offset, or of the byte there.
func (x *syntax) token(data []byte, at int) (end int, comment bool) {
	rest := data[at:]
	if at > 0 && data[at-1] == '\\' {
		return at + 1, false
	}
	for _, b := range x.block {
		if bytes.HasPrefix(rest, []byte(b[0])) {
			if i := bytes.Index(rest[len(b[0]):], []byte(b[1])); i >= 0 {
				return at + len(b[0]) + i + len(b[1]), true
			}
			return len(data), true
		}
	}
	for _, l := range x.line {
		if bytes.HasPrefix(rest, []byte(l)) && (!x.spaced || at == 0 || bytes.IndexByte([]byte(" \t\n"), data[at-1]) >= 0) {
			return at + lineLen(rest), true
		}
	}
	for _, q := range x.quotes {
		if bytes.HasPrefix(rest, []byte(q.open)) {
			return at + q.length(rest), false
		}
	}
	return at + 1, false
}

// length is how long the string is that b starts with. One that does not end where it must is the quote alone.
func (q quote) length(b []byte) int {
	for i := len(q.open); i < len(b); i++ {
		switch {
		case q.escapes && b[i] == '\\':
			i++
		case b[i] == '\n' && !q.multi:
			return len(q.open)
		case b[i] == q.end[0] && bytes.HasPrefix(b[i:], []byte(q.end)):
			return i + len(q.end)
		}
	}
	return len(q.open)
}

// lineLen is how much of b is on its first line, the end of line not included.
func lineLen(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return len(bytes.TrimSuffix(b[:i], []byte("\r")))
	}
	return len(b)
}

// Comments that programs read. To take one for prose could change what the code does.
var directive = regexp.MustCompile(`^(#!|//[a-z]+:[a-z]|//nolint|//export |//line |/\*line |// \+build|# ?type:|# ?noqa|# ?pragma|# ?pylint|# ?mypy|# -\*-|# ?frozen_string|` +
	`# ?shellcheck|# ?rubocop|# ?fmt:|# ?syntax ?=|(//|/\*) ?(eslint|prettier|@ts-|@jsx|istanbul|webpack|NOLINT|clang-format|go:)|///? ?<reference|/\*!|<!--\[if)`)

func isDirective(b []byte) bool { return directive.Match(b[:min(len(b), 80)]) }

// onlyNotes says that line i holds a comment, or a part of one, and nothing else.
func (s *source) onlyNotes(i int) bool {
	l, found := s.lines[i], false
	at := l.start + indentLen(s.text(i))
	notes := s.notes()
	for k := firstEnding(notes, at); k < len(notes) && notes[k].Start < l.end; k++ {
		if !isBlankLine(s.data[at:max(at, min(notes[k].Start, l.end))]) {
			return false
		}
		found, at = true, min(l.end, notes[k].End)
	}
	return found && isBlankLine(s.data[at:l.end])
}

// tail is where the comment starts that ends line i after code, or the end of the line.
func (s *source) tail(i int) int {
	l := s.lines[i]
	notes := s.notes()
	for k := firstEnding(notes, l.start); k < len(notes) && notes[k].Start < l.end; k++ {
		if notes[k].End >= l.end && notes[k].Start >= l.start {
			return notes[k].Start
		}
	}
	return l.end
}

// firstEnding is the index of the first comment that ends after an offset.
func firstEnding(notes []Range, offset int) int {
	lo, hi := 0, len(notes)
	for lo < hi {
		if mid := (lo + hi) / 2; notes[mid].End > offset {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}
