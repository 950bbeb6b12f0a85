package main

import (
	"bytes"
	"fmt"
)

const contextLines = 3 // unchanged lines around a change, as diff -u has them

// A region is a run of whole lines, text[start:end], that became the lines in new.
type region struct {
	start, end int
	new        []byte
}

// regions are the lines that the edit changes, in order. As the places are known nothing needs to be compared: places on
// the same line make one region, and equal lines at its start and end do not count.
func (e *edit) regions() (out []region) {
	text := e.text()
	var r *region
	done := 0 // how far text has been taken into r.new
	finish := func() {
		if r == nil {
			return
		}
		r.new = append(r.new, text[done:r.end]...)
		if t := r.trim(text); t.start < t.end || len(t.new) > 0 {
			out = append(out, t)
		}
	}
	for _, at := range e.at {
		if r == nil || at >= r.end {
			finish()
			done = lineStart(text, at)
			r = &region{start: done}
		}
		r.new = append(append(r.new, text[done:at]...), e.with...)
		done = at + e.size
		r.end = lineEnd(text, done)
	}
	finish()
	return out
}

// text is what the file held.
func (e *edit) text() []byte {
	if e.before == nil {
		return nil
	}
	return e.before.data
}

// trim drops the lines that are the same before and after.
func (r region) trim(text []byte) region {
	for old := text[r.start:r.end]; len(old) > 0; old = text[r.start:r.end] {
		line := old[:lineEnd(old, 0)]
		if !bytes.Equal(line, r.new[:lineEnd(r.new, 0)]) {
			break
		}
		r.start, r.new = r.start+len(line), r.new[len(line):]
	}
	for old := text[r.start:r.end]; len(old) > 0; old = text[r.start:r.end] {
		line := old[lastLine(old):]
		if !bytes.Equal(line, r.new[lastLine(r.new):]) {
			break
		}
		r.end, r.new = r.end-len(line), r.new[:len(r.new)-len(line)]
	}
	return r
}

// diff shows the edit as diff -u would. It is empty when nothing changes.
func (e *edit) diff(most limits) string {
	text := e.text()
	if bytes.IndexByte(text, 0) >= 0 || bytes.IndexByte(e.with, 0) >= 0 {
		return fmt.Sprintf("Binary file %s: %d bytes become %d.", e.place.Path, len(text), len(e.after))
	}
	out := page{most: most}
	from := "a/" + e.place.Path
	if e.before == nil {
		from = "/dev/null"
	}
	out.line("", "--- "+from)
	out.line("", "+++ b/"+e.place.Path)
	line := counter{text: text}
	shift := 0 // how many more lines there are, so far, after than before
	for regions := e.regions(); len(regions) > 0; {
		n := together(text, regions)
		shift = out.hunk(text, regions[:n], &line, shift)
		regions = regions[n:]
	}
	if e.unlisted > 0 {
		out.line("", fmt.Sprintf("... and %d more places", e.unlisted))
	}
	return out.String()
}

// together tells how many regions from the first on are so near each other that they make one hunk.
func together(text []byte, regions []region) int {
	n := 1
	for n < len(regions) && bytes.Count(text[regions[n-1].end:regions[n].start], lf) <= 2*contextLines {
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

// lastLine gives the offset where the last line starts.
func lastLine(b []byte) int { return lineStart(b, max(len(b)-1, 0)) }

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
