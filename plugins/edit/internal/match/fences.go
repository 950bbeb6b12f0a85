package match

import (
	"regexp"
	"slices"
	"strings"
)

// A fence is a line that starts or ends a block of code in Markdown.
var fenceLine = regexp.MustCompile("^[ \t]*(`{3,}|~{3,})[ \t]*([A-Za-z0-9_+.#-]*)([ \t].*|\\{[^`]*\\})?$")

// A fenceRow is a line under a title, or one that sets parts apart.
var fenceRow = regexp.MustCompile("^[ \t]*(`{9,}|~{9,})$")

func isFence(l string) bool {
	l = strings.TrimRight(l, spaces)
	return !fenceRow.MatchString(l) && fenceLine.MatchString(l) && !strings.HasSuffix(strings.TrimLeft(l, "`~ \t"), "`")
}

// fencedAlone refuses new_string when it has the fence of a code block that neither old_string nor the file has at the
// place, unless the file is one where it belongs.
func (t *Text) fencedAlone(r *reading, places []Range) *Refusal {
	var lines []string
	fences := 0
	for l := range strings.SplitSeq(strings.Trim(r.new, spaces), "\n") {
		lines = append(lines, l)
		if isFence(l) {
			if n := len(lines); t.kind() == "rst" && n > 1 && !isBlank(lines[n-2]) {
				return nil // the line under a title
			}
			fences++
		}
	}
	if fences == 0 || len(places) == 0 {
		return nil
	}
	at := places[0]
	from, to := t.span(at)
	if fences <= countFences(r.old, 0, len(r.old.lines)) || fences <= countFences(t.source, from, to) {
		return nil
	}
	open, inner := edgeFences(lines)
	if had := strings.Split(strings.Trim(string(r.old.data), spaces), "\n"); isFence(had[0]) && isFence(lines[0]) || isFence(had[len(had)-1]) && isFence(lines[len(lines)-1]) {
		open, inner = "", lines // it is that of old_string
	}
	var why string
	switch {
	case !t.fencesBelong(r, places):
		why = "The file is none where such fences belong."
	case open == "" && len(inner) == len(lines), t.prose() && countFences(t.source, 0, len(t.lines))%2 == 1 && fences%2 == 1:
		return nil // or the one that was missing
	case countFences(t.source, 0, from)%2 == 1 && t.prose():
		why = "The place is within a code block of the file already."
	case t.prose() && len(inner) == len(lines)-2 && (open == "markdown" || open == "md"):
		why = "Everything would become a code block of Markdown in Markdown."
	case !sameText(inner, r.old) && t.nearlySame(inner, r.old):
		why = "old_string has none, so they are most likely no part of the text."
	default:
		return nil
	}
	out := &Refusal{Kind: Guard, Message: "new_string has the fence of a code block, which old_string does not have. " + why + " It would be written into the file.",
		Hint: "Give new_string without the lines of ``` or ~~~. To add a code block to a text on purpose, give the line above it in both strings."}
	return t.shown(out, from, to)
}

func countFences(s *source, from, to int) (n int) {
	for i := from; i < to; i++ {
		if isFence(string(s.text(i))) {
			n++
		}
	}
	return n
}

// edgeFences drops the fence that a text starts with, and the one that it ends with, unless those belong to blocks that
// start or end within the text. Open is the word behind the fence at the start, "text" where there is none.
func edgeFences(lines []string) (open string, inner []string) {
	opened := -1 // the line that opened the block at work
	inner = lines
	last := len(lines) - 1
	for i, l := range lines {
		switch {
		case !isFence(l):
		case opened < 0:
			opened = i
		default:
			if opened == 0 && i == last { // all of it is one block
				return fenceWord(lines[0]), lines[1:last]
			}
			opened = -1
		}
	}
	switch {
	case opened < 0:
		return "", inner
	case opened == last: // an end without a start
		return "text", lines[:last]
	case isFence(lines[0]) && opened == 0: // a start without an end
		return fenceWord(lines[0]), lines[1:]
	}
	return "", inner
}

func fenceWord(l string) string {
	if m := fenceLine.FindStringSubmatch(strings.TrimRight(l, spaces)); m != nil && m[2] != "" {
		return strings.ToLower(m[2])
	}
	return "text"
}

// fencesBelong says whether the file is one that may have those of new_string: text for people, one of a kind that is not
// known, or one where they come to stand in a string or a comment of several lines.
func (t *Text) fencesBelong(r *reading, places []Range) bool {
	if t.prose() || t.unknown() {
		return true
	}
	lines := strings.Split(r.new, "\n")
	first := slices.IndexFunc(lines, isFence)
	return t.inText(lines, first, places)
}

func sameText(inner []string, old *source) bool {
	return squeeze([]byte(strings.Join(inner, "\n"))) == squeeze(old.data)
}

// minSameBlock is how much of a fenced new_string is old_string when it is that with a change, and no block that is new.
const minSameBlock = 0.5

func (t *Text) nearlySame(inner []string, old *source) bool {
	a, b := squeeze([]byte(strings.Join(inner, "\n"))), squeeze(old.data)
	if similarity(a, b) >= minSameBlock {
		return true
	}
	have, n := map[string]bool{}, 0
	for i := range old.lines {
		have[squeeze(old.text(i))] = true
	}
	said := 0
	for _, l := range inner {
		if l = squeeze([]byte(l)); l != "" {
			said++
			if have[l] {
				n++
			}
		}
	}
	delete(have, "")
	return n > 0 && (float64(n) >= minSameBlock*float64(said) || n >= len(have))
}
