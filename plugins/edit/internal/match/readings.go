package match

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/toolhost/toolhost/internal/lazy"
)

// A reading is one way to interpret what the model sent: literally, without line numbers, unescaped, without a fence.
type reading struct {
	name     string // "" for the literal text
	old      *source
	new      string
	lastPass int
	// spaceBefore and spaceAfter report that old_string starts or ends with white space.
	spaceBefore, spaceAfter bool

	numbers *numbered // what old_string had before its lines, if anything; such a text is of whole lines
	notes   []string  // warnings for the model
	bareNew bool      // new_string had no line numbers then
	padded  bool      // lines of new_string without a number may have the blanks of one
	unclear bool      // it is not known what new_string means

	lacksWord *bool   // cache of Text.lacksWord
	elided    *string // cache of Text.elision
	index     *lineIndex
	windows   []*window // of pass 8
}

func newReading(name, old, fresh string, lastPass int, s *syntax) *reading {
	r := &reading{name: name, old: newSource([]byte(old), s), new: fresh, lastPass: lastPass}
	r.spaceBefore = old != strings.TrimLeft(old, spaces)
	r.spaceAfter = old != strings.TrimRight(old, spaces)
	return r
}

// with is the reading with another new_string, and a note on that.
func (r *reading) with(fresh, note string) *reading {
	out := *r
	out.new, out.notes = fresh, append(slices.Clone(r.notes), note)
	return &out
}

// code gives the first and the last line that is neither blank nor a comment, or -1.
func (r *reading) code() (first, last int) {
	first = -1
	for i := range r.old.lines {
		if !r.old.blankOrComment(i) {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	return first, last
}

// readings returns the ways to interpret a change, the likeliest first.
func (t *Text) readings(c Change) []*reading {
	if c.Strictness == Exact {
		return []*reading{newReading("", c.Old, c.New, lastPass, t.syntax)}
	}
	if old, fresh, ok := t.hunkInBoth(c); ok {
		return []*reading{newReading("diff", old, fresh, blanksPass, t.syntax)}
	}
	if old, fresh, ok := t.changedLinesMarked(c); ok {
		return []*reading{newReading("diff", old, fresh, blanksPass, t.syntax)}
	}
	if plusLine().MatchString(c.New) { // the marks of a diff would be written into the file
		old, ok1 := withoutColumn(c.Old, " -")
		fresh, ok2 := withoutColumn(c.New, " +")
		switch {
		case !ok1 || !ok2 || isBlankString(old):
		case !minusLine().MatchString(c.Old) && t.countLines(c.Old) > t.countLines(old), t.hasUnmarked(c):
			// old_string is no diff, or only in part; new_string is refused where it is found
		case plusLine().Match(t.data): // which may be meant
			return []*reading{newReading("", c.Old, c.New, blanksPass, t.syntax)}
		default:
			return []*reading{newReading("diff", old, fresh, lastPass, t.syntax)}
		}
	}
	old, fresh := c.Old, c.New
	if cut, ok := strings.CutSuffix(old, "\r"); ok && bytes.IndexByte(t.data, '\r') < 0 { // half of a line ending
		old, fresh = cut, strings.TrimSuffix(fresh, "\r")
	}
	if oddIndent().MatchString(old) {
		plain := func(r rune) rune {
			if r > unicode.MaxASCII && unicode.Is(unicode.Zs, r) && !bytes.ContainsRune(t.data, r) {
				return ' '
			}
			return r
		}
		old, fresh = strings.Map(plain, old), strings.Map(plain, fresh)
	}
	out := []*reading{newReading("", old, fresh, lastPass, t.syntax)}
	out = append(out, t.withoutNumbers(c)...)
	if old, fresh, ok := onlyTakesOut(c); ok && !t.hasUnmarked(c) {
		out = append(out, newReading("diff", old, fresh, blanksPass, t.syntax))
	}
	out = append(out, t.unescaped(c)...)
	for _, to := range doubleDashes {
		if old := to.Replace(c.Old); old != c.Old && !bytes.ContainsAny(t.data, "–—") &&
			bytes.Contains(t.data, []byte("--")) {
			out = append(out, newReading("dashes", old, to.Replace(c.New), lastComment, t.syntax))
		}
	}
	if old, fresh, ok := unfenced(c); ok && old != c.Old && !isBlankString(old) {
		out = append(out, newReading("fence", old, fresh, lastComment, t.syntax))
	}
	if old, fresh, ok := unquoted(c); ok && old != c.Old && !isBlankString(old) {
		out = append(out, newReading("quotation", old, fresh, lastComment, t.syntax))
	}
	if old, fresh, ok := inMarks(c); ok && !isBlankString(old) && t.hasLines(old) {
		out = append(out, newReading("marks", old, fresh, lastComment, t.syntax))
	}
	return out
}

var (
	plusLine   = lazy.Regexp(`(?m)^\+`)
	minusLine  = lazy.Regexp(`(?m)^-`)
	minusLines = lazy.Regexp(`(?m)^-.*\n?`)
	oddIndent  = lazy.Regexp(`(?m)^[ \t]*[^\P{Zs} ]`) // with a blank that is no space
	fence      = lazy.Regexp("^[ \t]*(```|~~~)[A-Za-z0-9_+.-]*[ \t]*$")
)

// doubleDashes write dashes with hyphens, as programs do and LaTeX.
var doubleDashes = []*strings.Replacer{strings.NewReplacer("–", "--", "—", "--"), strings.NewReplacer("–", "--", "—", "---")}

// onlyTakesOut is the change without the column of a diff, if old_string is a hunk that only takes lines out, and
// new_string the lines that it keeps.
func onlyTakesOut(c Change) (old, fresh string, ok bool) {
	kept := minusLines().ReplaceAllString(c.Old, "")
	old, ok1 := withoutColumn(c.Old, " -")
	fresh, ok2 := withoutColumn(c.New, " ")
	same := strings.TrimRight(kept, "\r\n") == strings.TrimRight(c.New, "\r\n")
	return old, fresh, ok1 && ok2 && same && kept != c.Old && !isBlankString(c.New)
}

// hasUnmarked reports whether a line of a change begins with a blank that is no mark of a diff: the file has the line
// of old_string with it and not without, or old_string does not have the line of new_string.
func (t *Text) hasUnmarked(c Change) bool {
	old := map[string]bool{}
	for l := range strings.Lines(c.Old) {
		old[strings.TrimRight(l, spaces)] = true
		if l[0] == ' ' && t.countLines(l) > 0 && t.countLines(l[1:]) == 0 {
			return true
		}
	}
	for l := range strings.Lines(c.New) {
		if l[0] == ' ' && !isBlankString(l) && !old[strings.TrimRight(l, spaces)] {
			return true
		}
	}
	return false
}

// countLines counts the lines of a text that the file has with the same indentation.
func (t *Text) countLines(s string) (n int) {
	for l := range strings.Lines(s) {
		l = strings.TrimRight(l, spaces)
		if l != "" && (bytes.HasPrefix(t.data, []byte(l)) || bytes.Contains(t.data, []byte("\n"+l))) {
			n++
		}
	}
	return n
}

// changedLinesMarked is the change without the marks of a diff that only its changed lines have: - in old_string, + in
// new_string, with or without a blank behind them. It is false unless all lines without a mark are the same in both,
// and the file has the text without the marks, once, and no such lines of its own.
func (t *Text) changedLinesMarked(c Change) (old, fresh string, ok bool) {
	if c.All || !minusLine().MatchString(c.Old) || plusLine().MatchString(c.Old) || minusLine().MatchString(c.New) ||
		plusLine().Match(t.data) || bytes.Contains(t.data, []byte(c.Old)) {
		return "", "", false
	}
	cut := func(s, mark string) (text string, plain []string) {
		lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
		out := lines[:0]
		for _, l := range lines {
			rest, marked := strings.CutPrefix(l, mark[:1])
			switch {
			case !marked:
				plain = append(plain, strings.TrimRight(l, blanks))
			case len(mark) > 1 && rest != "":
				rest, marked = strings.CutPrefix(rest, mark[1:])
				if !marked {
					return "", nil // a mark without its blank
				}
			}
			if marked {
				l = rest
			}
			out = append(out, l)
		}
		return strings.Join(out, "\n"), slices.DeleteFunc(plain, isBlankString)
	}
	whole := "\n" + string(toLF(t.data)) + "\n"
	for _, blank := range []string{"", " "} {
		old, same := cut(c.Old, "-"+blank)
		fresh, kept := cut(c.New, "+"+blank)
		lines := "\n" + strings.Trim(old, "\n") + "\n"
		if strings.Count(whole, lines) == 1 && !isBlankString(old) && (fresh != "" || c.New == "") &&
			slices.Equal(same, kept) {
			return old, fresh, true
		}
	}
	return "", "", false
}

// sameHunk reports that both strings are the same hunk of a diff, but for white space around it. Its lines say in
// themselves what changes; the difference between the strings says nothing.
func (t *Text) sameHunk(c Change) bool {
	hunk := strings.Trim(c.Old, "\r\n")
	return c.Strictness != Exact && hunk == strings.Trim(c.New, "\r\n") &&
		(plusLine().MatchString(hunk) || minusLine().MatchString(hunk)) && !bytes.Contains(toLF(t.data), toLF([]byte(hunk)))
}

// hunkInBoth is the change that a hunk in both strings describes: its lines without those that come, and without those
// that go. It is false unless the file has the former once, as whole lines.
func (t *Text) hunkInBoth(c Change) (old, fresh string, ok bool) {
	if c.All || !t.sameHunk(c) {
		return "", "", false
	}
	lines := strings.Split(strings.Trim(string(toLF([]byte(c.Old))), "\n"), "\n")
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "@@ ") }); i >= 0 {
		lines = lines[i+1:] // before it are the names of files
	}
	whole := "\n" + string(toLF(t.data)) + "\n"
	for _, blank := range []string{" ", ""} { // before lines that stay; some models leave it out
		var was, is []string
		for _, l := range lines {
			rest, minus := strings.CutPrefix(l, "-")
			more, plus := strings.CutPrefix(l, "+")
			switch {
			case minus:
				was = append(was, rest)
			case plus:
				is = append(is, more)
			default:
				l = strings.TrimPrefix(l, blank)
				was, is = append(was, l), append(is, l)
			}
		}
		old, fresh = strings.Join(was, "\n"), strings.Join(is, "\n")
		if !isBlankString(old) && strings.Count(whole, "\n"+strings.Trim(old, "\n")+"\n") == 1 {
			return old, fresh, true
		}
	}
	return "", "", false
}

// unfenced is the change without the fence of a code block, which new_string may have too; then it must be the same.
func unfenced(c Change) (old, fresh string, ok bool) {
	inner := func(s string) (string, bool) {
		lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
		last := len(lines) - 1
		if last < 1 || !fence().MatchString(lines[0]) || !fence().MatchString(lines[last]) {
			return s, false
		}
		return strings.Join(append(lines[1:last], ""), "\n"), true
	}
	old, ok = inner(c.Old)
	fresh, both := inner(c.New)
	switch {
	case both:
		ok = ok && firstLine(c.Old) == firstLine(c.New)
	case fresh != "" && !strings.HasSuffix(fresh, "\n"):
		fresh += "\n"
	}
	return old, fresh, ok
}

// unquoted is the change without the marks of a quotation, "> " or ">".
func unquoted(c Change) (old, fresh string, ok bool) {
	old, ok = withoutColumn(c.Old, ">")
	fresh, both := withoutColumn(c.New, ">")
	if spaced, all := withoutColumn(old, " "); ok && all {
		if old = spaced; both {
			fresh, ok = withoutColumn(fresh, " ")
		}
	}
	return old, fresh, ok
}

// quotationMarks are what a text may be put in, the longer ones first.
var quotationMarks = []string{`"""`, "'''", "```", `"`, "'", "`"}

// cutMarks drops the quotation marks that a text is in.
func cutMarks(s string) (inner, marks string) {
	for _, m := range quotationMarks {
		if len(s) >= 2*len(m) && strings.HasPrefix(s, m) && strings.HasSuffix(s, m) {
			return s[len(m) : len(s)-len(m)], m
		}
	}
	return s, ""
}

// inMarks is the change without the quotation marks that both strings are in; strings of JSON are decoded. It is false
// when old_string does not show whether that is what they are.
func inMarks(c Change) (old, fresh string, ok bool) {
	old, marks := cutMarks(c.Old)
	fresh, same := cutMarks(c.New)
	if marks == "" || marks != same && c.New != "" {
		return "", "", false
	}
	var x, y string
	if marks == `"` && json.Unmarshal([]byte(c.Old), &x) == nil && (c.New == "" ||
		json.Unmarshal([]byte(c.New), &y) == nil) {
		return x, y, x != old || y == fresh
	}
	return old, fresh, true
}

// hasLines reports whether the file has each line of a text, ignoring blanks.
func (t *Text) hasLines(s string) bool {
	for l := range strings.Lines(s) {
		if !isBlankString(l) && !t.hasLine(l) {
			return false
		}
	}
	return true
}

// withoutColumn drops one of the marks from the start of each line, ignoring blank lines.
func withoutColumn(s, marks string) (string, bool) {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		switch {
		case isBlankString(l):
			lines[i] = ""
		case strings.IndexByte(marks, l[0]) < 0:
			return s, false
		default:
			lines[i] = l[1:]
		}
	}
	return strings.Join(lines, "\n"), true
}

// newAlone takes from new_string the line numbers, look-alikes and escapes that it has and old_string has not. Where it
// is not clear whether they are meant the change is refused. The place is that of old_string.
func (t *Text) newAlone(c Change, r *reading, place Range) (*reading, *Refusal) {
	at := t.lineAt(place.Start)
	if c.Strictness == Exact || r.name != "" {
		return r, nil
	}
	if fresh, ok, refusal := t.numbersAlone(r, at); ok || refusal != nil {
		return r.with(fresh, "new_string had line numbers at the start of its lines, which old_string and the file do not "+
			"have; they were left out."), refusal
	}
	if fresh, ok, refusal := t.formsAlone(r, place); refusal != nil {
		return r, refusal
	} else if ok {
		r = r.with(fresh, "new_string had signs or blanks that only look like those of a program, such as curly quotes; "+
			"they were replaced by plain ones.")
	}
	last := t.lines[t.lineAt(max(place.Start, place.End-1))]
	whole := isBlank(t.data[t.lines[at].start:place.Start]) && isBlank(t.data[min(place.End, last.end):last.end])
	if fresh, ok, refusal := t.escapesAlone(r, whole); ok || refusal != nil {
		return r.with(fresh, "new_string was escaped once too often, and old_string was not: "+
			"give quotes, tabs and line breaks as they are."), refusal
	}
	return r, nil
}
