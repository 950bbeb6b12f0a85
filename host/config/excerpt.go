package config

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"golang.org/x/text/width"
)

// maxBefore and maxLine bound the part of a long line that is shown, in bytes.
const maxBefore, maxLine = 40, 100

// excerpt gives the source line that a range starts in, with the range underlined, or "" for the zero range.
func excerpt(src []byte, at hcl.Range) string {
	if at.Start.Line == 0 || at.Start.Byte > len(src) {
		return ""
	}
	start := bytes.LastIndexByte(src[:at.Start.Byte], '\n') + 1
	line, _, _ := bytes.Cut(src[start:], []byte("\n"))
	from := at.Start.Byte - start
	to := len(bytes.TrimRight(line, " \t\r"))
	if at.End.Line == at.Start.Line {
		to = at.End.Byte - start
	}
	text, before, marked := window(string(line), from, to)
	number := fmt.Sprintf("%4d", at.Start.Line)
	return fmt.Sprintf("%s | %s\n%*s | %s%s", number, text, len(number), "",
		strings.Repeat(" ", before), strings.Repeat("^", max(marked, 1)))
}

// window gives the part of a line around the bytes from to to, and the widths of what is before them and of what is
// between them.
func window(line string, from, to int) (text string, before, marked int) {
	line = strings.TrimRight(line, " \t\r")
	from = min(from, len(line))
	to = min(max(from, to), len(line))
	first, last := 0, len(line)
	if len(line) > maxLine {
		first = max(0, from-maxBefore)
		last = min(len(line), first+maxLine)
	}
	to = min(to, last)
	var lead, tail string
	if first > 0 {
		lead = "…"
	}
	if last < len(line) {
		tail = "…"
	}
	a, b, c := cells(line[first:from]), cells(line[from:to]), cells(line[to:last])
	return lead + a + b + c + tail, columns(lead + a), columns(b)
}

// cells gives text that a terminal shows as it is: no tabs, no control characters, nothing that turns the direction of
// writing. A window may cut a character; what is left of it shows as the same sign.
func cells(s string) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case c == '\t':
			b.WriteString("    ")
		case !unicode.IsPrint(c):
			b.WriteRune('\uFFFD')
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// columns is how many columns of a terminal the text takes.
func columns(s string) int {
	n := 0
	for _, c := range s {
		switch kind := width.LookupRune(c).Kind(); {
		case unicode.In(c, unicode.Mn, unicode.Me):
		case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// visible makes one printable line of a text that may quote the source.
func visible(s string) string {
	return cells(strings.Join(strings.Fields(s), " "))
}
