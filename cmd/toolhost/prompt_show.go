package main

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	lines := strings.Split(visible(strings.TrimRight(text, "\n")), "\n")
	for i, l := range lines {
		lines[i] = "    " + p.g.paintDiff(l, lines)
	}
	fmt.Fprintf(p.g.err, "  %s\n%s\n", p.g.paint(dim, "it would:"), strings.Join(lines, "\n"))
}

// paintDiff colours a line of a diff; text that holds no diff stays plain.
func (t *terminal) paintDiff(line string, all []string) string {
	if !isDiff(all) {
		return line
	}
	switch {
	case strings.HasPrefix(line, "+++") || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "diff "):
		return t.paint(bold, line)
	case strings.HasPrefix(line, "@@"):
		return t.paint(cyan, line)
	case strings.HasPrefix(line, "+"):
		return t.paint(green, line)
	case strings.HasPrefix(line, "-"):
		return t.paint(red, line)
	}
	return line
}

func isDiff(lines []string) bool {
	for _, l := range lines {
		if strings.HasPrefix(l, "@@ ") {
			return true
		}
	}
	return false
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
