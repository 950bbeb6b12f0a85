package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// show prints all that the person decides on. Nothing of it can move the cursor, hide, or change direction: what is no
// plain character is shown as its number.
func (p *prompter) show(r *host.ApprovalRequest) {
	w := p.g.err
	if r.Problem != "" {
		fmt.Fprintf(w, "\nThe arguments stay as they were: %s\n", visible(r.Problem))
	}
	fmt.Fprintf(w, "\n%s wants to run.\n", p.g.paint(bold, visible(r.Tool.Name)))
	p.field("the tool", described(r.Tool.Description))
	p.field("why asked", r.Decision.Why())
	if r.Caller != "" {
		p.field("caller", r.Caller)
	}
	if r.Tool.CostTier == sdk.Expensive {
		p.field("cost", "the tool says that a call is expensive")
	}
	p.field("folder", r.Workdir)
	p.field("arguments", indented(r.Arguments))
	if r.Preview == nil {
		return
	}
	if r.Preview.Reason != "" && r.Preview.Reason != r.Decision.Reason {
		p.field("the plugin", r.Preview.Reason)
	}
	for _, c := range r.Preview.Content {
		p.preview(c)
	}
}

// maxDescribed is how many characters of a tool's description a question shows: a long one must not push the arguments
// out of sight.
const maxDescribed = 300

// described is the first paragraph of a description, on one line.
func described(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n\n")
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > maxDescribed {
		return strings.TrimSpace(string(runes[:maxDescribed])) + "…"
	}
	return string(runes)
}

func (p *prompter) field(name, text string) {
	text = visible(strings.TrimRight(text, "\n"))
	if strings.Contains(text, "\n") {
		text = "\n    " + strings.ReplaceAll(text, "\n", "\n    ")
	}
	fmt.Fprintf(p.g.err, "  %s %s\n", p.g.paint(dim, name+":"), text)
}

// preview prints what the call would do, a diff in colours.
func (p *prompter) preview(c sdk.Content) {
	text := c.Text
	if text == "" {
		text = fmt.Sprintf("[%s]", join(c.Type, c.MIMEType, c.URI, size(c.Data)))
	}
	lines := p.g.paintDiff(strings.Split(visible(strings.TrimRight(text, "\n")), "\n"))
	fmt.Fprintf(p.g.err, "  %s\n    %s\n", p.g.paint(dim, "it would:"), strings.Join(lines, "\n    "))
}

var hunkHeader = regexp.MustCompile(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)

// paintDiff gives the lines with those of diffs coloured. A hunk has as many lines as its header says: a line of it that was
// removed may begin with "--", and one after it with "+".
func (t *terminal) paintDiff(lines []string) []string {
	out := make([]string, len(lines))
	before, after := 0, 0 // lines that the hunk has left, of the old text and of the new
	for i, line := range lines {
		header := hunkHeader.FindStringSubmatch(line)
		switch {
		case before+after > 0 && strings.HasPrefix(line, "+"):
			after--
			line = t.paint(green, line)
		case before+after > 0 && strings.HasPrefix(line, "-"):
			before--
			line = t.paint(red, line)
		case before+after > 0 && strings.HasPrefix(line, `\`): // no newline at the end
		case header != nil:
			before, after = lineCount(header[1]), lineCount(header[2])
			line = t.paint(cyan, line)
		case before+after > 0:
			before, after = before-1, after-1
		case isFileHeader(lines, i):
			line = t.paint(bold, line)
		}
		before, after = max(before, 0), max(after, 0)
		out[i] = line
	}
	return out
}

// isFileHeader says whether a line outside of hunks names the files of a diff.
func isFileHeader(lines []string, i int) bool {
	line := lines[i]
	switch {
	case strings.HasPrefix(line, "diff "):
		return true
	case strings.HasPrefix(line, "--- "):
		return i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ ")
	}
	return strings.HasPrefix(line, "+++ ") && i > 0 && strings.HasPrefix(lines[i-1], "--- ")
}

// lineCount is a number of lines in a hunk's header, where one is not written.
func lineCount(text string) int {
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// indented is the JSON with a line for each member; its tokens stay as they are.
func indented(arguments json.RawMessage) string {
	var out bytes.Buffer
	if err := json.Indent(&out, arguments, "", "  "); err != nil {
		return string(arguments)
	}
	return out.String()
}

// visible shows every character that is not plainly to be seen, but for line breaks and tabs, as its number.
func visible(text string) string {
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[0])
		case r == '\n' || r == '\t' || strconv.IsPrint(r) && !blank(r):
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, `\u{%x}`, r)
		}
		text = text[size:]
	}
	return out.String()
}

// blank is for letters and signs by their class of which nothing is to be seen, such as the Hangul fillers. What selects
// a variant of the character before it may carry a message.
func blank(r rune) bool {
	return r == '\u2800' || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
