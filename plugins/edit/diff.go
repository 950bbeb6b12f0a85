package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

const contextLines = 3 // unchanged lines around a change, as diff -u has them

// A difference is the text of a file before and after.
type difference struct {
	path          string
	before, after []byte
	made, gone    bool // there was no file, or will be none
}

// write shows the difference as diff -u would. It shows nothing where there is none.
func (d difference) write(out *page) {
	if bytes.Equal(d.before, d.after) && !d.made && !d.gone {
		return
	}
	if bytes.IndexByte(d.before, 0) >= 0 || bytes.IndexByte(d.after, 0) >= 0 {
		out.line("", fmt.Sprintf("Binary file %s: %d bytes become %d.", inText(d.path), len(d.before), len(d.after)))
		return
	}
	from, to := inHeader("a/"+d.path), inHeader("b/"+d.path)
	if d.made {
		from = "/dev/null"
	}
	if d.gone {
		to = "/dev/null"
	}
	out.line("", "--- "+from)
	out.line("", "+++ "+to)
	line := counter{text: d.before}
	shift := 0 // how many more lines there are, so far, after than before
	for regions := compare(d.before, d.after); len(regions) > 0; {
		n := together(d.before, regions)
		shift = out.hunk(d.before, regions[:n], &line, shift)
		regions = regions[n:]
	}
}

// inText is a path as it stands in a diff or a sentence. One with a line break, or another character that is not plainly to
// be seen, is quoted: its name could pass for lines of the diff that somebody approves.
func inText(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(path)
	}
	return path
}

// inHeader is a path as it stands behind --- and +++, where patch(1) takes a space for the end, unless a tab comes behind it.
func inHeader(path string) string {
	if text := inText(path); text != path || !strings.Contains(path, " ") {
		return text
	}
	return path + "\t"
}

// together tells how many regions from the first on are so near each other that they make one hunk.
func together(text []byte, regions []region) int {
	n := 1
	for n < len(regions) && countLines(text[regions[n-1].end:regions[n].start]) <= 2*contextLines {
		n++
	}
	return n
}

// hunk writes regions with the lines around and between them, and gives the new shift of line numbers.
func (p *page) hunk(text []byte, regions []region, line *counter, shift int) int {
	from, to := regions[0].start, regions[len(regions)-1].end
	for range contextLines {
		from = lineStart(text, max(from-1, 0))
		to = lineEnd(text, to)
	}
	before := countLines(text[from:to])
	after := before
	for _, r := range regions {
		after += countLines(r.new) - countLines(text[r.start:r.end])
	}
	first := line.at(from)
	p.line("", fmt.Sprintf("@@ -%s +%s @@", span(first, before), span(first+shift, after)))
	for _, r := range regions {
		p.lines(" ", text[from:r.start])
		p.lines("-", text[r.start:r.end])
		p.lines("+", r.new)
		from = r.end
	}
	p.lines(" ", text[from:to])
	return shift + after - before
}

// span is a range of lines as diff writes it: no count for one line, the line before for none.
func span(first, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", first-1)
	case 1:
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d,%d", first, n)
}

// lineStart gives the offset where the line with the byte at an offset starts.
func lineStart(b []byte, at int) int { return bytes.LastIndexByte(b[:at], '\n') + 1 }

// lineEnd gives the offset behind that line and its newline.
func lineEnd(b []byte, at int) int {
	if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(b)
}

// countLines counts a last line without a newline too.
func countLines(b []byte) int {
	n := bytes.Count(b, lf)
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}

// A counter tells line numbers of rising offsets, counting each part of the text once.
type counter struct {
	text     []byte
	done, no int // no newlines before done
}

func (c *counter) at(offset int) int {
	c.no += bytes.Count(c.text[c.done:offset], lf)
	c.done = offset
	return c.no + 1
}
