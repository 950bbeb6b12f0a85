package match

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What a refusal shows to be copied is whole, and together with the rest below 16 kB.
const (
	maxExcerpt = 7000
	maxDiff    = 1200
	maxExact   = 6000
	maxShown   = 120 // lines
	maxWidth   = 160 // of a line that is shown, and not to be copied
	maxMore    = 15  // lines that are added on a side to tell a place from others
)

// quoteShort quotes a line, cut so that it fits into a sentence.
func quoteShort(s string) string {
	if r := []rune(s); len(r) > 80 {
		return strconv.Quote(string(r[:80])) + "..."
	}
	return strconv.Quote(s)
}

// cutLine is a line for an excerpt, cut when it is long.
func cutLine(b []byte) string {
	if len(b) <= maxWidth {
		return string(b)
	}
	n := maxWidth
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return string(b[:n]) + "..."
}

// numberedLines shows the lines from to to of the file, the last not included, with their numbers.
func (t *Text) numberedLines(from, to int) string {
	var b strings.Builder
	from, to = max(0, from), min(to, len(t.lines))
	for i := from; i < to; i++ {
		l := string(t.text(i))
		if b.Len()+len(l) > maxExcerpt || i-from >= maxShown {
			l = cutLine(t.text(i))
		}
		if b.Len() > maxExcerpt || i-from >= maxShown {
			fmt.Fprintf(&b, "... (%d lines more)\n", to-i)
			break
		}
		fmt.Fprintf(&b, "%6d\t%s\n", i+1, l)
	}
	return b.String()
}

// cutAround is a line for a diff, cut when it is long so that what differs from another one is seen.
func cutAround(b, other []byte) string {
	n := commonPrefix(b, other)
	if len(b) <= maxWidth || n < maxWidth/2 {
		return cutLine(b)
	}
	from := max(0, n-maxWidth/3)
	for from < len(b) && !utf8.RuneStart(b[from]) {
		from++
	}
	return "..." + cutLine(b[from:])
}

// quoteAround quotes a line so that what differs from another one is seen.
func quoteAround(s, other string) string {
	if n := commonPrefix([]byte(s), []byte(other)); utf8.RuneCountInString(s) > 80 && n > 40 {
		from := n - 30
		for from > 0 && !utf8.RuneStart(s[from]) {
			from--
		}
		return "..." + quoteShort(s[from:])
	}
	return quoteShort(s)
}

// lineSpan names lines, counted from 0, the last not included.
func lineSpan(from, to int) string {
	if to-from <= 1 {
		return fmt.Sprintf("line %d", from+1)
	}
	return fmt.Sprintf("lines %d to %d", from+1, to)
}

// span are the lines that a range of the file is on.
func (t *Text) span(r Range) (from, to int) {
	return t.lineAt(r.Start), t.lineAt(max(r.Start, r.End-1)) + 1
}

// where names the lines of a range.
func (t *Text) where(r Range) string { return lineSpan(t.span(r)) }
