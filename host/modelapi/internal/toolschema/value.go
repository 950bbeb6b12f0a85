package toolschema

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits. The first two are far above those of the schemas that a host accepts.
const (
	maxSize    = 256 << 10 // bytes
	maxDepth   = 64        // nested objects and arrays
	maxSteps   = 4000      // schemas visited while references are followed
	maxInlined = 256 << 10 // bytes of the texts of a schema with its references inlined
)

// An object is a JSON object whose members keep their order. The other JSON values are []any, string, bool, nil and
// jsontext.Value, which is a number with the digits it was written with.
type object struct {
	names   []string
	members map[string]any
}

func newObject() *object { return &object{members: map[string]any{}} }

func (o *object) has(name string) bool {
	_, ok := o.members[name]
	return ok
}

func (o *object) set(name string, value any) {
	if !o.has(name) {
		o.names = append(o.names, name)
	}
	o.members[name] = value
}

func (o *object) drop(names ...string) {
	for _, name := range names {
		if o.has(name) {
			delete(o.members, name)
			o.names = slices.DeleteFunc(o.names, func(n string) bool { return n == name })
		}
	}
}

func (o *object) object(name string) *object {
	sub, _ := o.members[name].(*object)
	return sub
}

func (o *object) list(name string) []any {
	list, _ := o.members[name].([]any)
	return list
}

func (o *object) text(name string) string {
	text, _ := o.members[name].(string)
	return text
}

// strings returns the strings of a list, such as that of required.
func (o *object) strings(name string) (out []string) {
	for _, v := range o.list(name) {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func (o *object) clone() *object {
	out := newObject()
	for _, name := range o.names {
		out.set(name, o.members[name])
	}
	return out
}

// read decodes a schema, which must be an object. Of members with one name the last counts, as for the host's checks.
func read(raw []byte) (*object, error) {
	if len(raw) > maxSize {
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(raw), maxSize)
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true)) // refuses invalid UTF-8
	value, err := readValue(d)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON object")
	}
	root, ok := value.(*object)
	if !ok {
		return nil, errors.New("it is not a JSON object")
	}
	return root, nil
}

func readValue(d *jsontext.Decoder) (any, error) {
	if d.StackDepth() > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		o := newObject()
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String() // the next read invalidates the token
			value, err := readValue(d)
			if err != nil {
				return nil, err
			}
			o.set(key, value)
		}
		_, err := d.ReadToken()
		return o, err
	case '[':
		list := []any{}
		for d.PeekKind() != ']' {
			value, err := readValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := d.ReadToken()
		return list, err
	case '"':
		return token.String(), nil
	case 't', 'f':
		return token.Bool(), nil
	case 'n':
		return nil, nil
	}
	return jsontext.Value(token.String()), nil
}

// encode writes a value in order, without escaping <, > and &, since models read it.
func encode(value any) ([]byte, error) { return jsonv2.Marshal(value) }

// MarshalJSONTo writes the members in their order.
func (o *object) MarshalJSONTo(e *jsontext.Encoder) error {
	err := e.WriteToken(jsontext.BeginObject)
	for _, name := range o.names {
		err = cmp.Or(err, e.WriteToken(jsontext.String(name)))
		err = cmp.Or(err, jsonv2.MarshalEncode(e, o.members[name]))
	}
	return cmp.Or(err, e.WriteToken(jsontext.EndObject))
}

func equal(a, b any) bool {
	if a, ok := a.(*object); ok && a == b {
		return true
	}
	x, err := encode(a)
	y, err2 := encode(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

func kindOf(value any) string {
	switch v := value.(type) {
	case *object:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case jsontext.Value:
		if bytes.ContainsAny(v, ".eE") {
			return "number"
		}
		return "integer"
	}
	return "null"
}

// literal returns a string itself, or the JSON of any other value.
func literal(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := encode(v)
	if err != nil {
		return ""
	}
	return string(text)
}
