// Package document reads settings files of other programs (JSON with comments, TOML, YAML) with the places of their
// values, and changes single values in place: comments, order and formatting of the rest stay.
package document

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Syntax is how a file is written.
type Syntax string

// The syntaxes. JSON may have comments and trailing commas, as editors accept them.
const (
	JSON Syntax = "JSON"
	TOML Syntax = "TOML"
	YAML Syntax = "YAML"
)

// Limits of a file.
const (
	MaxSize  = 16 << 20 // bytes
	maxDepth = 100      // values inside each other
	maxNodes = 1 << 20
)

// A Kind is that of a value.
type Kind int

// The kinds. Other is a value without a form in JSON, such as a date of TOML.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
	Other
)

var kindNames = [...]string{"null", "a boolean", "a number", "a string", "an array", "an object", "another value"}

func (k Kind) String() string { return kindNames[k] }

// A Node is a value.
type Node struct {
	Kind    Kind
	Text    string // of a string; other scalars as they are written
	Items   []*Node
	Members []Member // in their order; a name may stand twice in JSON

	// Start and End are the bytes of the value in the file, and Line is where it begins, from 1; 0 for a value that is not
	// from a file. Of a block of YAML and a table of TOML, which have no end of their own, Start is that of the first key.
	Start, End, Line int

	form form
}

// A form is how an object is written, where that matters for changes.
type form int

const (
	plain     form = iota
	inline         // an object in braces
	header         // TOML: opened by a [header]
	implicit       // TOML: made by a header below it
	dotted         // TOML: made by a dotted key
	blockYAML      // YAML: by indentation
)

// A Member is one of an object.
type Member struct {
	Name  string
	Value *Node
	Start int // of the name
	Line  int
}

// Get returns the value of the first member of the name, or nil.
func (n *Node) Get(name string) *Node { return n.member(name).Value }

// member returns the first member of the name, or an empty one.
func (n *Node) member(name string) (m Member) {
	if n == nil {
		return m
	}
	for _, m := range n.Members {
		if m.Name == name {
			return m
		}
	}
	return m
}

// Duplicate returns the second member of a name that an object has twice, within n and what is below it.
func (n *Node) Duplicate() *Member {
	seen := map[string]bool{}
	for i, m := range n.Members {
		if seen[m.Name] {
			return &n.Members[i]
		}
		seen[m.Name] = true
		if d := m.Value.Duplicate(); d != nil {
			return d
		}
	}
	for _, item := range n.Items {
		if d := item.Duplicate(); d != nil {
			return d
		}
	}
	return nil
}

// Equal compares two values: objects without regard to the order of their members.
func Equal(a, b *Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind || len(a.Items) != len(b.Items) || len(a.Members) != len(b.Members) {
		return false
	}
	if a.Kind != Array && a.Kind != Object && a.Text != b.Text {
		return false
	}
	for i := range a.Items {
		if !Equal(a.Items[i], b.Items[i]) {
			return false
		}
	}
	ours, theirs := byName(a), byName(b)
	for i := range ours {
		if ours[i].Name != theirs[i].Name || !Equal(ours[i].Value, theirs[i].Value) {
			return false
		}
	}
	return true
}

// byName returns the members sorted; those of one name stay in their order.
func byName(n *Node) []Member {
	out := slices.Clone(n.Members)
	slices.SortStableFunc(out, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Text makes a string.
func Text(s string) *Node { return &Node{Kind: String, Text: s} }

// List makes an array of strings.
func List(items ...string) *Node {
	n := &Node{Kind: Array, Items: []*Node{}}
	for _, s := range items {
		n.Items = append(n.Items, Text(s))
	}
	return n
}

// Flag makes a boolean.
func Flag(b bool) *Node { return &Node{Kind: Bool, Text: strconv.FormatBool(b)} }

// Int makes a number.
func Int(i int) *Node { return &Node{Kind: Number, Text: strconv.Itoa(i)} }

// Map makes an object of names and values in turns; the values are nodes or strings.
func Map(pairs ...any) *Node {
	n := &Node{Kind: Object}
	for i := 0; i+1 < len(pairs); i += 2 {
		value, is := pairs[i+1].(*Node)
		if !is {
			value = Text(pairs[i+1].(string))
		}
		n.Members = append(n.Members, Member{Name: pairs[i].(string), Value: value})
	}
	return n
}

// A SyntaxError is where a file cannot be read, and why.
type SyntaxError struct {
	Syntax  Syntax
	Line    int
	Message string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d: %s (read as %s)", e.Line, e.Message, e.Syntax)
}

// Parse reads a file. An empty one is an empty object. Errors are of type *SyntaxError.
func Parse(syntax Syntax, data []byte) (*Node, error) {
	if len(data) > MaxSize {
		return nil, &SyntaxError{syntax, 1, fmt.Sprintf("the file is larger than %d MiB", MaxSize>>20)}
	}
	if at := invalidUTF8(data); at >= 0 {
		return nil, &SyntaxError{syntax, lineOf(data, at), "this is not UTF-8; save the file in that encoding"}
	}
	switch syntax {
	case TOML:
		return parseTOML(data)
	case YAML:
		return parseYAML(data)
	}
	return parseJSON(data)
}

// Detect finds out how a text is written, and reads it.
func Detect(data []byte) (*Node, Syntax, error) {
	text := bytes.TrimLeft(bytes.TrimPrefix(data, bom), " \t\r\n")
	if len(text) == 0 {
		return nil, JSON, &SyntaxError{JSON, 1, "there is nothing"}
	}
	if text[0] == '{' || bytes.HasPrefix(text, []byte("//")) || bytes.HasPrefix(text, []byte("/*")) {
		n, err := Parse(JSON, data)
		return n, JSON, err
	}
	if n, err := Parse(JSON, data); err == nil {
		return n, JSON, nil
	}
	n, err := Parse(TOML, data)
	if err == nil {
		return n, TOML, nil
	}
	if n, asYAML := Parse(YAML, data); asYAML == nil && n.Kind == Object {
		return n, YAML, nil
	} else if asYAML != nil && lineIn(asYAML) > lineIn(err) { // what was read further is what was meant
		err = asYAML
	}
	return nil, "", err
}

func lineIn(err error) int {
	if e, ok := errors.AsType[*SyntaxError](err); ok {
		return e.Line
	}
	return 0
}

var bom = []byte("\ufeff")

func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// lineOf is the number of the line of a byte, from 1.
func lineOf(data []byte, at int) int {
	return 1 + bytes.Count(data[:min(at, len(data))], []byte("\n"))
}
