package mcpserver

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/sdk"
)

// An object is a JSON object that is being written: values keep their bytes, and members their order.
type object struct{ json []byte }

func (o *object) add(name string, value json.RawMessage) {
	if len(value) == 0 {
		return
	}
	separator := byte(',')
	if o.isEmpty() {
		separator = '{'
	}
	o.json = append(append(append(append(o.json, separator), sdk.Encode(name)...), ':'), value...)
}

func (o *object) addText(name, value string) { o.add(name, sdk.Encode(value)) }

// addMembers adds those whose names are not among these.
func (o *object) addMembers(all []member, but ...string) {
	for _, m := range all {
		if !slices.Contains(but, m.name) {
			o.add(m.name, m.value)
		}
	}
}

// addObject adds the members of another object.
func (o *object) addObject(more *object) {
	switch {
	case more.isEmpty():
	case o.isEmpty():
		o.json = append(o.json, more.json...)
	default:
		o.json = append(append(o.json, ','), more.json[1:]...)
	}
}

func (o *object) isEmpty() bool { return len(o.json) == 0 }

// bytes returns the object; the object takes no more members then.
func (o *object) bytes() json.RawMessage {
	if o.isEmpty() {
		return json.RawMessage("{}")
	}
	return append(bytes.Clone(o.json), '}')
}

// A member is one of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// members returns those of a JSON object in their order; none for other JSON.
func members(raw json.RawMessage) (out []member) {
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() != '{' {
		return nil
	}
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		out = append(out, member{key, json.RawMessage(bytes.Clone(value))})
	}
	return out
}

// find returns the value of a member, nil if there is none.
func find(all []member, name string) json.RawMessage {
	for _, m := range all {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// text returns the string in a value, "" for another value.
func text(value json.RawMessage) (s string) {
	_ = json.Unmarshal(value, &s) // of other JSON nothing is needed
	return s
}

// isObject reports whether a value is a JSON object, by its first character.
func isObject(value json.RawMessage) bool {
	value = bytes.TrimLeft(value, " \t\r\n")
	return len(value) > 0 && value[0] == '{'
}
