package rawjson

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Member is one of a JSON object.
type Member struct {
	Name  string
	Value json.RawMessage // shares the bytes of the text that it was read from
}

// An Object has the members of a JSON object in their order.
type Object []Member

// ObjectOf returns the members of a JSON object, which may be nested to any depth; none for other JSON, and for text
// that is not JSON.
func ObjectOf(text []byte) (out Object) {
	m := DeepMembersOf(text)
	for m.Next() {
		out = append(out, Member{string(m.Name), slices.Clip(m.Value)})
	}
	if m.Err != nil {
		return nil
	}
	return out
}

// ObjectWith returns an object of names and values in turn, which can be written as JSON. A value that is nil is left
// out.
func ObjectWith(pairs ...any) (out Object) {
	for ; len(pairs) >= 2; pairs = pairs[2:] {
		if pairs[1] != nil {
			value, _ := Encode(pairs[1], "")
			out.Add(pairs[0].(string), value)
		}
	}
	return out
}

// Add adds a member, unless it has no value.
func (o *Object) Add(name string, value json.RawMessage) {
	if len(value) > 0 {
		*o = append(*o, Member{name, value})
	}
}

// AddText adds a member with a text.
func (o *Object) AddText(name, text string) { o.Add(name, AppendText(nil, text)) }

// Get returns the value of the first member of a name, nil if there is none.
func (o Object) Get(name string) json.RawMessage {
	for _, m := range o {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Without returns the members that have none of these names.
func (o Object) Without(names ...string) (out Object) {
	for _, m := range o {
		if !slices.Contains(names, m.Name) {
			out = append(out, m)
		}
	}
	return out
}

// JSON puts the members together; it returns nil if there are none.
func (o Object) JSON() json.RawMessage {
	if len(o) == 0 {
		return nil
	}
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(AppendText(out, m.Name), ':'), m.Value...)
	}
	return append(out, '}')
}

// AppendText appends a text as a JSON string, with no escape that JSON does not ask for.
func AppendText(b []byte, text string) []byte {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	b = append(b, '"')
	from := 0
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, text[from:i]...)
		from = i + 1
		if at := strings.IndexByte("\"\\\b\f\n\r\t", c); at >= 0 {
			b = append(b, '\\', `"\bfnrt`[at])
		} else {
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(b, text[from:]...), '"')
}

const hexDigits = "0123456789abcdef"
