package corpus

import "strings"

// A line is a line of a file; its ending is "\n", "\r\n", or nothing on a last line without one.
type line struct{ text, eol string }

func splitLines(data string) []line {
	var out []line
	for data != "" {
		text, rest, found := strings.Cut(data, "\n")
		l := line{text: text}
		if found {
			l.eol = "\n"
		}
		if found && strings.HasSuffix(text, "\r") {
			l = line{text[:len(text)-1], "\r\n"}
		}
		out, data = append(out, l), rest
	}
	return out
}

func joinLines(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text)
		b.WriteString(l.eol)
	}
	return b.String()
}

func indentOf(text string) string {
	return text[:len(text)-len(strings.TrimLeft(text, " \t"))]
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// unitOf is what one step of indentation is in a file: a tab or some blanks.
func unitOf(lines []line) string {
	steps := map[int]int{}
	before := 0
	for _, l := range lines {
		if blank(l.text) {
			continue
		}
		indent := indentOf(l.text)
		if strings.HasPrefix(indent, "\t") {
			steps[0]++
			continue
		}
		if d := len(indent) - before; d == 2 || d == 4 || d == 8 {
			steps[d]++
		}
		before = len(indent)
	}
	best := 4
	for _, d := range []int{0, 2, 4, 8} {
		if steps[d] > steps[best] {
			best = d
		}
	}
	if best == 0 {
		return "\t"
	}
	return strings.Repeat(" ", best)
}
