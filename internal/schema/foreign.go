package schema

import (
	"bytes"
	"encoding/json"
)

// CompileForeign compiles a schema that was written for clients of another kind, which compile with ajv: formats are checked,
// a list of items is a tuple where no dialect is named, and a pattern that cannot be compiled is left out, also when it is
// malformed.
func CompileForeign(raw json.RawMessage) (*Schema, error) {
	return compile(raw, &reader{dialect: draft2019, index: map[string]*node{}, foreign: true})
}

// nullable reads the keyword of OpenAPI 3.0, which beside a type allows null too.
func (n *node) nullable(o *object) {
	if o.members["nullable"] != true || n.types == 0 || n.types&kindNull != 0 {
		return
	}
	n.types |= kindNull
	n.typeWords = append(n.typeWords[:len(n.typeWords):len(n.typeWords)], "null")
}

// numbers are the formats of numbers, which are bounds.
func (n *node) numberFormat(name string) {
	atLeast := func(b **bound, text json.Number) {
		if *b == nil {
			*b = &bound{text: text, exact: rational(text)}
		}
	}
	switch name {
	case "int32":
		atLeast(&n.minimum, "-2147483648")
		atLeast(&n.maximum, "2147483647")
		fallthrough
	case "int64":
		atLeast(&n.multipleOf, "1")
	}
}

func compile(raw json.RawMessage, r *reader) (*Schema, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	if len(raw) > maxSchemaSize {
		return nil, fault("", "is %d bytes long, the limit is %d", len(raw), maxSchemaSize)
	}
	root, shared, err := r.read(raw)
	if err != nil {
		return nil, err
	}
	normal, err := emit(root, shared)
	if err != nil {
		return nil, fault("", "cannot be written out: %v", err)
	}
	lib, err := newLibrary(normal)
	if err != nil {
		return nil, err
	}
	return &Schema{Unchecked: r.unchecked, root: root, fast: newRule(root), lib: lib}, nil
}
