package match

import (
	"bytes"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/toolhost/toolhost/internal/lazy"
)

// A line is data[start:end] without its line ending, data[end:next]: "\n", "\r\n", or nothing at the end of a text.
type line struct{ start, end, next int }

// A source is a text cut into lines, with its comments: the file, or one of the model's strings.
type source struct {
	data    []byte
	lines   []line
	syntax  *syntax
	certain []Range // comments, sorted; valid once scanned
	scanned bool
}

func newSource(data []byte, s *syntax) *source {
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
	return &source{data: data, lines: lines, syntax: s}
}

var newline = []byte("\n")

// A span is some lines, the last not included.
type span struct{ from, to int }

// bytes are the lines of a span with their endings.
func (s *source) bytes(part span) []byte {
	if part.from >= part.to {
		return nil
	}
	return s.data[s.lines[part.from].start:s.lines[part.to-1].next]
}

// ink counts the letters and the signs of ASCII in a text. The stream of any equivalence that ignores no comments and
// no separators has at least a byte for each.
func ink(b []byte) (n int) {
	for _, r := range string(b) {
		if r > ' ' && r < utf8.RuneSelf || r >= utf8.RuneSelf && unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

// reach are the lines of a range, and as many before and behind it as can be a part of a text there that has some ink:
// also those without any that follow when all of it is found.
func (s *source) reach(r Range, most int) (out span) {
	out.from, out.to = s.span(r)
	for n := 0; n <= most && out.from > 0; n += ink(s.text(out.from)) {
		out.from--
	}
	for n := 0; n <= most && out.to < len(s.lines); n += ink(s.text(out.to - 1)) {
		out.to++
	}
	return out
}

// text is line i without its ending, and key the same with single blanks and none around.
func (s *source) text(i int) []byte { return s.data[s.lines[i].start:s.lines[i].end] }
func (s *source) key(i int) string  { return squeeze(s.text(i)) }

// counts says how many of some lines have a key, count how many of all lines have one.
func (s *source) counts(from, to int) map[string]int {
	out := map[string]int{}
	for i := from; i < to; i++ {
		out[s.key(i)]++
	}
	return out
}

// count is the number of lines that have a key.
func (s *source) count(key string) (n int) {
	for i := range s.lines {
		if s.key(i) == key {
			n++
		}
	}
	return n
}

// outerBlanks counts the blank lines that a text begins and ends with.
func (s *source) outerBlanks() (head, tail int) {
	for head < len(s.lines) && isBlank(s.text(head)) {
		head++
	}
	for tail < len(s.lines)-head && isBlank(s.text(len(s.lines)-1-tail)) {
		tail++
	}
	return head, tail
}

// more says how often a text has a line more than another one.
func (s *source) more(than *source) map[string]int {
	out := s.counts(0, len(s.lines))
	for key, n := range than.counts(0, len(than.lines)) {
		out[key] -= n
	}
	return out
}

// lineAt is the index of the line that holds the byte at an offset, lineFrom the same when it is line i or a later one.
func (s *source) lineAt(offset int) int {
	return max(0, sort.Search(len(s.lines), func(i int) bool { return s.lines[i].start > offset })-1)
}

func (s *source) lineFrom(i, offset int) int {
	for i+1 < len(s.lines) && s.lines[i+1].start <= offset {
		i++
	}
	return i
}

// span are the lines that a range is on, the last not included.
func (s *source) span(r Range) (from, to int) {
	return s.lineAt(r.Start), s.lineAt(max(r.Start, r.End-1)) + 1
}

// eol is the line ending for new lines at line i: its own, or that of its neighbors, or that of the first line.
func (s *source) eol(i int) []byte {
	for _, j := range []int{i, i - 1, i + 1, 0} {
		if j >= 0 && j < len(s.lines) && s.lines[j].next > s.lines[j].end {
			return s.data[s.lines[j].end:s.lines[j].next]
		}
	}
	return newline
}

// rightTrimmed are the lines without blanks at their ends.
func (s *source) rightTrimmed() []string {
	out := make([]string, len(s.lines))
	for i := range out {
		out[i] = string(bytes.TrimRight(s.text(i), blanks))
	}
	return out
}

const (
	blanks = " \t"
	spaces = " \t\r\n"
)

// indentLen is how many bytes of blanks a line starts with, and leading these blanks.
func indentLen(b []byte) int      { return len(b) - len(bytes.TrimLeft(b, blanks)) }
func leading(b []byte) string     { return string(b[:indentLen(b)]) }
func isBlank(b []byte) bool       { return len(bytes.TrimSpace(b)) == 0 }
func isBlankString(s string) bool { return strings.TrimSpace(s) == "" }
func blankByte(c byte) bool       { return c == ' ' || c == '\t' }

// toLF makes every CRLF a LF.
func toLF(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), newline) }

// lineLen is the length of the first line of b, without its ending.
func lineLen(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return len(bytes.TrimSuffix(b[:i], []byte("\r")))
	}
	return len(b)
}

func firstLine(s string) string { return s[:lineLen([]byte(s))] }

// squeeze is a text with single blanks between its words and none around, despaced one without any.
func squeeze(b []byte) string  { return string(bytes.Join(bytes.Fields(b), []byte(" "))) }
func despaced(s string) string { return strings.Join(strings.Fields(s), "") }

// cutSpace cuts the white space off both ends of a text; of one that is nothing else it is all on the left.
func cutSpace(b []byte) (left, text, right []byte) {
	n := len(b) - len(bytes.TrimLeftFunc(b, unicode.IsSpace))
	text = bytes.TrimRightFunc(b[n:], unicode.IsSpace)
	return b[:n], text, b[n+len(text):]
}

// outerSpace is the white space at the start and the end of a text.
func outerSpace(s string) (head, tail string) {
	return s[:len(s)-len(strings.TrimLeft(s, spaces))], s[len(strings.TrimRight(s, spaces)):]
}

func setOf(lines []string) map[string]bool {
	set := make(map[string]bool, len(lines))
	for _, l := range lines {
		set[l] = true
	}
	return set
}

// without returns s without the runes that some has.
func without(s, some string) string {
	return keepOnly(s, func(r rune) bool { return !strings.ContainsRune(some, r) })
}

func keepOnly(s string, keep func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if keep(r) {
			return r
		}
		return -1
	}, s)
}

func digits(s string) string { return keepOnly(s, unicode.IsDigit) }

func withoutNumbers(s string) string {
	return keepOnly(s, func(r rune) bool { return !unicode.IsNumber(r) })
}

var (
	tokens     = lazy.Regexp(`[\p{L}\p{M}\p{N}_]+|[^\s]`) // words, and signs one by one
	signs      = lazy.Regexp(`\S`)
	asciiWords = lazy.Regexp(`[A-Za-z0-9_]{3,}`)
)

func wordRune(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// ideograph is true for scripts without blanks between words.
func ideograph(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// insideWord reports whether the runes before and after an offset are parts of one word.
func insideWord(data []byte, at int) bool {
	before, after := lastRune(data[:at]), firstRune(data[at:])
	return at > 0 && at < len(data) && wordRune(before) && wordRune(after) && !ideograph(before) && !ideograph(after)
}

// insideRun reports whether an offset is within a run of one sign, such as the dashes or quotes that start a comment.
func insideRun(data []byte, at int) bool {
	return at > 0 && at < len(data) && data[at-1] == data[at] && strings.IndexByte(operators+"\"'`,;_", data[at]) >= 0
}

func firstRune(b []byte) rune {
	r, _ := utf8.DecodeRune(b)
	return r
}

func lastRune(b []byte) rune {
	r, _ := utf8.DecodeLastRune(b)
	return r
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

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// commonPrefix is the number of bytes that two texts have in common at their start, commonSuffix at their end; whole
// characters only.
func commonPrefix(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for n > 0 && (!startsCharacter(a[n:]) || !startsCharacter(b[n:])) {
		n--
	}
	return n
}

func commonSuffix(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && !startsCharacter(a[len(a)-n:]) {
		n--
	}
	return n
}

// startsCharacter reports whether a text starts neither within a rune nor with a mark on the rune before.
func startsCharacter(b []byte) bool {
	return len(b) == 0 || utf8.RuneStart(b[0]) && !startsMark(b)
}

// startsMark reports whether a text starts with a mark on the rune before. Invalid bytes are none.
func startsMark(b []byte) bool {
	return len(b) > 0 && b[0] >= utf8.RuneSelf && !norm.NFC.Properties(b).BoundaryBefore()
}

// equalEnds is the number of elements that two lists have in common at their start, and behind those at their end.
func equalEnds[T comparable](x, y []T) (head, tail int) {
	for head < min(len(x), len(y)) && x[head] == y[head] {
		head++
	}
	for tail < min(len(x), len(y))-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	return head, tail
}

func abs(n int) int { return max(n, -n) }
