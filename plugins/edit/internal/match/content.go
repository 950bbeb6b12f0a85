package match

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// Content refuses new content of a whole file that was not meant literally: a line of it stands for code that was left
// out, it is in the fence of a code block, or it is in a form in which tools show a text, such as a diff. Before is nil
// for a new file. It returns nil for content that is fine.
func Content(name string, before, content []byte) *Refusal {
	was := before
	if isBlank(was) {
		was = newline
	}
	t := NewText(name, was)
	r := newReading("", string(was), string(content), lastPass, t.syntax)
	all := []Range{{0, len(was)}}
	refusal := t.disguised(strings.ReplaceAll(string(content), "\r\n", "\n"), before == nil)
	if refusal == nil && before != nil {
		refusal = t.placeholders(r, all)
	}
	if refusal == nil {
		refusal = t.onlyNewFenced(r, all)
	}
	if refusal != nil { // it is about the whole file
		refusal.Candidates, refusal.Excerpt, refusal.Exact = nil, "", ""
		refusal.Hint = "Give all of the content, as the file shall hold it. To change a part of a file use replace."
	}
	return refusal
}

var (
	// patchStart is how a diff or a patch starts, in the forms that models know.
	patchStart = lazy.Regexp(`^(?:diff --?\S+ |Index: \S|--- \S[^\n]*\n\+\+\+ \S|@@ -\d+(?:,\d+)? \+\d|@@[^\n]*\n[-+ ]|` +
		`\*\*\* (?:Begin Patch|(?:Update|Add|Delete) File: ))`)
	// patchHeader is a line of a diff that is no line of a file.
	patchHeader = lazy.Regexp(`^(?:diff --?\S+ |index [0-9a-f]+\.\.|Index: |===+$|--- \S|\+\+\+ \S|@@|\*\*\* |\\ No newline|` +
		`(?:new|old|deleted) (?:file )?mode |similarity index |(?:rename|copy) (?:from|to) )`)
	conflict = lazy.Regexp(`(?ms)^<{7}(?: [^\n]*)?$.*^={7}$.*^>{7}(?: [^\n]*)?$`)
)

// disguised refuses content that is a text in another form. Where the file exists its lines tell; of a new file, or one
// that is replaced by something else, only what no program has is known.
func (t *Text) disguised(content string, made bool) *Refusal {
	if t.kind() == "patch" || patchStart().Match(t.data) {
		return nil
	}
	bare := strings.Trim(content, "\n")
	if lines := strings.Split(bare, "\n"); len(lines) > 1 {
		if _, inner := cutFences(lines); len(inner) > 0 {
			bare = strings.Join(inner, "\n")
		}
	}
	var is string
	code := t.syntax != nil && !t.prose()
	patch, plus := patchStart().MatchString(bare), withoutPlus(bare)
	raw, shown := patchLines(bare)
	switch {
	case patch && (code || t.shows(raw, shown, 0)), t.shows(raw, shown, 2):
		is = "is a diff, not the text of the file"
	case t.hasConflict(content, made && !code):
		is = "has the marks of a merge conflict, or of a block to search and replace"
	case endsInTag(bare):
		is = "ends with the tag of a call"
	case plus != nil && (code && len(plus) > 2 || t.shows(strings.Split(bare, "\n"), plus, 2)):
		is = "has + before each of its lines"
	default:
		is = t.readAsFile(bare, code)
	}
	if is == "" {
		return nil
	}
	return guard("content "+is+". It would be written into the file.", "")
}

// contentForms say what content is of which a reading is the text.
var contentForms = map[string]string{
	"line numbers": "has line numbers before its lines",
	"quotation":    "has > before each of its lines",
	"escapes":      "is escaped once too often",
	"entities":     "is escaped once too often",
	"marks":        "is in quotation marks",
}

// readAsFile says what content is when a reading of it, as an old_string has them, has lines of the file, or with code
// when no program has such lines.
func (t *Text) readAsFile(content string, code bool) string {
	raw := strings.Split(content, "\n")
	for _, r := range t.readings(Change{Old: content})[1:] { // content twice would take longer, or be too long
		text := strings.Split(string(r.old.data), "\n")
		var no bool // no program has such lines
		switch r.name {
		case "line numbers":
			no = !r.numbers.listed || slices.Contains(text, "") // which people do not number
			for i, n := range r.numbers.number {
				no = no && n == i+1
			}
			no = no && len(raw) > 2
			if r.numbers.people && !code {
				continue
			}
		case "quotation":
			no = len(raw) > 2
		case "escapes", "entities":
			inner, _ := cutMarks(content)
			if !slices.ContainsFunc(escapings, func(e escaping) bool { // several may have the same result
				return e.decode(content) == string(r.old.data) && !e.anyBare(inner)
			}) {
				continue // it has some signs as they are
			}
			before, _, _ := strings.Cut(inner, `\n`)
			whole := content[0] == '"' && len(text) > 1 && json.Valid([]byte(content)) // one string
			no = r.name == "escapes" && len(raw) == 1 && (whole || len(text) > 2 && !inQuotes(before))
		}
		if is := contentForms[r.name]; is != "" && (t.shows(raw, text, 2) || code && no) {
			return is
		}
	}
	return ""
}

// withoutPlus are the lines of a text that all start with +, without it.
func withoutPlus(s string) []string {
	if text, ok := withoutColumn(s, "+"); ok {
		return strings.Split(text, "\n")
	}
	return nil
}

// shows reports that lines in another form are lines of the file when they are taken for a text: least of them, or all
// that the file has, and more than half. With 0 for least one is enough. Lines that are the same in both do not count.
func (t *Text) shows(raw, text []string, least int) bool {
	have := t.tellingLines()
	was, is := setOf(raw), setOf(text)
	literal := 0
	for _, l := range raw {
		if !is[l] && have[strings.TrimRight(l, spaces)] {
			literal++
		}
	}
	n, found, hits := 0, 0, map[string]bool{}
	for _, l := range text {
		if l, same := strings.TrimRight(l, spaces), was[l]; !same && alnums([]byte(l)) > 1 {
			n++
			if have[l] {
				found++
				hits[l] = true
			}
		}
	}
	if least == 0 {
		return len(hits) > 0
	}
	return len(hits) > 0 && (len(hits) >= least || len(hits) == len(have)) && 2*found >= n && 2*literal <= found
}

// tellingLines are the lines of the file that say something.
func (t *Text) tellingLines() map[string]bool {
	if t.telling == nil {
		t.telling = map[string]bool{}
		for _, l := range t.rightTrimmed() {
			if alnums([]byte(l)) > 1 {
				t.telling[l] = true
			}
		}
	}
	return t.telling
}

// patchLines are the lines of a diff that the file has before it, with and without their column. There are none when a
// line is in no column of a diff although nothing names it one.
func patchLines(content string) (raw, text []string) {
	named, changes := false, 0
	for l := range strings.SplitSeq(content, "\n") {
		switch {
		case patchHeader().MatchString(l):
			named = true
		case isBlankString(l):
		case l[0] == '+':
			changes++
		case l[0] == '-' || l[0] == ' ':
			raw, text = append(raw, l), append(text, l[1:])
			if l[0] == '-' {
				changes++
			}
		case named: // a line that lost its column
			text = append(text, l)
		default:
			return nil, nil
		}
	}
	if changes == 0 {
		return nil, nil
	}
	return raw, text
}

// hasConflict reports whether content has all the marks of a merge conflict; with shown they may be there on purpose.
func (t *Text) hasConflict(content string, shown bool) bool {
	at := conflict().FindStringIndex(content)
	if at == nil || conflictMark().Match(t.data) || shown && !strings.Contains(content, ">>>>>>> REPLACE") {
		return false
	}
	above := newSource([]byte(content[:at[0]]), nil)
	return countFences(above, 0, len(above.lines))%2 == 0
}

// maxTag is more than the length of a tag with the end of what is before it, in bytes.
const maxTag = 100

// lastTag is the end of a call's argument as the last thing of a text.
var lastTag = lazy.Regexp(`(?:^|\n|>)\s*</(\w+:)?(content|file_content|file_text|new_string|new_str|parameter|invoke|` +
	`function_calls?|tool_call|tool_use)>\s*$`)

// endsInTag reports whether content ends with a tag of a call that nothing opens.
func endsInTag(content string) bool {
	content = strings.TrimRight(content, spaces)
	m := lastTag().FindStringSubmatch(content[max(0, len(content)-maxTag):])
	return m != nil && !strings.Contains(content, "<"+m[1]+m[2]+">") && !strings.Contains(content, "<"+m[1]+m[2]+" ")
}

// inQuotes reports whether a text ends within quotes that it opens.
func inQuotes(s string) bool {
	return slices.ContainsFunc([]string{`"`, "'", "`"}, func(q string) bool { return strings.Count(s, q)%2 == 1 })
}
