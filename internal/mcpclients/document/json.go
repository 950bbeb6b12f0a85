package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
)

// parseJSON reads JSON with comments and commas behind last items.
func parseJSON(data []byte) (*Node, error) {
	p := &jsonParser{data: data, line: 1}
	if bytes.HasPrefix(data, bom) {
		p.at = len(bom)
	}
	p.blanks()
	if p.err == nil && p.at == len(data) {
		return &Node{Kind: Object, Start: p.at, End: p.at}, nil
	}
	n := p.value(0)
	p.blanks()
	if p.err == nil && p.at < len(data) {
		p.fail("there is more behind the end of the value")
	}
	if p.err != nil {
		return nil, p.err
	}
	return n, nil
}

// A jsonParser puts no values in its errors, which may be secrets.
type jsonParser struct {
	data  []byte
	at    int
	line  int // of at
	nodes int
	err   *SyntaxError
}

func (p *jsonParser) fail(format string, a ...any) {
	if p.err == nil {
		p.err = &SyntaxError{JSON, p.line, fmt.Sprintf(format, a...)}
	}
}

// blanks skips white space and comments.
func (p *jsonParser) blanks() {
	for p.at < len(p.data) {
		rest := p.data[p.at:]
		switch {
		case rest[0] == '\n':
			p.line++
			p.at++
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r':
			p.at++
		case bytes.HasPrefix(rest, []byte("//")):
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			p.at += end
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				p.fail("this comment has no end")
				p.at = len(p.data)
				return
			}
			p.line += bytes.Count(rest[:end+4], []byte("\n"))
			p.at += end + 4
		default:
			return
		}
	}
}

// value reads a value; it returns nil after a failure.
func (p *jsonParser) value(depth int) *Node {
	if p.nodes++; p.nodes > maxNodes {
		p.fail("more than %d values", maxNodes)
	}
	if depth > maxDepth {
		p.fail("more than %d values inside each other", maxDepth)
	}
	if p.err != nil || p.at == len(p.data) {
		p.fail("the text ends where a value is expected")
		return nil
	}
	n := &Node{Start: p.at, Line: p.line}
	switch p.data[p.at] {
	case '{':
		n.Kind, n.form = Object, inline
		p.items('}', func() {
			m := Member{Start: p.at, Line: p.line}
			m.Name = p.text() // which moves on
			p.blanks()
			if p.err == nil && !p.take(':') {
				p.fail("a colon is missing after the key %q", brief(m.Name))
			}
			p.blanks()
			if m.Value = p.value(depth + 1); m.Value != nil {
				n.Members = append(n.Members, m)
			}
		})
	case '[':
		n.Kind = Array
		p.items(']', func() {
			if item := p.value(depth + 1); item != nil {
				n.Items = append(n.Items, item)
			}
		})
	case '"':
		n.Kind, n.Text = String, p.text()
	default:
		p.word(n)
	}
	n.End = p.at
	if p.err != nil {
		return nil
	}
	return n
}

// items reads what is between brackets.
func (p *jsonParser) items(end byte, item func()) {
	opened := p.line
	p.at++
	for first := true; ; first = false {
		p.blanks()
		if p.take(end) {
			return
		}
		switch {
		case p.err != nil:
			return
		case p.at == len(p.data):
			p.fail("the %q that opens on line %d is not closed", map[byte]string{'}': "{", ']': "["}[end], opened)
			return
		case !first && !p.take(','):
			p.fail("a comma or %q is missing before this line's %q", end, rune(p.data[p.at]))
			return
		}
		p.blanks()
		if !first && p.take(end) { // a comma behind the last item
			return
		}
		item()
	}
}

func (p *jsonParser) take(c byte) bool {
	if p.at < len(p.data) && p.data[p.at] == c {
		p.at++
		return true
	}
	return false
}

// text reads a string.
func (p *jsonParser) text() (out string) {
	start := p.at
	if !p.take('"') {
		if p.at == len(p.data) {
			p.fail("the text ends where a key is expected")
		} else {
			p.fail("a key in double quotes is expected")
		}
		return ""
	}
	for p.at < len(p.data) && p.data[p.at] != '\n' {
		switch c := p.data[p.at]; c {
		case '\\':
			p.at += 2
			continue
		case '"':
			p.at++
			if json.Unmarshal(p.data[start:p.at], &out) != nil {
				p.fail("this string has an escape or character that JSON does not allow")
			}
			return out
		}
		p.at++
	}
	p.at = min(p.at, len(p.data))
	p.fail("this string is not closed on its line")
	return ""
}

func (p *jsonParser) word(n *Node) {
	end := p.at
	for end < len(p.data) && !strings.ContainsRune(" \t\r\n,:{}[]\"/", rune(p.data[end])) {
		end++
	}
	n.Text = string(p.data[p.at:end])
	switch n.Text {
	case "null":
		n.Kind = Null
	case "true", "false":
		n.Kind = Bool
	default:
		n.Kind = Number
		if end == p.at || !json.Valid(p.data[p.at:end]) {
			p.fail("this is not a value of JSON; text needs double quotes")
		}
	}
	p.at = end
}

// brief makes a text fit for messages.
func brief(text string) string { return textutil.CutRunes(text, 40, "…") }

// quoteJSON writes a string without escapes that only HTML needs.
func quoteJSON(text string) string {
	out, _ := rawjson.Encode(text, "") // a string can always be written
	return string(out)
}

// writeJSON writes a value over several lines: objects have a line for each member, arrays of scalars are on one line.
// Lines but the first begin with indent; without a unit all is on one line.
func writeJSON(n *Node, indent, unit, newline string) string {
	if n.Kind != Object || len(n.Members) == 0 || unit == "" {
		return flow(n)
	}
	var lines []string
	for _, m := range n.Members {
		lines = append(lines, newline+indent+unit+quoteJSON(m.Name)+": "+writeJSON(m.Value, indent+unit, unit, newline))
	}
	return "{" + strings.Join(lines, ",") + newline + indent + "}"
}

// flow writes a value on one line, as JSON, which YAML takes too.
func flow(n *Node) string {
	return flowIn(n, quoteJSON, func(name string) string { return quoteJSON(name) + ": " })
}

// flowIn writes a value on one line, with texts and keys as a syntax has them.
func flowIn(n *Node, text, key func(string) string) string {
	var parts []string
	switch n.Kind {
	case String:
		return text(n.Text)
	case Array:
		for _, item := range n.Items {
			parts = append(parts, flowIn(item, text, key))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case Object:
		for _, m := range n.Members {
			parts = append(parts, key(m.Name)+flowIn(m.Value, text, key))
		}
		if len(parts) == 0 {
			return "{}"
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	return n.Text
}

// unit is one step of the file's indentation.
func (w writer) unit() string {
	for line := range bytes.Lines(w.data) {
		text := bytes.TrimLeft(line, " \t")
		if n := len(line) - len(text); n > 0 && len(text) > 0 && text[0] == '"' {
			return string(line[:n])
		}
	}
	return "  "
}

// isOnOneLine reports whether an object with members has no line break.
func (w writer) isOnOneLine(n *Node) bool {
	return len(n.Members) > 0 && !bytes.ContainsRune(w.data[n.Start:n.End], '\n')
}

func (w writer) replaceJSON(old, value *Node) edit {
	unit := w.unit()
	if w.isOnOneLine(old) {
		unit = ""
	}
	return edit{old.Start, old.End, writeJSON(value, w.indent(old.Start), unit, w.newline)}
}

// insertJSON adds a member behind the last one.
func (w writer) insertJSON(n *Node, m Member) edit {
	indent, unit := w.indent(n.Start), w.unit()
	member := func(indent, unit string) string {
		return quoteJSON(m.Name) + ": " + writeJSON(m.Value, indent, unit, w.newline)
	}
	if len(n.Members) == 0 {
		inner := w.data[n.Start+1 : n.End-1]
		kept := bytes.TrimRight(inner, " \t\r\n") // comments
		start := n.Start + 1 + len(kept)
		return edit{start, n.End - 1, w.newline + indent + unit + member(indent+unit, unit) + w.newline + indent}
	}
	last := n.Members[len(n.Members)-1]
	end := last.Value.End
	comma := w.skipBlanks(end, true)
	trailing := w.data[comma] == ','
	if w.isOnOneLine(n) {
		if trailing {
			return edit{comma + 1, comma + 1, " " + member("", "")}
		}
		return edit{end, end, ", " + member("", "")}
	}
	if before := strings.TrimSpace(string(w.data[w.lineStart(last.Start):last.Start])); before == "" {
		indent = w.indent(last.Start)
	} else {
		indent += unit
	}
	text := w.newline + indent + member(indent, unit)
	if trailing {
		at := w.behindComments(comma + 1)
		return edit{at, at, text + ","}
	}
	at := w.behindComments(end)
	return edit{end, at, "," + string(w.data[end:at]) + text}
}

// skipBlanks is the next byte that is no blank or comment; without lines, or the end of the line.
func (w writer) skipBlanks(at int, lines bool) int {
	for at < len(w.data) {
		rest := w.data[at:]
		switch {
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r' && lines || rest[0] == '\n' && lines:
			at++
		case bytes.HasPrefix(rest, []byte("//")):
			at = w.lineEnd(at)
			if !lines {
				return at
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			at += 2 + bytes.Index(rest[2:], []byte("*/")) + 2
		default:
			return at
		}
	}
	return at
}

// behindComments is the end of the line if only comments are on the rest of it.
func (w writer) behindComments(at int) int {
	end := w.skipBlanks(at, false)
	if end == len(w.data) || w.data[end] == '\n' || w.data[end] == '\r' {
		return end
	}
	return at
}
