package match

import (
	"bytes"
	"slices"
	"strings"
)

const spaces = " \t\r\n"

// keepBreaks gives new_string for an exact match at a range of the file, with the line breaks that old_string begins or
// ends with and new_string lost: without them two lines would become one. The note says what was kept.
func (t *Text) keepBreaks(r *reading, at Range) (fresh, note string, refusal *Refusal) {
	old, fresh := string(r.old.data), r.new
	before, after := t.around(at)
	head, tail := old[:len(old)-len(strings.TrimLeft(old, spaces))], old[len(strings.TrimRight(old, spaces)):]
	bare := strings.Trim(fresh, spaces)
	if bare == "" {
		if strings.Contains(tail, "\n") && !strings.Contains(fresh, "\n") && !isBlank(before) && !isBlank(after) {
			return tail, noteKept("ends"), nil
		}
		return fresh, "", nil
	}
	var edges []string
	kept := withHead(head, fresh)
	if kept != fresh {
		edges = append(edges, "begins")
	}
	if own := kept[len(strings.TrimRight(kept, spaces)):]; strings.Contains(tail, "\n") && !strings.Contains(own, "\n") {
		edges = append(edges, "ends")
		kept = strings.TrimRight(kept, spaces) + tail
	}
	switch {
	case len(edges) == 0:
		return fresh, "", nil
	case kept == old && (edges[0] == "begins" && !isBlank(before) || edges[len(edges)-1] == "ends" && !isBlank(after)):
		return "", "", t.onlyBreak(at)
	case kept == old: // a blank line goes, and nothing is joined
		return fresh, "", nil
	}
	return kept, noteKept(strings.Join(edges, " and ")), nil
}

// withHead gives new_string the line break that it lost of the white space which old_string starts with, and the indentation
// behind it when that is lost as well.
func withHead(head, fresh string) string {
	bare := strings.TrimLeft(fresh, spaces)
	own := fresh[:len(fresh)-len(bare)]
	switch {
	case bare == "" || !strings.Contains(head, "\n") || strings.Contains(own, "\n"):
		return fresh
	case own == "":
		return head + bare
	}
	return head[:strings.LastIndexByte(head, '\n')+1] + own + bare
}

// outerHead is the white space that a text starts with.
func outerHead(b []byte) string { return string(b[:len(b)-len(bytes.TrimLeft(b, spaces))]) }

func noteKept(where string) string {
	return "new_string lost the line break that old_string " + where + " with; it was kept, as two lines would have become one. " +
		"To join lines, give both of them as old_string."
}

// around is the text before and after a range on the lines of the file that it starts and ends on. Where old_string begins
// or ends with a line break that is the line which would be joined.
func (t *Text) around(at Range) (before, after string) {
	first, last := t.lines[t.lineAt(at.Start)], t.lines[t.lineAt(min(at.End, len(t.data)-1))]
	return string(t.data[first.start:at.Start]), string(t.data[min(at.End, last.end):last.end])
}

func isBlank(s string) bool { return strings.Trim(s, spaces) == "" }

// onlyBreak refuses a change that would do nothing but join two lines: most likely the line break was lost.
func (t *Text) onlyBreak(at Range) *Refusal {
	from, to := t.span(at)
	r := t.shown(&Refusal{Kind: Guard,
		Message: "new_string is old_string without the line break at its edge, so the only change would be that two lines become one.",
		Hint:    "To join the lines, give both of them as old_string. Else give the text as it shall be as new_string."}, from, min(to+1, len(t.lines)))
	return r
}

// wholeLine widens a range to the start of its line when nothing but indentation is before it and the next line would be
// indented by it: all of the range is deleted and it ends with the line, or the first line goes and a later one stays.
func (t *Text) wholeLine(r *reading, at Range) Range {
	before, _ := t.around(at)
	if before == "" || !isBlank(before) || at.End == at.Start {
		return at
	}
	first, lines := firstLine(r.new), strings.Split(string(r.old.data), "\n")
	kept := leading([]byte(first)) != "" && leading(r.old.data) == "" && slices.Contains(lines[1:], first)
	if kept || r.new == "" && t.data[at.End-1] == '\n' {
		at.Start -= len(before)
	}
	return at
}
