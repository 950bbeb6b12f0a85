package main

import (
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

var hunkHeader = lazy.Regexp(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)

// paintDiff returns the lines with those of diffs coloured. A hunk has as many lines as its header says: a removed
// line of it may begin with "--", and a line after it with "+".
func (t *terminal) paintDiff(lines []string) []string {
	out := make([]string, len(lines))
	before, after := 0, 0 // remaining lines of the hunk, of the old text and of the new
	for i, line := range lines {
		header := hunkHeader().FindStringSubmatch(line)
		switch {
		case before+after > 0 && strings.HasPrefix(line, "+"):
			after--
			line = t.paint(green, line)
		case before+after > 0 && strings.HasPrefix(line, "-"):
			before--
			line = t.paint(red, line)
		case before+after > 0 && strings.HasPrefix(line, `\`): // no newline at the end
		case header != nil:
			before, after = lineCount(header[1]), lineCount(header[2])
			line = t.paint(cyan, line)
		case before+after > 0:
			before, after = before-1, after-1
		case isFileHeader(lines, i):
			line = t.paint(bold, line)
		}
		before, after = max(before, 0), max(after, 0)
		out[i] = line
	}
	return out
}

// isFileHeader reports whether a line outside hunks names the files of a diff.
func isFileHeader(lines []string, i int) bool {
	line := lines[i]
	switch {
	case strings.HasPrefix(line, "diff "):
		return true
	case strings.HasPrefix(line, "--- "):
		return i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ ")
	}
	return strings.HasPrefix(line, "+++ ") && i > 0 && strings.HasPrefix(lines[i-1], "--- ")
}

// lineCount is a number of lines in a hunk's header; a missing one is one.
func lineCount(text string) int {
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}
