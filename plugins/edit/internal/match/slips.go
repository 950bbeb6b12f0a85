package match

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

var (
	// callTag ends an argument of a call, in the forms in which models write calls.
	callTag = lazy.Regexp(`</(?:\w+:)?(?:old_string|new_string|old_str|new_str|file_text|parameter|invoke|` +
		`function_calls?|tool_call|tool_use)>`)
	// closing is an end tag that a text ends with.
	closing = lazy.Regexp(`<(?:/([\w:.-]+)|\|\w+\|)>\s*\z`)
	// pathLabel may stand before the path of a file in a comment.
	pathLabel = lazy.Regexp(`(?i)^(?:file ?(?:name|path)?|path)\s*:\s*`)
	// conflictMark is a line of a merge conflict, or of a block to search and replace.
	conflictMark = lazy.Regexp(`(?m)^(?:<{7}|>{7})(?: .*)?$|^={7}$`)
	// patchMark is a line of a diff or a patch that is no line of a file; patchEdge is one at an edge, where also a text
	// about them does not have it.
	patchMark = lazy.Regexp(`(?m)^(?:@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@.*|\\ No newline at end of file|` +
		`\*\*\* (?:Begin Patch|End Patch|(?:Update|Add|Delete) File: .*)|diff --git .*|\+\+\+ b/.*)$`)
	patchEdge = lazy.Regexp(`\A(?:@@ -\d[ \d,+]* @@|diff --git|\*\*\* Begin Patch)|` +
		`\n(?:\\ No newline at end of file|\*\*\* End Patch)\s*\z`)
	// plusCode is an added line of a diff, with its indentation or code behind the mark.
	plusCode = lazy.Regexp(`^\+[^+].*[\pL\d]`)
)

// onlyNewMarked refuses new_string when it has marks that are no part of a text, and old_string and the file have not:
// the tags of a call, the marks of a merge conflict, the first column of a diff.
func (t *Text) onlyNewMarked(r *reading, places []Range) *Refusal {
	lines := strings.Split(r.new, "\n")
	inText := func(l string) bool { // l may have been found without what ends a line in the file
		bare := strings.Split(strings.ReplaceAll(r.new, "\r", ""), "\n")
		return t.prose() || t.inText(lines, slices.Index(bare, strings.ReplaceAll(l, "\r", "")), places)
	}
	have := func(mark string) bool {
		return strings.Contains(string(r.old.data), mark) || strings.Contains(string(t.data), mark)
	}
	what := ""
	if tag := callTag().FindString(r.new); tag != "" && !have(tag) &&
		!strings.Contains(r.new, "<"+strings.Trim(tag, "</>")) {
		what = "the tag " + tag + " of a call"
	}
	if m := closing().FindStringSubmatch(r.new); what == "" && m != nil && !have(strings.TrimSpace(m[0])) &&
		!closing().Match(r.old.data) && (m[1] == "" || !have("<"+m[1]) && !strings.Contains(r.new, "<"+m[1])) {
		what = "the end " + quoteShort(strings.TrimSpace(m[0])) + " of something that nothing begins"
	}
	if from, _ := t.span(places[0]); what == "" && from > 0 && t.namesFile(lines[0]) && !have(lines[0]) {
		what = "the name of the file as a comment"
	}
	if mark := conflictMark().FindString(strings.ReplaceAll(r.new, "\r", "")); what == "" && mark != "" && !have(mark) &&
		(!strings.HasPrefix(mark, "=") || strings.Contains(r.new, ">>>>>>>")) &&
		(!inText(mark) || strings.Contains(r.new, ">>>>>>> REPLACE") || strings.Contains(r.new, "<<<<<<< SEARCH")) {
		what = "the line " + quoteShort(mark) + " of a merge conflict"
	}
	if mark := patchMark().FindString(strings.ReplaceAll(r.new, "\r", "")); what == "" && mark != "" && !have(mark) &&
		(!inText(mark) || patchEdge().MatchString(r.new)) {
		what = "the line " + quoteShort(mark) + " of a diff"
	}
	if l, sure := t.diffLine(r, lines, places[0]); what == "" && l != "" && (sure || !inText(l)) {
		what = "the first column of a diff, as in " + quoteShort(l)
	}
	if what == "" {
		return nil
	}
	out := guard("new_string has "+what+", which old_string and the file have not. It would be written into the file.",
		"Give new_string as the text that shall be in the file, and nothing else.")
	t.show(out, places[0])
	return out
}

// namesFile reports whether a line is a comment with the path of the file and nothing else.
func (t *Text) namesFile(l string) bool {
	l = strings.TrimSpace(l)
	text := commentEnd().ReplaceAllString(commentMark().ReplaceAllString(l, ""), "")
	return text != l && path.Base(pathLabel().ReplaceAllString(text, "")) == path.Base(t.name)
}

// diffLine returns a line of new_string that looks like a new one of a diff. It is sure when others are lines of
// old_string with the marks - or a blank, and when all lines that are not in old_string have the mark.
func (t *Text) diffLine(r *reading, lines []string, at Range) (line string, sure bool) {
	if l := diffOf(r); l != "" {
		return l, true
	}
	if hasLineWith(t.data, "+") || hasLineWith(r.old.data, "+") {
		return "", false
	}
	old := map[string]bool{}
	for i := range r.old.lines {
		old[strings.TrimRight(string(r.old.text(i)), spaces)] = true
	}
	delete(old, "")
	kept, marked, less := false, false, ""
	// New lines with and without the mark, and with one that may be a bullet or an operator.
	plus, other, bullets := 0, 0, 0
	gone, shifted := "", 0 // a line of old_string behind a -, which is sure to be a mark; lines behind a blank
	before := t.data[t.lines[t.lineAt(at.Start)].start:at.Start]
	if len(before) > 0 && (!isBlank(before) || leading(r.old.data) == "") {
		lines = lines[1:] // of which the first begins within a line
	}
	besideIndented := func(i int) bool { // the closest line that stays, above or below
		for _, step := range []int{-1, +1} {
			j := i + step
			for j >= 0 && j < len(lines) && !old[strings.TrimRight(lines[j], spaces)] {
				j += step
			}
			if j >= 0 && j < len(lines) && leading([]byte(lines[j])) != "" {
				return true
			}
		}
		return false
	}
	for i, l := range lines {
		l = strings.TrimRight(l, spaces)
		kept = kept || old[l]
		switch {
		case strings.HasPrefix(l, "+ ") && !strings.HasPrefix(l, "+  ") && !besideIndented(i):
			bullets++
		case strings.HasPrefix(l, "+"):
			plus++
		case l != "" && !old[l]:
			other++
		}
		switch {
		case line == "" && plusCode().MatchString(l):
			line = l
			marked = marked || slices.ContainsFunc(r.old.rightTrimmed(), func(o string) bool {
				return alnums([]byte(o)) > 0 && leading([]byte(o)) == leading([]byte(l[1:])) &&
					similarity(o, l[1:]) >= minSameLine
			})
		case l == "" || old[l] || !old[l[1:]]:
		case l[0] == '-':
			less = l
			apart := indentLen([]byte(l[1:])) > 1 || l[1] == '\t'
			if apart || l[1] != ' ' && t.syntax != nil && !t.prose() && alnums([]byte(l)) > 0 {
				gone, sure = l, sure || apart
			}
		case l[0] == ' ':
			marked = true
			shifted++
		}
	}
	switch {
	case line != "":
	case gone != "" && (sure || kept || shifted > 0):
		return gone, true
	// A diff that only takes lines out.
	case shifted > 1 && shifted == other && !kept && shifted < len(r.old.filledLines(len(r.old.lines))):
		return lines[slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, " ") })], true
	}
	sure = marked || line != "" && (less != "" || kept && plus > 0 && other == 0 && bullets == 0)
	if line == "" && marked && !kept {
		line = less
	}
	return line, sure
}

// diffOf returns a line that comes or goes where new_string is a diff of old_string: all other lines are those of
// old_string behind a blank, at least one that is not empty among them.
func diffOf(r *reading) (mark string) {
	var was []string
	kept := false
	for l := range strings.Lines(r.new) {
		l = strings.TrimRight(l, spaces)
		switch {
		case l == "":
			was = append(was, l)
		case l[0] == ' ':
			kept, was = true, append(was, l[1:])
		case l[0] == '+', l[0] == '-':
			mark = cmp.Or(mark, l)
			if l[0] == '-' {
				was = append(was, l[1:])
			}
		default:
			return ""
		}
	}
	if !kept || !slices.Equal(was, r.old.rightTrimmed()) {
		return ""
	}
	return mark
}
