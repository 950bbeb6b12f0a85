package document

import (
	"bytes"
	"strings"
)

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
