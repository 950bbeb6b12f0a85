package match

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path"
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

	lacksWord  *bool   // cache of Text.lacksWord
	candidates []span  // cache of Text.candidates
	bounded    bool    // they are not the whole file
	elided     *string // cache of Text.elision
	index      *lineIndex
	windows    []*window // of pass 8
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
	if old, fresh, last, ok := t.undiffed(c); ok {
		return []*reading{newReading("diff", old, fresh, last, t.syntax)}
	}
	old, fresh := c.Old, c.New
	if oddIndent().MatchString(old) {
		plain := func(r rune) rune {
			if r > unicode.MaxASCII && unicode.Is(unicode.Zs, r) && !bytes.ContainsRune(t.data, r) {
				return ' '
			}
			return r
		}
		old, fresh = strings.Map(plain, old), strings.Map(plain, fresh)
	}
	last := lastPass
	if _, column := withoutColumn(c.Old, " -"); column && hasLineWith(c.New, "+") && hasLineWith(t.data, "+") {
		last = blanksPass // it may be a diff, and its column is no indentation
	}
	out := []*reading{newReading("", old, fresh, last, t.syntax)}
	out = append(out, t.withoutNumbers(c)...)
	out = append(out, t.unescaped(c)...)
	for _, to := range doubleDashes {
		if old := to.Replace(c.Old); old != c.Old && !bytes.ContainsAny(t.data, "–—") &&
			bytes.Contains(t.data, []byte("--")) {
			out = append(out, newReading("dashes", old, to.Replace(c.New), lastComment, t.syntax))
		}
	}
	for _, sign := range []string{"-", "*", "+"} {
		old, ok1 := withBullets(c.Old, sign)
		fresh, ok2 := withBullets(c.New, sign)
		if ok1 && ok2 && t.prose() && old != c.Old {
			out = append(out, newReading("bullets", old, fresh, lastComment, t.syntax))
		}
	}
	for _, w := range wrappings {
		if old, fresh, ok := w.undo(c); ok && old != c.Old && !isBlankString(old) && (w.name != "marks" || t.hasLines(old)) {
			out = append(out, newReading(w.name, old, fresh, lastComment, t.syntax))
		}
	}
	for _, r := range out[1:] {
		if !slices.Contains([]string{"line numbers", "quotation", "fence"}, r.name) {
			continue
		}
		for _, e := range t.unescaped(Change{Old: string(r.old.data), New: r.new}) {
			e.numbers, e.bareNew, e.padded = r.numbers, r.bareNew, r.padded
			e.notes = []string{readingWarnings[r.name]}
			out = append(out, e)
		}
	}
	return out
}

// withBullets is a text with another sign for the items of its lists; it is false when they have several.
func withBullets(s, sign string) (string, bool) {
	own := ""
	for _, m := range bullet().FindAllStringSubmatch(s, -1) {
		if own = cmp.Or(own, m[2]); m[2] != own {
			return s, false
		}
	}
	return bullet().ReplaceAllString(s, "${1}"+sign+" "), true
}

// wrappings are what may have been put around a text or before its lines. How says so for a refusal.
var wrappings = []struct {
	name, how string
	undo      func(Change) (old, fresh string, ok bool)
}{
	{"fence", "has the fence of a code block around it", unfenced},
	{"quotation", "has > at the start of its lines", unquoted},
	{"marks", "is in quotation marks", inMarks},
}

var (
	patchEnd  = lazy.Regexp(`^(\*\*\* End (Patch|of File)|\\ No newline at end of file)\s*$`)
	bullet    = lazy.Regexp(`(?m)^([ \t]*)([-*+•]) `) // of a list in Markdown
	oddIndent = lazy.Regexp(`(?m)^[ \t]*[^\P{Zs} ]`)  // with a blank that is no space
)

// hasLineWith reports whether a line of a text starts with a sign.
func hasLineWith[T string | []byte](s T, sign string) bool {
	return strings.HasPrefix(string(s[:min(1, len(s))]), sign) || bytes.Contains([]byte(s), []byte("\n"+sign))
}

// doubleDashes write dashes with hyphens, as programs do and LaTeX.
var doubleDashes = []*strings.Replacer{strings.NewReplacer("–", "--", "—", "--"), strings.NewReplacer("–", "--", "—", "---")}

// sameHunk reports that both strings are the same hunk of a diff, but for white space around it. Its lines say in
// themselves what changes; the difference between the strings says nothing.
func (t *Text) sameHunk(c Change) bool {
	hunk := strings.Trim(c.Old, "\r\n")
	return c.Strictness != Exact && hunk == strings.Trim(c.New, "\r\n") &&
		(hasLineWith(hunk, "+") || hasLineWith(hunk, "-")) && !bytes.Contains(toLF(t.data), toLF([]byte(hunk)))
}

var (
	searchBlock = lazy.Regexp(`(?s)^\s*<{5,9}(?: [^\n]*)?\n(.*?\n)={5,9}(?:\n(|.*\n)>{5,9}(?: [^\n]*)?)?\s*$`)
	replaceHalf = lazy.Regexp(`(?s)^(?:={5,9}\n)?(|.*\n)>{5,9}(?: [^\n]*)?\s*$`)
	colors      = lazy.Regexp(`\x1b\[[\d;]*[A-Za-z]`)
	// doubledBreak is a line break that is there and escaped as well, or the latter at the end of a text.
	doubledBreak = lazy.Regexp(`(?:\\r)?\\n(\r?\n|\z)`)
	element      = lazy.Regexp(`(?s)^\s*<([\w-]+)>\n?(.*?\n?)</([\w-]+)>\s*$`)
)

// plainControls is the change without the colors of a terminal and escapes of line breaks before these, and with line
// breaks for returns that alone end lines, where old_string has them and the file has none.
func (t *Text) plainControls(c Change) Change {
	each := func(plain func(string) string) { c.Old, c.New = plain(c.Old), plain(c.New) }
	lone := func(s []byte) bool { return bytes.Count(s, []byte("\r")) > bytes.Count(s, []byte("\r\n")) }
	if c.Strictness != Exact && strings.Contains(c.Old, "\x1b[") && !bytes.Contains(t.data, []byte("\x1b")) {
		each(func(s string) string { return colors().ReplaceAllString(s, "") })
	}
	if n := strings.Count(strings.TrimRight(c.Old, "\n"), "\n"); c.Strictness != Exact && n > 0 &&
		len(doubledBreak().FindAllString(c.Old, -1)) >= n && !doubledBreak().Match(t.data) {
		each(func(s string) string { return doubledBreak().ReplaceAllString(s, "$1") })
	}
	if c.Strictness != Exact && lone([]byte(c.Old)) && !lone(t.data) && !strings.Contains(c.Old, "\r\\") && // of \r\n
		!bytes.Contains(t.data, []byte(c.Old)) { // which ends within a line ending
		each(strings.NewReplacer("\r\n", "\r\n", "\r", "\n").Replace)
	}
	return c
}

// asElement is a section of literal text as an element.
func asElement(s string) string {
	if inner, ok := strings.CutPrefix(strings.TrimSpace(s), "<![CDATA["); ok && strings.HasSuffix(inner, "]]>") {
		return "<CDATA>" + strings.TrimSuffix(inner, "]]>") + "</CDATA>"
	}
	return s
}

// peeled is the change without what both strings are in: the marks of a block to search and replace, which each of
// them may be, too, the same tags, a fence, the name of the file as a first line, blank lines between all lines. The
// file has nothing of it.
func (t *Text) peeled(c Change) (Change, bool) {
	if c.Strictness == Exact {
		return c, false
	}
	in := func(old, fresh string) (Change, bool) {
		if isBlankString(old) || bytes.Contains(toLF(t.data), toLF([]byte(c.Old))) {
			return c, false
		}
		c.Old, c.New = old, fresh
		return c, true
	}
	is, was := strings.ReplaceAll(c.New, "\r\n", "\n"), strings.ReplaceAll(c.Old, "\r\n", "\n")
	if x := searchBlock().FindStringSubmatch(was); x != nil && !conflictMark().Match(t.data) {
		if is == was {
			return in(x[1], x[2])
		} else if y := replaceHalf().FindStringSubmatch(is); y != nil && !strings.Contains(was, "\n>>>>>") {
			return in(x[1], y[1])
		}
	}
	if old, ok := singleSpaced(was); ok && t.hasRow(old) {
		if fresh, ok := singleSpaced(is); ok {
			return in(old, fresh)
		}
	}
	x, y := element().FindStringSubmatch(asElement(was)), element().FindStringSubmatch(asElement(is))
	gone := isBlankString(is)
	if gone {
		y = make([]string, 4)
	}
	if x != nil && y != nil && x[1] == x[3] && y[1] == y[3] && !bytes.Contains(t.data, []byte("<"+x[1])) &&
		!bytes.Contains(t.data, []byte("<!["+x[1])) {
		if gone {
			return in(x[2], "")
		}
		return in(strings.TrimSuffix(x[2], "\n"), strings.TrimSuffix(y[2], "\n"))
	}
	first, rest, _ := strings.Cut(was, "\n")
	same, fresh, _ := strings.Cut(is, "\n")
	fenced := isFence(first) && countFences(t.source, 0, len(t.lines)) == 0
	if old, inner, ok := unfenced(c); fenced && ok && (gone || first == same) {
		return in(old, inner)
	} else if first = strings.TrimSpace(first); (gone || first == strings.TrimSpace(same)) && !t.hasLine(first) &&
		(fenced && !gone || t.namesFile(first) || path.Base(first) == path.Base(t.name)) {
		return in(rest, fresh)
	}
	return c, false
}

// undiffed is the change without the marks of a diff: those of all lines, those of lines that change alone, with or
// without a blank behind them, or those of a hunk that both strings are. It is false unless both strings keep the same
// lines, and the file has those that stay and go once, as whole lines. Where all lines have a mark they may differ from
// the file as others may, up to the pass that is returned.
func (t *Text) undiffed(c Change) (old, fresh string, last int, ok bool) {
	if c.All || !hasLineWith(c.Old, "-") && !hasLineWith(c.New, "+") ||
		bytes.Contains(toLF(t.data), toLF([]byte(c.Old))) {
		return "", "", 0, false
	}
	hunk := t.sameHunk(c)
	if hunk {
		c.Old, c.New = strings.Trim(c.Old, "\r\n"), strings.Trim(c.New, "\r\n")
	}
	whole, own := "\n"+string(toLF(t.data))+"\n", hasLineWith(t.data, "+")
	for i, blank := range [][2]string{{" ", ""}, {"", ""}, {"", " "}, {" ", ""}} { // before lines that stay, behind marks
		old, stay, ok1 := withoutMarks(c.Old, "-", "+", blank)
		fresh, same, ok2 := withoutMarks(c.New, "+", "-", blank)
		sure := hunk || ok1 && ok2 && (blank[0] != "" && len(stay) > 0 || !own)
		switch {
		case !sure || isBlankString(old) || !slices.Equal(stay, same):
		case strings.Count(whole, "\n"+strings.TrimSuffix(old, "\n")+"\n") == 1:
			return old, fresh, blanksPass, true
		case i < 3 || hunk || own || hasLineWith(c.Old, "+") || hasLineWith(c.New, "-"):
		case !hasLineWith(c.New, "+"):
			return old, fresh, blanksPass, len(stay) > 0
		case hasLineWith(c.Old, "-") || t.countLines(c.Old) <= t.countLines(old):
			return old, fresh, lastPass, true
		}
	}
	return "", "", 0, false
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

// withoutMarks are the lines of a diff that stay or have a mark, without it, and those that stay. Columns reports that
// all of these have the blank of the column.
func withoutMarks(s, mark, other string, blank [2]string) (text string, stay []string, columns bool) {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	head := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "@@") })
	if head < 0 {
		head = slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "*** Update File: ") })
	}
	lines = slices.DeleteFunc(lines[head+1:], patchEnd().MatchString) // before the head are the names of files
	var out []string
	columns = true
	for _, l := range lines {
		rest, marked := strings.CutPrefix(l, mark)
		switch {
		case marked:
			out = append(out, strings.TrimPrefix(rest, blank[1]))
		case !strings.HasPrefix(l, other):
			rest, column := strings.CutPrefix(l, blank[0])
			if out = append(out, rest); !isBlankString(l) {
				stay, columns = append(stay, strings.TrimRight(rest, blanks)), columns && column
			}
		}
	}
	return strings.Join(out, "\n"), stay, columns
}

// unfenced is the change without the fence of a code block, which new_string may have too; then it must be the same.
func unfenced(c Change) (old, fresh string, ok bool) {
	inner := func(s string) (string, bool) {
		lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
		last := len(lines) - 1
		if last < 1 || !isFence(lines[0]) || !isFence(lines[last]) {
			return s, false
		}
		return strings.Join(append(lines[1:last], ""), "\n"), true
	}
	old, ok = inner(c.Old)
	fresh, both := inner(c.New)
	switch {
	case both:
		a, b := fenceLanguage(firstLine(c.Old)), fenceLanguage(firstLine(c.New))
		named := a == "text" || b == "text" // by one of them alone, and old_string has no fence of the file within
		ok = ok && (a == b || named && !isFence(firstLine(old)))
	case fresh != "" && !strings.HasSuffix(fresh, "\n"):
		fresh += "\n"
	}
	return old, fresh, ok
}

// hasRow reports whether the file has two lines of a text in a row, as that has them.
func (t *Text) hasRow(s string) bool {
	rows, last := map[string]bool{}, ""
	for l := range strings.Lines(s) {
		l = squeeze([]byte(l))
		rows[last+"\n"+l], last = last != "" && l != "", l
	}
	for i := range t.lines {
		l := t.key(i)
		if rows[last+"\n"+l] {
			return true
		}
		last = l
	}
	return false
}

// singleSpaced is a text without the blank lines that it has behind each of its lines.
func singleSpaced(s string) (string, bool) {
	var out []string
	for i, l := range strings.Split(strings.TrimRight(s, "\n"), "\n") {
		if i%2 == 0 {
			out = append(out, l)
		} else if !isBlankString(l) || out[0] == "" {
			return s, false
		}
	}
	return strings.Join(out, "\n"), len(out) > 1
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
	if marks == "" || marks != same && c.New != "" || isFence(firstLine(c.Old)) || isFence(firstLine(c.New)) {
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
func (t *Text) newAlone(r *reading, place Range) (*reading, *Refusal) {
	at := t.lineAt(place.Start)
	if r.name != "" {
		return r, nil
	}
	if fresh, ok, refusal := t.numbersAlone(r, at); refusal != nil {
		return r, refusal
	} else if ok {
		r = r.with(fresh, "new_string had line numbers at the start of its lines, which old_string and the file do not "+
			"have; they were left out.")
	}
	if fresh, ok, refusal := t.formsAlone(r, place); refusal != nil {
		return r, refusal
	} else if ok {
		r = r.with(fresh, "new_string had signs or blanks that only look like those of a program, such as curly quotes; "+
			"they were replaced by plain ones.")
	}
	if fresh, ok, refusal := t.escapesAlone(r, place); ok || refusal != nil {
		return r.with(fresh, "new_string was escaped once too often, and old_string was not: "+
			"give quotes, tabs and line breaks as they are."), refusal
	}
	return r, nil
}
