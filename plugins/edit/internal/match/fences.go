package match

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/lazy"
)

var (
	// fenceLine starts or ends a block of code in Markdown.
	fenceLine = lazy.Regexp("^[ \t]*(`{3,}|~{3,})[ \t]*([A-Za-z0-9_+.#-]*)([ \t].*|\\{[^`]*\\})?$")
	// rulerLine is a line under a title, or one between parts.
	rulerLine = lazy.Regexp("^[ \t]*(`{9,}|~{9,})$")
)

func isFence(l string) bool {
	l = strings.TrimRight(l, spaces)
	return !rulerLine().MatchString(l) && fenceLine().MatchString(l) &&
		!strings.HasSuffix(strings.TrimLeft(l, "`~ \t"), "`")
}

func countFences(s *source, from, to int) (n int) {
	for i := from; i < to; i++ {
		if isFence(string(s.text(i))) {
			n++
		}
	}
	return n
}

// onlyNewFenced refuses new_string when it has the fence of a code block that neither old_string nor the file has at
// the place, unless the file is one where it belongs.
func (t *Text) onlyNewFenced(r *reading, places []Range) *Refusal {
	lines := strings.Split(strings.Trim(r.new, spaces), "\n")
	fences := 0
	for i, l := range lines {
		if !isFence(l) {
			continue
		}
		if t.kind() == "rst" && i > 0 && len(l) >= utf8.RuneCountInString(lines[i-1]) && !isBlankString(lines[i-1]) {
			return nil // the line under a title, which is as long
		}
		fences++
	}
	if fences == 0 {
		return nil
	}
	from, to := t.span(places[0])
	if fences <= countFences(r.old, 0, len(r.old.lines)) || fences <= countFences(t.source, from, to) {
		return nil
	}
	language, inner := cutFences(lines)
	had := strings.Split(strings.Trim(string(r.old.data), spaces), "\n")
	if isFence(had[0]) && isFence(lines[0]) || isFence(had[len(had)-1]) && isFence(lines[len(lines)-1]) {
		language, inner = "", lines // it is that of old_string
	}
	all := strings.Split(strings.ReplaceAll(r.new, "\r", ""), "\n")
	text := squeeze([]byte(strings.Join(inner, "\n")))
	var why string
	switch {
	case !t.prose() && !t.unknown() && !t.inText(all, slices.IndexFunc(all, isFence), places):
		why = "The file is none where such fences belong."
	case language == "" && len(inner) == len(lines),
		t.prose() && countFences(t.source, 0, len(t.lines))%2 == 1 && fences%2 == 1:
		return nil // or the one that was missing
	case t.unknown() && len(inner) == len(lines)-1 && !isFence(lines[0]) && countFences(t.source, 0, len(t.lines))%2 == 0:
		why = "It is the end of one that nothing begins."
	case countFences(t.source, 0, from)%2 == 1 && t.prose():
		why = "The place is within a code block of the file already."
	case t.prose() && len(inner) == len(lines)-2 && (language == "markdown" || language == "md"):
		why = "Everything would become a code block of Markdown in Markdown."
	case text != squeeze(r.old.data) && mostlySame(text, inner, r.old):
		why = "old_string has none, so they are most likely no part of the text."
	default:
		return nil
	}
	out := guard("new_string has the fence of a code block, which old_string does not have. "+why+
		" It would be written into the file.", "Give new_string without the lines of ``` or ~~~. "+
		"To add a code block to a text on purpose, give the line above it in both strings.")
	t.show(out, places[0])
	return out
}

// cutFences drops the fence that a text starts with, and the one that it ends with, unless those belong to blocks
// that start or end within the text. It returns the language behind the fence at the start, "text" where there is
// none.
func cutFences(lines []string) (language string, inner []string) {
	opened, last := -1, len(lines)-1 // the line that opened the current block
	for i, l := range lines {
		switch {
		case !isFence(l):
		case opened < 0:
			opened = i
		default:
			if opened == 0 && i == last { // all of it is one block
				return fenceLanguage(lines[0]), lines[1:last]
			}
			opened = -1
		}
	}
	switch {
	case opened < 0:
		return "", lines
	case opened == last: // an end without a start
		return "text", lines[:last]
	case opened == 0: // a start without an end
		return fenceLanguage(lines[0]), lines[1:]
	}
	return "", lines
}

func fenceLanguage(l string) string {
	if m := fenceLine().FindStringSubmatch(strings.TrimRight(l, spaces)); m != nil && m[2] != "" {
		return strings.ToLower(m[2])
	}
	return "text"
}

// minSameBlock is how much of a fenced new_string is in old_string when it is old_string with a change.
const minSameBlock = 0.5

// mostlySame reports whether the lines of a text, which squeeze to text, are old_string with a change.
func mostlySame(text string, inner []string, old *source) bool {
	if similarity(text, squeeze(old.data)) >= minSameBlock {
		return true
	}
	have := old.counts(0, len(old.lines))
	delete(have, "")
	n, said := 0, 0
	for _, l := range inner {
		if l = squeeze([]byte(l)); l != "" {
			said++
			if have[l] > 0 {
				n++
			}
		}
	}
	return n > 0 && (float64(n) >= minSameBlock*float64(said) || n >= len(have))
}
