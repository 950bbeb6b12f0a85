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
	var is string
	bare := strings.Trim(content, "\n")
	if lines := strings.Split(bare, "\n"); len(lines) > 1 {
		if _, inner := cutFences(lines); len(inner) > 0 {
			bare = strings.Join(inner, "\n")
		}
	}
	code := t.syntax != nil && !t.prose()
	switch patch := patchStart().MatchString(bare); {
	case patch && (code || t.shows(patchLines(bare), 0)), t.shows(patchLines(bare), 2):
		is = "is a diff, not the text of the file"
	case t.hasConflict(content, made && !code):
		is = "has the marks of a merge conflict, or of a block to search and replace"
	case endsInTag(bare):
		is = "ends with the tag of a call"
	case t.isNumbered(bare, code):
		is = "has line numbers before its lines"
	case t.hasColumn(bare, ">", code), t.hasColumn(bare, "+", code):
		is = "has the same sign before each of its lines"
	case t.isEscaped(bare, code):
		is = "is escaped once too often"
	default:
		return nil
	}
	return guard("content "+is+". It would be written into the file.", "")
}

// A shownLine is a line in another form, and the lines of a file that it shows.
type shownLine struct {
	raw  string
	text []string
}

// shows reports that lines in another form are lines of the file when they are not taken literally: least of them, or
// all that the file has, and more than half. With 0 for least one is enough.
func (t *Text) shows(lines []shownLine, least int) bool {
	have := t.tellingLines()
	n, hits, raw := 0, map[string]bool{}, 0
	for _, l := range lines {
		if have[strings.TrimRight(l.raw, spaces)] {
			raw++
		}
		for _, s := range l.text {
			if s = strings.TrimRight(s, spaces); alnums([]byte(s)) > 1 {
				n++
				if have[s] {
					hits[s] = true
				}
			}
		}
	}
	if least == 0 {
		return len(hits) > 0
	}
	found := 0
	for _, l := range lines {
		for _, s := range l.text {
			if hits[strings.TrimRight(s, spaces)] {
				found++
			}
		}
	}
	return len(hits) > 0 && (len(hits) >= least || len(hits) == len(have)) && 2*found >= n && 2*raw <= found
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

// patchLines are the lines of a diff that the file has before it. There are none when a line is in no column of a diff
// although nothing names it one.
func patchLines(content string) (out []shownLine) {
	named, changes := false, 0
	for l := range strings.SplitSeq(content, "\n") {
		switch {
		case patchHeader().MatchString(l):
			named = true
		case isBlankString(l):
		case l[0] == '+':
			changes++
		case l[0] == '-':
			changes++
			out = append(out, shownLine{l, []string{l[1:]}})
		case l[0] == ' ':
			out = append(out, shownLine{l, []string{l[1:]}})
		case named: // a line that lost its column
			out = append(out, shownLine{"", []string{l}})
		default:
			return nil
		}
	}
	if changes == 0 {
		return nil
	}
	return out
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

// isNumbered reports whether the lines have numbers that the file does not have. With code numbers that only tools
// write are enough, when they are those of the lines.
func (t *Text) isNumbered(content string, code bool) bool {
	raw := strings.Split(content, "\n")
	if 2*len(mayNumber().FindAllStringIndex(content, -1)) < len(raw)-strings.Count(content, "\n\n") {
		return false
	}
	for _, n := range numberings {
		split, ok := n.split(content, false)
		if !ok || n.people && !code {
			continue
		}
		for _, after := range n.after {
			var lines []shownLine
			counted, blank := 0, false
			for i, number := range split.number {
				if number == i+1 {
					counted++
				}
				blank = blank || number > 0 && isBlankString(split.text[i])
				if number > 0 {
					lines = append(lines, shownLine{raw[i], []string{strings.TrimPrefix(split.text[i], after)}})
				}
			}
			if t.shows(lines, 2) || code && (!n.listed || blank) && len(raw) > 2 && counted == len(raw) {
				return true
			}
		}
	}
	return false
}

// hasColumn reports whether each line has a sign before it that the file does not have.
func (t *Text) hasColumn(content, sign string, code bool) bool {
	text, ok := withoutColumn(content, sign)
	if !ok {
		return false
	}
	raw := strings.Split(content, "\n")
	var lines, spaced []shownLine
	for i, l := range strings.Split(text, "\n") {
		lines = append(lines, shownLine{raw[i], []string{l}})
		spaced = append(spaced, shownLine{raw[i], []string{strings.TrimPrefix(l, " ")}})
	}
	return t.shows(lines, 2) || t.shows(spaced, 2) || code && len(raw) > 2
}

// isEscaped reports whether content has signs only as escapes that the file has as they are, line breaks above all.
func (t *Text) isEscaped(content string, code bool) bool {
	if len(content) > maxEscaped || !strings.ContainsAny(content, `\&`) {
		return false
	}
	var text string
	if json.Unmarshal([]byte(content), &text) == nil && strings.Contains(text, "\n") {
		return code || t.shows([]shownLine{{content, strings.Split(text, "\n")}}, 2)
	}
	raw := strings.Split(content, "\n")
	rest := backslashed().ReplaceAllString(content, "")
	for _, e := range append([]escaping{{set: "n"}}, escapings...) {
		if !e.entities && strings.ContainsFunc(e.set, func(sign rune) bool {
			bare := escaped[byte(sign)]
			return bare != "" && strings.Contains(rest, bare) && strings.Contains(content, `\`+string(sign))
		}) {
			continue // a quick look at most
		}
		signs := e.signs(content)
		if signs == "" || slices.ContainsFunc([]byte(signs), func(sign byte) bool { return e.bare(content, string(sign)) }) {
			continue
		}
		var lines []shownLine
		for _, l := range raw {
			if text := e.decode(l); text != l {
				lines = append(lines, shownLine{l, strings.Split(text, "\n")})
			}
		}
		before, _, _ := strings.Cut(content, `\n`)
		if t.shows(lines, 2) || code && len(raw) == 1 && !e.entities && strings.Count(e.decode(content), "\n") > 1 &&
			!inQuotes(before) {
			return true
		}
	}
	return false
}

// inQuotes reports whether a text ends within quotes that it opens.
func inQuotes(s string) bool {
	return slices.ContainsFunc([]string{`"`, "'", "`"}, func(q string) bool { return strings.Count(s, q)%2 == 1 })
}
