package document

import (
	"bytes"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// addYAML adds the entry behind the last one of the holder, or the holder at the end of the file.
func (w writer) addYAML(root, holder *Node, c Change) (edit, error) {
	end := len(w.data)
	if len(c.Path) != 1 {
		return edit{}, &ByHandError{1, "only entries one step below the top are added"}
	}
	if root.form == inline {
		return edit{}, &ByHandError{root.Line, "the file is written in braces"}
	}
	key := c.Path[0]
	if holder == nil {
		return edit{end, end, w.brokenLine() + yamlText(key) + ":" + w.entryYAML(c, "  ") + w.newline}, nil
	}
	var at Member
	for _, m := range root.Members {
		if m.Name == key {
			at = m
		}
	}
	if len(holder.Members)+len(holder.Items) == 0 {
		from, to := w.lineStart(at.Start), w.lineEnd(at.Start)
		m := emptyYAML().FindSubmatch(w.data[from:to])
		if m == nil {
			return edit{}, &ByHandError{at.Line, key + " is empty, and written in a way that is not changed here"}
		}
		return edit{from, to, string(m[1]) + string(m[3]) + w.entryYAML(c, "  ")}, nil
	}
	if holder.form != blockYAML {
		return edit{}, &ByHandError{holder.Line, key + " is written in brackets, which are not added to"}
	}
	first := holder.Start
	if c.Listed {
		first = holder.Items[0].Start
	}
	indent := w.indent(first)
	last := w.blockEnd(at.Start, len(indent))
	return edit{last, last, w.entryYAML(c, indent)}, nil
}

var emptyYAML = lazy.Regexp(`^([^#]*?:)([ \t]*(?:\{[ \t]*\}|\[[ \t]*\]|~|null|NULL|Null)?)([ \t]*|[ \t]+#.*)$`)

// entryYAML is the entry on lines of its own.
func (w writer) entryYAML(c Change, indent string) string {
	if c.Listed {
		return writeYAML(&Node{Kind: Array, Items: []*Node{c.Value}}, indent, w.newline)
	}
	return writeYAML(Map(c.Name, c.Value), indent, w.newline)
}

// blockEnd is the end of the last line of what belongs to the key at a byte. Comments belong to it if they are indented
// as its content.
func (w writer) blockEnd(key, content int) int {
	column := key - w.lineStart(key)
	end := w.lineEnd(key)
	for at := end; at < len(w.data); {
		next := at + bytes.IndexByte(w.data[at:], '\n') + 1
		if next == at || next >= len(w.data) {
			break
		}
		at = w.lineEnd(next)
		line := w.data[next:at]
		text := bytes.TrimLeft(line, " ")
		indent := len(line) - len(text)
		switch {
		case len(bytes.TrimSpace(text)) == 0:
		case text[0] == '#' && (indent < content || content == column):
		case indent > column, indent == column && (bytes.HasPrefix(text, []byte("- ")) || string(text) == "-"):
			end = at
		default:
			return end
		}
	}
	return end
}

// putYAML sets a key of an entry.
func (w writer) putYAML(entry, old *Node, m Member) (edit, error) {
	if entry.form != blockYAML || len(entry.Members) == 0 {
		return edit{}, &ByHandError{entry.Line, "it is written in braces, and differs"}
	}
	last := entry.Members[len(entry.Members)-1]
	column := last.Start - w.lineStart(last.Start)
	indent := strings.Repeat(" ", column)
	if old == nil {
		end := w.blockEnd(last.Start, column+1)
		return edit{end, end, w.newline + indent + yamlText(m.Name) + ":" + writeYAML(m.Value, indent+"  ", w.newline)}, nil
	}
	var key int
	for _, there := range entry.Members {
		if there.Name == m.Name {
			key = there.Start
		}
	}
	end := w.blockEnd(key, column+1)
	if raw := w.scalar(old); raw > 0 && old.Start+raw <= end && old.Start > key {
		return edit{old.Start, old.Start + raw, strings.TrimPrefix(writeYAML(m.Value, indent+"  ", w.newline), " ")}, nil
	}
	colon := bytes.IndexByte(w.data[key:end], ':')
	if colon < 0 {
		return edit{}, &ByHandError{old.Line, m.Name + " is written in a way that is not changed here"}
	}
	return edit{key + colon + 1, end, writeYAML(m.Value, indent+"  ", w.newline)}, nil
}

// scalar is how many bytes a scalar on one line has; 0 if that is not plain to see.
func (w writer) scalar(n *Node) int {
	if n.Kind == Array || n.Kind == Object || n.Start >= len(w.data) {
		return 0
	}
	line := w.data[n.Start:w.lineEnd(n.Start)]
	switch {
	case len(line) == 0:
		return 0
	case line[0] == '\'' || line[0] == '"':
		end := bytes.IndexByte(line[1:], line[0])
		if end < 0 || line[0] == '"' && bytes.ContainsRune(line[:end+2], '\\') || end+2 < len(line) &&
			line[end+2] == line[0] {
			return 0
		}
		return end + 2
	case bytes.HasPrefix(line, []byte(n.Text)):
		return len(n.Text)
	}
	return 0
}
