package match

import (
	"regexp"
	"strings"
)

// What models copy along with a text: the fence around code, the mark of a quotation, the first column of a diff.

var fence = regexp.MustCompile("^[ \t]*(```|~~~)[A-Za-z0-9_+.-]*[ \t]*$")

// withoutFence drops the first and the last line when they are the fence of a code block.
func withoutFence(s string) (string, bool) {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	last := len(lines) - 1
	if last < 1 || !fence.MatchString(lines[0]) || !fence.MatchString(lines[last]) {
		return s, false
	}
	return strings.Join(append(lines[1:last], ""), "\n"), true
}

// fenced is the change without the fence of a code block, which new_string may have too; then it must be the same.
func fenced(c Change) (old, fresh string, ok bool) {
	old, ok = withoutFence(c.Old)
	fresh, both := withoutFence(c.New)
	switch {
	case both:
		ok = ok && firstLine(c.Old) == firstLine(c.New)
	case fresh != "" && !strings.HasSuffix(fresh, "\n"):
		fresh += "\n"
	}
	return old, fresh, ok
}

func firstLine(s string) string { return s[:lineLen([]byte(s))] }

// withoutColumn drops one of the marks from the start of each line, blank lines aside.
func withoutColumn(s, marks string) (string, bool) {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		switch {
		case strings.TrimSpace(l) == "":
			lines[i] = ""
		case strings.IndexByte(marks, l[0]) < 0:
			return s, false
		default:
			lines[i] = l[1:]
		}
	}
	return strings.Join(lines, "\n"), true
}

// quotation is the change without the marks of a quotation, "> " or ">".
func quotation(c Change) (old, fresh string, ok bool) {
	old, ok = withoutColumn(c.Old, ">")
	fresh, both := withoutColumn(c.New, ">")
	if spaced, all := withoutColumn(old, " "); ok && all {
		if old = spaced; both {
			fresh, ok = withoutColumn(fresh, " ")
		}
	}
	return old, fresh, ok
}

// unwrapped gives the readings of a change without what was copied along.
func (t *Text) unwrapped(c Change) (out []*reading) {
	for _, w := range []struct {
		name string
		bare func(Change) (old, fresh string, ok bool)
	}{{"fence", fenced}, {"quotation", quotation}} {
		if old, fresh, ok := w.bare(c); ok && old != c.Old && strings.TrimSpace(old) != "" {
			out = append(out, newReading(w.name, old, fresh, 6, t.syntax))
		}
	}
	return out
}

// asDiff reads a change whose lines have the first column of a diff: old_string that of what is there and goes, new_string
// that of what is there and comes.
func asDiff(c Change) (Change, bool) {
	if !plusLine.MatchString(c.New) {
		return c, false
	}
	old, ok1 := withoutColumn(c.Old, " -")
	fresh, ok2 := withoutColumn(c.New, " +")
	c.Old, c.New = old, fresh
	return c, ok1 && ok2 && strings.TrimSpace(old) != ""
}

var plusLine = regexp.MustCompile(`(?m)^\+`)
