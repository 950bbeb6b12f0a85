package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/toolhost/toolhost/internal/lazy"
)

// parseYAML reads the one document of a YAML file.
func parseYAML(data []byte) (*Node, error) {
	d := yaml.NewDecoder(strings.NewReader(string(data)))
	var top yaml.Node
	if err := d.Decode(&top); errors.Is(err, io.EOF) || err == nil && len(top.Content) == 0 {
		return &Node{Kind: Object, form: blockYAML}, nil
	} else if err != nil {
		return nil, yamlError(err)
	}
	var more yaml.Node
	if err := d.Decode(&more); err == nil {
		return nil, &SyntaxError{YAML, more.Line, "there is a second document; a file with one is expected"}
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlError(err)
	}
	c := &yamlConverter{starts: lineStarts(data), size: len(data), seen: map[*yaml.Node]bool{}}
	n := c.node(top.Content[0], 0)
	if c.err != nil {
		return nil, c.err
	}
	if n.Kind == Null { // only comments
		return &Node{Kind: Object, Start: n.Start, End: n.Start, Line: n.Line, form: blockYAML}, nil
	}
	return n, nil
}

var yamlLine = lazy.Regexp(`line (\d+): `)

func yamlError(err error) error {
	out := &SyntaxError{Syntax: YAML, Line: 1, Message: strings.TrimPrefix(err.Error(), "yaml: ")}
	if m := yamlLine().FindStringSubmatch(out.Message); m != nil {
		out.Line, _ = strconv.Atoi(m[1])
		out.Message = strings.Replace(out.Message, m[0], "", 1)
	}
	return out
}

// lineStarts are the bytes where lines begin.
func lineStarts(data []byte) []int {
	out := []int{0}
	for i, c := range data {
		if c == '\n' {
			out = append(out, i+1)
		}
	}
	return out
}

type yamlConverter struct {
	starts []int
	size   int
	nodes  int
	seen   map[*yaml.Node]bool // what an alias is being followed for
	err    error
}

func (c *yamlConverter) fail(n *yaml.Node, format string, a ...any) *Node {
	if c.err == nil {
		c.err = &SyntaxError{YAML, max(n.Line, 1), fmt.Sprintf(format, a...)}
	}
	return &Node{}
}

// start is the byte of a node; its column counts characters, which is the same for what is changed here.
func (c *yamlConverter) start(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(c.starts) {
		return 0
	}
	return min(c.starts[n.Line-1]+n.Column-1, c.size) // YAML has more line breaks than are counted here
}

func (c *yamlConverter) node(from *yaml.Node, depth int) *Node {
	if c.nodes++; c.nodes > maxNodes {
		return c.fail(from, "more than %d values, with those that aliases repeat", maxNodes)
	}
	if depth > maxDepth {
		return c.fail(from, "more than %d values inside each other", maxDepth)
	}
	if c.err != nil {
		return &Node{}
	}
	n := &Node{Text: from.Value, Start: c.start(from), Line: from.Line}
	n.End = n.Start
	switch from.Kind {
	case yaml.AliasNode:
		if c.seen[from.Alias] {
			return c.fail(from, "the alias *%s is inside what it stands for", brief(from.Value))
		}
		c.seen[from.Alias] = true
		n = c.node(from.Alias, depth+1)
		delete(c.seen, from.Alias)
		return n
	case yaml.SequenceNode:
		n.Kind = Array
		for _, item := range from.Content {
			n.Items = append(n.Items, c.node(item, depth+1))
		}
	case yaml.MappingNode:
		c.members(n, from, depth)
	default:
		n.Kind = map[string]Kind{"!!str": String, "!!null": Null, "!!bool": Bool, "!!int": Number, "!!float": Number}[from.
			ShortTag()]
		if n.Kind == Null && from.ShortTag() != "!!null" {
			n.Kind = Other
		}
		if n.Kind == Bool {
			n.Text = strings.ToLower(n.Text)
		}
	}
	if from.Kind != yaml.ScalarNode && from.Style&yaml.FlowStyle == 0 {
		n.form = blockYAML
	} else if from.Kind != yaml.ScalarNode {
		n.form = inline
	}
	return n
}

func (c *yamlConverter) members(n *Node, from *yaml.Node, depth int) {
	n.Kind = Object
	seen := map[string]int{}
	var merged []Member // of what << names: the mapping's own come before, and so do those of the first of several
	for i := 0; i+1 < len(from.Content); i += 2 {
		key := from.Content[i]
		if key.ShortTag() == "!!merge" {
			value := c.node(from.Content[i+1], depth+1)
			for _, source := range append(value.Items, value) {
				merged = append(merged, source.Members...)
			}
			continue
		}
		if key.Kind != yaml.ScalarNode {
			c.fail(key, "a key that is not a text")
			return
		}
		if line, twice := seen[key.Value]; twice {
			c.fail(key, "the key %q is there twice, first on line %d", brief(key.Value), line)
			return
		}
		seen[key.Value] = key.Line
		n.Members = append(n.Members, Member{key.Value, c.node(from.Content[i+1], depth+1), c.start(key), key.Line})
	}
	for _, m := range merged {
		if _, there := seen[m.Name]; !there {
			seen[m.Name] = m.Line
			n.Members = append(n.Members, m)
		}
	}
}

var plainYAML = lazy.Regexp(`^[A-Za-z_/][A-Za-z0-9_./-]*$`)

// yamlText writes a string, without quotes where it cannot be anything else.
func yamlText(text string) string {
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return quoteJSON(text)
	}
	if plainYAML().MatchString(text) {
		return text
	}
	return quoteJSON(text)
}

// writeYAML writes a value behind a key, over several lines; lines but the first begin with indent.
func writeYAML(n *Node, indent, newline string) string {
	var out strings.Builder
	switch {
	case n.Kind == String:
		return " " + yamlText(n.Text)
	case n.Kind == Object && len(n.Members) > 0:
		for _, m := range n.Members {
			out.WriteString(newline + indent + yamlText(m.Name) + ":" + writeYAML(m.Value, indent+"  ", newline))
		}
		return out.String()
	case n.Kind == Array && len(n.Items) > 0:
		for _, item := range n.Items {
			out.WriteString(newline + indent + "-" + strings.TrimPrefix(writeYAML(item, indent+"  ", newline),
				newline+indent+" "))
		}
		return out.String()
	}
	return " " + flow(n)
}

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
	at := root.member(key)
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
	key := entry.member(m.Name).Start
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
