package document

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// A Change puts an object in a file under a name. An object that is there already keeps what Value does not name.
type Change struct {
	Path   []string // the names that lead to the object or array that holds it
	Name   string
	Value  *Node
	Listed bool // the holder is an array of objects whose member "name" is the name
	// Instead are members that cannot stand beside those of Value.
	Instead []string
}

// A ByHandError says why a file is not changed, which a person can do.
type ByHandError struct {
	Line   int
	Reason string
}

func (e *ByHandError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

const notHere = "the file is written in a way that is not changed here"

// Apply makes a change and leaves the bytes of all else as they are; it returns the data itself if the change is there
// already. Errors are of the types *SyntaxError and *ByHandError.
func Apply(syntax Syntax, data []byte, c Change) ([]byte, error) {
	before, err := Parse(syntax, data)
	if err != nil {
		return nil, err
	}
	want, err := c.result(before)
	if err != nil {
		return nil, err
	}
	out := data
	for range len(c.Value.Members) + 2 {
		root, err := Parse(syntax, out)
		if err != nil {
			break
		}
		if Equal(root, want) {
			return out, nil
		}
		next, err := c.next(writer{syntax, out, newlineOf(out)}, root)
		if err != nil {
			return nil, err
		}
		out = slices.Concat(out[:next.start], []byte(next.text), out[next.end:])
	}
	return nil, &ByHandError{1, notHere}
}

// Show writes the change as a file of its own, for a person to copy.
func Show(syntax Syntax, c Change) string {
	out, err := Apply(syntax, nil, c)
	if err != nil { // not reached: an empty file can always be changed
		return ""
	}
	return string(out)
}

// find returns the member of the holder, and the entry; nil for those that do not exist.
func (c Change) find(root *Node) (holder, entry *Node, err error) {
	holder = root
	for i, name := range c.Path {
		if holder.Kind != Object {
			return nil, nil, &ByHandError{max(holder.Line, 1), fmt.Sprintf("%s is %s; an object is expected",
				strings.Join(c.Path[:i], "."), holder.Kind)}
		}
		if err := twice(holder, name); err != nil {
			return nil, nil, err
		}
		if holder = holder.Get(name); holder == nil || holder.Kind == Null {
			return holder, nil, nil
		}
	}
	want := Object
	if c.Listed {
		want = Array
	}
	if holder.Kind != want {
		return nil, nil, &ByHandError{max(holder.Line, 1), fmt.Sprintf("%s is %s; %s is expected",
			strings.Join(c.Path, "."), holder.Kind, want)}
	}
	if !c.Listed {
		entry = holder.Get(c.Name)
		if err := twice(holder, c.Name); err != nil {
			return nil, nil, err
		}
	}
	for _, item := range holder.Items {
		if c.names(item) {
			entry = item
		}
	}
	if entry == nil {
		return holder, nil, nil
	}
	if entry.Kind != Object {
		return nil, nil, &ByHandError{entry.Line, fmt.Sprintf("%s is %s; an object is expected", c.Name, entry.Kind)}
	}
	if d := entry.Duplicate(); d != nil {
		return nil, nil, &ByHandError{d.Line, fmt.Sprintf("the key %q is there twice", brief(d.Name))}
	}
	for _, name := range c.Instead {
		if m := entry.Get(name); m != nil && c.Value.Get(name) == nil {
			return nil, nil, &ByHandError{m.Line, fmt.Sprintf("%s has %q, which cannot stay beside what would be written; "+
				"remove it, or choose another name", c.Name, name)}
		}
	}
	return holder, entry, nil
}

// names reports whether an item of a listing holder has the name.
func (c Change) names(item *Node) bool {
	name := item.Get("name")
	return name != nil && name.Kind == String && name.Text == c.Name
}

func twice(n *Node, name string) error {
	first := n.Get(name)
	for _, m := range n.Members {
		if m.Name == name && m.Value != first {
			return &ByHandError{m.Line, fmt.Sprintf("the key %q is there twice, first on line %d", brief(name), first.Line)}
		}
	}
	return nil
}

// result is the whole file as it should be read after the change. It changes the root.
func (c Change) result(root *Node) (*Node, error) {
	if root.Kind != Object {
		return nil, &ByHandError{max(root.Line, 1), fmt.Sprintf("the file is %s; an object is expected", root.Kind)}
	}
	list, entry, err := c.find(root)
	switch {
	case err != nil:
		return nil, err
	case entry != nil:
		if c.Listed { // of two that have the name the first, which next does not change
			entry = list.Items[slices.IndexFunc(list.Items, c.names)]
		}
		for _, m := range c.Value.Members {
			entry.set(m.Name, m.Value)
		}
		return root, nil
	}
	holder := root
	for i, name := range c.Path {
		next := holder.Get(name)
		if next == nil || next.Kind == Null {
			next = &Node{Kind: Object}
			if c.Listed && i == len(c.Path)-1 {
				next.Kind = Array
			}
			holder.set(name, next)
		}
		holder = next
	}
	if c.Listed {
		holder.Items = append(holder.Items, c.Value)
	} else {
		holder.set(c.Name, c.Value)
	}
	return root, nil
}

func (n *Node) set(name string, value *Node) {
	for i := range n.Members {
		if n.Members[i].Name == name {
			n.Members[i].Value = value
			return
		}
	}
	n.Members = append(n.Members, Member{Name: name, Value: value})
}

// An edit replaces bytes.
type edit struct {
	start, end int
	text       string
}

// next is the edit that brings the file nearer to the result.
func (c Change) next(w writer, root *Node) (edit, error) {
	holder, entry, err := c.find(root)
	if err != nil {
		return edit{}, err
	}
	if entry == nil {
		return w.add(root, holder, c)
	}
	for _, m := range c.Value.Members {
		old := entry.Get(m.Name)
		if old != nil && Equal(old, m.Value) {
			continue
		}
		return w.put(entry, m)
	}
	return edit{}, &ByHandError{entry.Line, notHere}
}

// nested is the value to add below n, with the objects of the path that are missing.
func (c Change) nested(path []string) *Node {
	value := c.Value
	if c.Listed {
		value = &Node{Kind: Array, Items: []*Node{c.Value}}
	} else {
		value = Map(c.Name, value)
	}
	for _, name := range slices.Backward(path) {
		value = Map(name, value)
	}
	return value
}

// A writer makes edits of a file.
type writer struct {
	syntax  Syntax
	data    []byte
	newline string
}

func newlineOf(data []byte) string {
	if bytes.Contains(data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// add adds the entry. The holder is nil if it does not exist.
func (w writer) add(root, holder *Node, c Change) (edit, error) {
	switch w.syntax {
	case TOML:
		return w.addTOML(holder, c)
	case YAML:
		return w.addYAML(root, holder, c)
	}
	at, path := root, c.Path
	for len(path) > 0 {
		next := at.Get(path[0])
		if next == nil {
			break
		}
		if next.Kind == Null {
			return w.replaceJSON(next, c.nested(path[1:])), nil
		}
		at, path = next, path[1:]
	}
	value := c.nested(path)
	if c.Listed && len(path) == 0 {
		return edit{}, &ByHandError{at.Line, "arrays of JSON are not changed here"}
	}
	if len(bytes.TrimSpace(bytes.TrimPrefix(w.data, bom))) == 0 {
		return edit{len(w.data), len(w.data), writeJSON(value, "", "  ", w.newline) + w.newline}, nil
	}
	if at.Start == at.End { // only comments
		return edit{len(w.data), len(w.data), w.brokenLine() + writeJSON(value, "", "  ", w.newline) + w.newline}, nil
	}
	return w.insertJSON(at, value.Members[0]), nil
}

// brokenLine ends the last line of the file.
func (w writer) brokenLine() string {
	if len(w.data) == 0 || w.data[len(w.data)-1] == '\n' {
		return ""
	}
	return w.newline
}

// put sets a member of an entry.
func (w writer) put(entry *Node, m Member) (edit, error) {
	old := entry.Get(m.Name)
	switch w.syntax {
	case TOML:
		return w.putTOML(entry, old, m)
	case YAML:
		return w.putYAML(entry, old, m)
	}
	if old == nil {
		return w.insertJSON(entry, m), nil
	}
	return w.replaceJSON(old, m.Value), nil
}

// lineStart is where the line of a byte begins.
func (w writer) lineStart(at int) int { return bytes.LastIndexByte(w.data[:at], '\n') + 1 }

// lineEnd is where the line of a byte ends, without its newline.
func (w writer) lineEnd(at int) int {
	end := bytes.IndexByte(w.data[at:], '\n')
	if end < 0 {
		return len(w.data)
	}
	if end > 0 && w.data[at+end-1] == '\r' {
		end--
	}
	return at + end
}

// indent is the white space at the beginning of the line of a byte.
func (w writer) indent(at int) string {
	line := w.data[w.lineStart(at):]
	if w.lineStart(at) == 0 {
		line = bytes.TrimPrefix(line, bom)
	}
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}
