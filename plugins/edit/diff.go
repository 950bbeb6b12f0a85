package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff/lcs"
)

const contextLines = 3 // unchanged lines around a change, as diff -u has them

// A difference is the text of a file before and after.
type difference struct {
	path          string
	before, after []byte
	made, gone    bool // there was no file, or will be none
}

// write writes the difference as diff -u would, nothing where there is none.
func (d difference) write(out *diffWriter) {
	if bytes.Equal(d.before, d.after) && !d.made && !d.gone {
		return
	}
	if bytes.IndexByte(d.before, 0) >= 0 || bytes.IndexByte(d.after, 0) >= 0 {
		out.line("", fmt.Sprintf("Binary file %s: %d bytes become %d.", pathText(d.path), len(d.before), len(d.after)))
		return
	}
	from, to := headerPath("a/"+d.path), headerPath("b/"+d.path)
	if d.made {
		from = "/dev/null"
	}
	if d.gone {
		to = "/dev/null"
	}
	out.line("", "--- "+from)
	out.line("", "+++ "+to)
	line := lineCounter{text: d.before}
	shift := 0 // how many more lines there are, so far, after than before
	for regions := compare(d.before, d.after); len(regions) > 0; {
		n := hunkSize(d.before, regions)
		shift = out.hunk(d.before, regions[:n], &line, shift)
		regions = regions[n:]
	}
}

// pathText is a path in a diff or a sentence. One with a line break, or another unprintable character, is quoted: it
// could pass for lines of the diff that a person approves.
func pathText(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(path)
	}
	return path
}

// headerPath is a path behind --- and +++, where patch(1) takes a space for the end unless a tab follows.
func headerPath(path string) string {
	if text := pathText(path); text != path || !strings.Contains(path, " ") {
		return text
	}
	return path + "\t"
}

// hunkSize is how many regions from the first on are so close that they make one hunk.
func hunkSize(text []byte, regions []region) int {
	n := 1
	for n < len(regions) && countLines(text[regions[n-1].end:regions[n].start]) <= 2*contextLines {
		n++
	}
	return n
}

// hunk writes regions with the lines around and between them, and returns the new shift of line numbers.
func (p *diffWriter) hunk(text []byte, regions []region, line *lineCounter, shift int) int {
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

// lineStart returns the offset where the line with the byte at an offset starts.
func lineStart(b []byte, at int) int { return bytes.LastIndexByte(b[:at], '\n') + 1 }

// lineEnd returns the offset behind that line and its newline.
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

// A lineCounter maps rising offsets to line numbers, counting each part of the text once.
type lineCounter struct {
	text     []byte
	done, no int // no newlines before done
}

func (c *lineCounter) at(offset int) int {
	c.no += bytes.Count(c.text[c.done:offset], lf)
	c.done = offset
	return c.no + 1
}

// limits bound a diff: its lines, its bytes, and the bytes of one line.
type limits struct{ lines, bytes, lineBytes int }

// A diffWriter collects the lines of a diff up to its limits, and counts those it leaves out.
type diffWriter struct {
	most    limits
	more    string // where the rest is
	text    strings.Builder
	count   int
	dropped int
}

// lines writes each line of b behind a mark, with a note when the last has no newline.
func (p *diffWriter) lines(mark string, b []byte) {
	for len(b) > 0 {
		end := lineEnd(b, 0)
		p.line(mark, string(bytes.TrimSuffix(b[:end], lf)))
		if b[end-1] != '\n' {
			p.line("", `\ No newline at end of file`)
		}
		b = b[end:]
	}
}

func (p *diffWriter) line(mark, line string) {
	if len(line) > p.most.lineBytes {
		line = fmt.Sprintf("%s... (%d bytes)", line[:p.most.lineBytes], len(line))
	}
	if p.count == p.most.lines || p.text.Len()+len(line) > p.most.bytes {
		p.dropped, p.most.bytes = p.dropped+1, 0 // and all that follows
		return
	}
	p.count++
	p.text.WriteString(mark + strings.ToValidUTF8(line, "\uFFFD") + "\n")
}

// String is the diff, with a last line on what is missing.
func (p *diffWriter) String() string {
	if p.dropped > 0 {
		return fmt.Sprintf("%s... (%d more lines of this diff are left out; %s)", p.text.String(), p.dropped, p.more)
	}
	return strings.TrimSuffix(p.text.String(), "\n")
}

const (
	maxLines   = 1_000_000 // in the part that differs: beyond, it is one region
	maxBetween = 20_000    // likewise, between two unchanged lines
)

// A region is a run of whole lines, before[start:end], that became the lines in new.
type region struct {
	start, end int
	new        []byte
}

// compare finds the lines that differ, in order. What is equal at both ends is not split into lines, so that an edit
// in a large file is found quickly.
func compare(before, after []byte) (out []region) {
	start := equalStart(before, after)
	end := equalEnd(before[start:], after[start:])
	x, y := before[start:len(before)-end], after[start:len(after)-end]
	if len(x) == 0 || len(y) == 0 || countLines(x)+countLines(y) > maxLines {
		if len(x)+len(y) > 0 {
			out = append(out, region{start, start + len(x), y})
		}
		return out
	}
	a, b := splitLines(x), splitLines(y)
	fromX, fromY := offsets(a), offsets(b)
	for _, d := range differ(a, b) {
		out = append(out, region{start + fromX[d.Start], start + fromX[d.End], y[fromY[d.ReplStart]:fromY[d.ReplEnd]]})
	}
	return out
}

// equalStart is how many bytes of whole lines are equal from the start.
func equalStart(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	if n == len(a) && n == len(b) {
		return n
	}
	return lineStart(a, n)
}

// equalEnd is how many bytes of whole lines are equal up to the end.
func equalEnd(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && (startsInside(a, n) || startsInside(b, n)) {
		n = len(a) - lineEnd(a, len(a)-n)
	}
	return n
}

// startsInside reports whether the last n bytes start in the middle of a line.
func startsInside(b []byte, n int) bool { return n < len(b) && b[len(b)-n-1] != '\n' }

func splitLines(b []byte) []string {
	out := make([]string, 0, countLines(b))
	for len(b) > 0 {
		end := lineEnd(b, 0)
		out, b = append(out, string(b[:end])), b[end:]
	}
	return out
}

// offsets are where each line starts, and where the last ends.
func offsets(lines []string) []int {
	out, at := make([]int, 0, len(lines)+1), 0
	for _, l := range lines {
		out, at = append(out, at), at+len(l)
	}
	return append(out, at)
}

// A pair is a line of a and the same line of b.
type pair struct{ a, b int }

// differ compares between the lines that both have once, in the same order: those are the best anchors, and leave short
// parts to compare.
func differ(a, b []string) (out []lcs.Diff) {
	var from pair
	for _, to := range append(commonUnique(a, b), pair{len(a), len(b)}) {
		for _, d := range between(a[from.a:to.a], b[from.b:to.b]) {
			out = append(out, lcs.Diff{Start: d.Start + from.a, End: d.End + from.a, ReplStart: d.ReplStart + from.b,
				ReplEnd: d.ReplEnd + from.b})
		}
		from = to
	}
	return out
}

func between(a, b []string) []lcs.Diff {
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	n, m := len(a)-start-end, len(b)-start-end
	switch {
	case n+m == 0:
		return nil
	case n == 0 || m == 0 || n+m == 2 || n+m > maxBetween:
		return []lcs.Diff{{Start: start, End: start + n, ReplStart: start, ReplEnd: start + m}}
	}
	return lcs.DiffLines(a, b)
}

// commonUnique pairs the lines that a and b have once: the longest sequence of them that rises in both (patience diff).
func commonUnique(a, b []string) []pair {
	inA, inB := once(a), once(b)
	var row []pair // by their place in a
	for i, line := range a {
		if inA[line] < 0 {
			continue
		}
		if j, ok := inB[line]; ok && j >= 0 {
			row = append(row, pair{i, j})
		}
	}
	return longestIncreasing(row)
}

// once maps each line to its index, or to -1 when it is there more than once.
func once(lines []string) map[string]int {
	out := make(map[string]int, len(lines))
	for i, l := range lines {
		if _, ok := out[l]; ok {
			i = -1
		}
		out[l] = i
	}
	return out
}

// longestIncreasing is the longest sequence of pairs whose b rises too.
func longestIncreasing(row []pair) []pair {
	var tops []int // by length: the pair with the least b that ends a sequence of that length
	before := make([]int, len(row))
	for i, p := range row {
		n, _ := slices.BinarySearchFunc(tops, p.b, func(top, b int) int { return row[top].b - b })
		before[i] = -1
		if n > 0 {
			before[i] = tops[n-1]
		}
		if n == len(tops) {
			tops = append(tops, i)
		}
		tops[n] = i
	}
	out := make([]pair, len(tops))
	for i, n := len(tops)-1, last(tops); i >= 0; i, n = i-1, before[n] {
		out[i] = row[n]
	}
	return out
}

func last(tops []int) int {
	if len(tops) == 0 {
		return -1
	}
	return tops[len(tops)-1]
}
