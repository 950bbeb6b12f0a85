package hclfile

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"golang.org/x/text/width"

	"github.com/toolhost/toolhost/host/supervise"
)

const maxShown = 50 // how many mistakes the text of an Error describes; a broken file can have thousands

// An Error lists everything that is wrong with a file.
type Error struct {
	Path     string    // the file, as the user named it
	Mistakes []Mistake // at least one, by position
}

// A Mistake is one error.
type Mistake struct {
	Line, Column int    // from 1; 0 when the mistake is about the file as a whole
	Message      string // what is wrong, in one line
	Hint         string // what to do about it; may be empty

	path    string
	at      hcl.Range
	excerpt string
}

// Error returns the report: plain text of several lines, without colour or control characters. It describes the first
// 50 mistakes, and ends with their number when there is more than one.
func (e *Error) Error() string {
	var blocks []string
	for _, m := range e.Mistakes[:min(len(e.Mistakes), maxShown)] {
		blocks = append(blocks, m.String())
	}
	switch n := len(e.Mistakes); {
	case n > maxShown:
		blocks = append(blocks, fmt.Sprintf("%d mistakes, the first %d are shown", n, maxShown))
	case n > 1:
		blocks = append(blocks, fmt.Sprintf("%d mistakes", n))
	}
	return strings.Join(blocks, "\n\n")
}

// String returns the mistake as Error shows it, on several lines: position, message, source line and hint.
func (m Mistake) String() string {
	var b strings.Builder
	b.WriteString(m.path)
	if m.Line > 0 {
		fmt.Fprintf(&b, ":%d,%d", m.Line, m.Column)
	}
	b.WriteString(": " + m.Message)
	if m.excerpt != "" {
		b.WriteString("\n" + m.excerpt)
	}
	if m.Hint != "" {
		b.WriteString("\n  hint: " + m.Hint)
	}
	return b.String()
}

// WithHint formats and sets the hint.
func (m *Mistake) WithHint(format string, args ...any) {
	m.Hint = fmt.Sprintf(format, args...)
}

// A Report collects what is wrong with a file.
type Report struct {
	Path string // as the user named it
	// Hidden has, as its Texts, the values by reference, such as those of environment variables: no mistake shows them.
	Hidden supervise.References

	src      []byte
	mistakes []*Mistake
	warnings []*Mistake
}

// Add reports a mistake. The zero range stands for the whole file.
func (r *Report) Add(at hcl.Range, format string, args ...any) *Mistake {
	m := &Mistake{Line: at.Start.Line, Column: at.Start.Column, Message: fmt.Sprintf(format, args...), at: at}
	r.mistakes = append(r.mistakes, m)
	return m
}

// Mistake is a mistake that is found after the file was read. It is not collected.
func (r *Report) Mistake(at hcl.Range, message string) Mistake {
	return r.sorted([]*Mistake{{Line: at.Start.Line, Column: at.Start.Column, Message: message, at: at}})[0]
}

// Count is the number of mistakes so far.
func (r *Report) Count() int { return len(r.mistakes) }

// Position names a line of the file, such as "config.hcl:12".
func (r *Report) Position(at hcl.Range) string {
	return fmt.Sprintf("%s:%d", r.Path, at.Start.Line)
}

// Err returns the *Error, or nil when there are no mistakes.
func (r *Report) Err() error {
	if len(r.mistakes) == 0 {
		return nil
	}
	return &Error{Path: r.Path, Mistakes: r.sorted(r.mistakes)}
}

// Warnings returns the warnings of Body.Warn, by position.
func (r *Report) Warnings() []Mistake { return r.sorted(r.warnings) }

// sorted returns the mistakes by position, and adds the source lines of those that are shown.
func (r *Report) sorted(mistakes []*Mistake) []Mistake {
	var out []Mistake
	hide := r.Hidden.Hider()
	for _, m := range mistakes {
		shown := *m
		shown.Message, shown.Hint = hide(m.Message), hide(m.Hint)
		out = append(out, shown)
	}
	slices.SortStableFunc(out, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Message, b.Message))
	})
	out = slices.CompactFunc(out, func(a, b Mistake) bool {
		return a.Line == b.Line && a.Column == b.Column && a.Message == b.Message
	})
	for i := range out {
		out[i].path = r.Path
		if i < maxShown {
			out[i].excerpt = excerpt(r.src, out[i].at)
		}
	}
	return out
}

// A wording replaces HCL's own. An empty field is taken from HCL: its first sentence is the message, the rest the
// hint.
type wording struct{ message, hint string }

// wordings are those of HCL's most common diagnostics, by their summary.
var wordings = map[string]wording{
	noItem: {
		"this is neither NAME = VALUE nor a block", "write NAME = VALUE or NAME { … }"},
	setTwice:                   {"", "remove one of the two"},
	"Error in function call":   {"", "write the value here instead"},
	"Invalid block definition": {"", `write NAME "LABEL" { … }, with the brace on the same line`},
	noValue: {
		"a value should start here", `a value is "text", 12, true, [ a list ] or { an = "object" }`},
	"Invalid index": {"", "look at how the value before it is written"},
	openLine: {
		"this string does not end on its line", `add the closing quote; \n in a string stands for a new line`},
	"Invalid single-argument block definition": {
		"a block on one line has one argument only", "put each argument on a line of its own"},
	"Argument definition required": {
		"a block on one line has one argument and no block", "put each argument and block on a line of its own"},
	"Invalid template interpolation value": {"", "refer to a part of it that is text, a number or a bool"},
	"Missing attribute separator":          {"", "put each entry on a line of its own, or a comma between them"},
	"Missing item separator": {
		"a comma or the end of the list is missing here", "put commas between the items, and ] after the last"},
	"Missing newline after block definition": {"a new line is missing after the block", "end the line after }"},
	noNewline: {"a new line is missing after the argument",
		"put each argument on a line of its own; the items of a list go in [ … ]"},
	"Not enough function arguments": {"", `write env("NAME", "default")`},
	"Too many function arguments":   {"", `write env("NAME", "default")`},
	"Unclosed configuration block":  {"this block has no end", "add its }, or the one that is missing inside it"},
	"Unsupported attribute":         {"", "look at how the value before it is written"},
	badEscape:                       {"", `write \\ for a backslash, or / in a path`},
	openPlaceholder:                 {"this ${ has no end", "add its }"},
	openString:                      {"this string has no end", "add the closing quote"},
	"Extra characters after interpolation expression": {
		"", `write ${env.NAME} for a variable of the environment, and $${ for the text "${"`},
}

// addDiags reports HCL's findings, and returns whether reading ends with them.
func (r *Report) addDiags(diags hcl.Diagnostics) bool {
	for _, d := range causes(diags) {
		var at hcl.Range
		var seen wording
		if d.Subject != nil {
			at = *d.Subject
			seen = r.reword(d, &at)
		}
		first, rest, _ := strings.Cut(Visible(d.Detail), ". ")
		text := Visible(d.Summary)
		if first != "" {
			text += ": " + strings.TrimSuffix(first, ".")
		}
		w := wordings[d.Summary]
		r.Add(at, "%s", cmp.Or(seen.message, w.message, strings.ToLower(text[:1])+text[1:])).Hint = cmp.Or(seen.hint, w.hint,
			strings.TrimSuffix(rest, "."))
	}
	return slices.ContainsFunc(diags, func(d *hcl.Diagnostic) bool { return d.Summary != setTwice })
}

// maxBefore and maxLine bound the part of a long line that is shown, in bytes.
const maxBefore, maxLine = 40, 100

// excerpt returns the source line that a range starts in, with the range underlined, or "" for the zero range.
func excerpt(src []byte, at hcl.Range) string {
	if at.Start.Line == 0 || at.Start.Byte > len(src) {
		return ""
	}
	start := bytes.LastIndexByte(src[:at.Start.Byte], '\n') + 1
	line, _, _ := bytes.Cut(src[start:], []byte("\n"))
	from := at.Start.Byte - start
	to := len(bytes.TrimRight(line, " \t\r"))
	if at.End.Line == at.Start.Line {
		to = at.End.Byte - start
	}
	text, before, marked := window(string(line), from, to)
	number := fmt.Sprintf("%4d", at.Start.Line)
	return fmt.Sprintf("%s | %s\n%*s | %s%s", number, text, len(number), "",
		strings.Repeat(" ", before), strings.Repeat("^", max(marked, 1)))
}

// window returns the part of a line around the bytes from to to, the width of the text before them, and their own
// width.
func window(line string, from, to int) (text string, before, marked int) {
	line = strings.TrimRight(line, " \t\r")
	from = min(from, len(line))
	to = min(max(from, to), len(line))
	first, last := 0, len(line)
	if len(line) > maxLine {
		first = max(0, from-maxBefore)
		last = min(len(line), first+maxLine)
	}
	to = min(to, last)
	var lead, tail string
	if first > 0 {
		lead = "…"
	}
	if last < len(line) {
		tail = "…"
	}
	a, b, c := cells(line[first:from]), cells(line[from:to]), cells(line[to:last])
	return lead + a + b + c + tail, columns(lead + a), columns(b)
}

// cells returns text without tabs, control characters and direction marks, so that a terminal shows each character. A
// window may cut a character; the rest of it becomes U+FFFD.
func cells(s string) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case c == '\t':
			b.WriteString("    ")
		case !unicode.IsPrint(c):
			b.WriteRune('\uFFFD')
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// columns is how many columns of a terminal the text takes.
func columns(s string) int {
	n := 0
	for _, c := range s {
		switch kind := width.LookupRune(c).Kind(); {
		case unicode.In(c, unicode.Mn, unicode.Me):
		case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// Visible makes one printable line of a text that may quote the source.
func Visible(s string) string {
	return cells(strings.Join(strings.Fields(s), " "))
}
