package match

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The texts of a refusal together stay below 4 kB.
const (
	maxExcerpt = 1500
	maxDiff    = 1200
	maxExact   = 1200
	maxShown   = 60 // lines
	maxWidth   = 160
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
		if b.Len() > maxExcerpt || i-from >= maxShown {
			fmt.Fprintf(&b, "... (%d lines more)\n", to-i)
			break
		}
		fmt.Fprintf(&b, "%6d\t%s\n", i+1, cutLine(t.text(i)))
	}
	return b.String()
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
