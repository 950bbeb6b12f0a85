package match

import (
	"bytes"
	"sort"
)

// A line is data[start:end] without its end of line, which is data[end:next]: "\n", "\r\n", or at the end of a text nothing.
type line struct{ start, end, next int }

func splitLines(data []byte) []line {
	lines := make([]line, 0, bytes.Count(data, newline)+1)
	for at := 0; at < len(data); {
		l := line{at, len(data), len(data)}
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			l.end, l.next = at+i, at+i+1
			if i > 0 && data[l.end-1] == '\r' {
				l.end--
			}
		}
		lines = append(lines, l)
		at = l.next
	}
	return lines
}

var newline = []byte("\n")

// A source is a text with what is known of it: the file, or one of the model's strings.
type source struct {
	data     []byte
	lines    []line
	syntax   *syntax
	comments []Range // sorted; only valid once scanned
	scanned  bool
}

func newSource(data []byte, s *syntax) *source {
	return &source{data: data, lines: splitLines(data), syntax: s}
}

// text is line i without its end.
func (s *source) text(i int) []byte { return s.data[s.lines[i].start:s.lines[i].end] }

// lineAt is the index of the line that holds the byte at an offset.
func (s *source) lineAt(offset int) int {
	return max(0, sort.Search(len(s.lines), func(i int) bool { return s.lines[i].start > offset })-1)
}

// eol is the end of line that new lines at line i take: its own, or that of its neighbors, or that of the text.
func (s *source) eol(i int) []byte {
	for _, j := range []int{i, i - 1, i + 1, 0} {
		if j >= 0 && j < len(s.lines) && s.lines[j].next > s.lines[j].end {
			return s.data[s.lines[j].end:s.lines[j].next]
		}
	}
	return newline
}

// indentLen is how many bytes of blanks a line starts with.
func indentLen(b []byte) int { return len(b) - len(bytes.TrimLeft(b, " \t")) }

func isBlankLine(b []byte) bool { return len(bytes.TrimSpace(b)) == 0 }

// toLF makes every CRLF a LF.
func toLF(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), newline) }
