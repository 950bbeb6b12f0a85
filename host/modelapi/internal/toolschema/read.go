package toolschema

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// read gives the root of a schema, which must be an object.
func read(raw []byte) (*object, error) {
	if len(raw) > maxSize {
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(raw), maxSize)
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw)) // refuses doubled names and invalid UTF-8
	value, err := readValue(d)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	root, ok := value.(*object)
	if !ok {
		return nil, errors.New("it is no JSON object")
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
		return readObject(d)
	case '[':
		return readList(d)
	case '"':
		return token.String(), nil
	case 't', 'f':
		return token.Bool(), nil
	case 'n':
		return nil, nil
	}
	return jsontext.Value(token.String()), nil
}

func readObject(d *jsontext.Decoder) (any, error) {
	o := newObject()
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String() // before the next read makes the token void
		value, err := readValue(d)
		if err != nil {
			return nil, err
		}
		o.set(key, value)
	}
	_, err := d.ReadToken()
	return o, err
}

func readList(d *jsontext.Decoder) (any, error) {
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
}
