package host

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// typed gives the arguments of a call that could only be written as texts: each becomes the number, boolean, null, array or
// object that it stands for, where the tool's schema asks for one. What may be a string stays the string that it is, and
// what stands for nothing else too: the schema then says what is wrong with it.
func (t *Tool) typed(arguments json.RawMessage) json.RawMessage {
	asked := newReader(arguments)
	var out, all bytes.Buffer // with what must be another, and with what may be another as well
	for name, text := range asked.members() {
		kinds := t.schema().memberKinds(t.schema().root, unquoted(name), 0)
		value, kind := valueOf(text)
		must, may := text, text
		if kind&kinds != 0 || kind == integerKind && kinds&numberKind != 0 || kind == numberKind && kinds&integerKind != 0 {
			may = value
			if kinds&stringKind == 0 {
				must = value
			}
		}
		appendMember(&out, name, must)
		appendMember(&all, name, may)
	}
	if asked.failed {
		return arguments
	}
	out.WriteByte('}')
	all.WriteByte('}')
	if !bytes.Equal(out.Bytes(), all.Bytes()) && t.input.Validate(out.Bytes()) != nil && t.input.Validate(all.Bytes()) == nil {
		return all.Bytes() // such as 1 where a string is one of some words
	}
	return out.Bytes()
}

func appendMember(out *bytes.Buffer, name, value jsontext.Value) {
	if out.Len() == 0 {
		out.WriteByte('{')
	} else {
		out.WriteByte(',')
	}
	out.Write(name)
	out.WriteByte(':')
	out.Write(value)
}

// A memberReader gives the members of a checked object, in order, each name and value as JSON.
type memberReader struct {
	text   json.RawMessage
	failed bool
}

func newReader(text json.RawMessage) *memberReader { return &memberReader{text: text} }

func (r *memberReader) members() func(yield func(name, value jsontext.Value) bool) {
	return func(yield func(name, value jsontext.Value) bool) {
		d := jsontext.NewDecoder(bytes.NewBuffer(r.text))
		_, err := d.ReadToken()
		none := true
		for err == nil && d.PeekKind() == '"' {
			var name, value jsontext.Value
			if name, err = d.ReadValue(); err == nil {
				name = bytes.Clone(name)
				value, err = d.ReadValue()
			}
			if err == nil && !yield(name, bytes.Clone(value)) {
				return
			}
			none = false
		}
		r.failed = err != nil || none
	}
}

// kinds are types of JSON values, as a set.
type kinds uint8

const (
	stringKind kinds = 1 << iota
	integerKind
	numberKind
	booleanKind
	nullKind
	arrayKind
	objectKind
	anyKind = stringKind | integerKind | numberKind | booleanKind | nullKind | arrayKind | objectKind
)

var kindNames = map[string]kinds{"string": stringKind, "integer": integerKind, "number": numberKind | integerKind, "boolean": booleanKind,
	"null": nullKind, "array": arrayKind, "object": objectKind}

// valueOf gives the JSON value other than a string that a text stands for, and its kind; without one the text and zero.
// True, False and None are what models of Python write.
func valueOf(quoted jsontext.Value) (jsontext.Value, kinds) {
	if quoted.Kind() != '"' {
		return quoted, 0
	}
	text := strings.Trim(unquoted(quoted), blanks)
	switch text {
	case "True", "TRUE", "False", "FALSE":
		text = strings.ToLower(text)
	case "None", "NULL", "Null":
		text = "null"
	}
	value := jsontext.Value(text)
	if !value.IsValid() {
		return quoted, 0
	}
	switch value.Kind() {
	case 't', 'f':
		return value, booleanKind
	case 'n':
		return value, nullKind
	case '0':
		if strings.ContainsAny(text, ".eE") {
			return value, numberKind
		}
		return value, integerKind
	case '[':
		return value, arrayKind
	case '{':
		return value, objectKind
	}
	return quoted, 0
}

// maxKindDepth bounds how deep schemas that lead to others are followed.
const maxKindDepth = 32

// memberKinds gives the kinds of values that a member may have by a schema. What it leads to is followed anew, since all of
// some must hold, and one of others.
func (s *argumentSchema) memberKinds(schema any, name string, depth int) kinds {
	of, ok := schema.(map[string]any)
	if !ok || depth > maxKindDepth {
		return anyKind
	}
	out := anyKind
	properties, _ := of["properties"].(map[string]any)
	if own, declared := properties[name]; declared {
		out &= s.kinds(own, depth+1)
	} else if more, ok := of["additionalProperties"].(map[string]any); ok {
		out &= s.kinds(more, depth+1)
	}
	return out & s.combined(of, func(sub any) kinds { return s.memberKinds(sub, name, depth+1) })
}

// kinds gives the kinds of values that fit a schema, as far as its types tell.
func (s *argumentSchema) kinds(schema any, depth int) kinds {
	of, ok := schema.(map[string]any)
	if !ok || depth > maxKindDepth {
		return anyKind
	}
	out := anyKind
	switch types := of["type"].(type) {
	case string:
		out = kindNames[types]
	case []any:
		out = 0
		for _, t := range types {
			name, _ := t.(string)
			out |= kindNames[name]
		}
	}
	if of["nullable"] == true {
		out |= nullKind
	}
	if list, ok := of["enum"].([]any); ok {
		out &= kindsIn(list)
	}
	if only, ok := of["const"]; ok {
		out &= kindsIn([]any{only})
	}
	return out & s.combined(of, func(sub any) kinds { return s.kinds(sub, depth+1) })
}

// combined is what the schemas that a schema leads to leave of the kinds.
func (s *argumentSchema) combined(of map[string]any, kindsOf func(any) kinds) kinds {
	out := anyKind
	if ref, ok := of["$ref"].(string); ok {
		out &= kindsOf(s.resolve(ref))
	}
	all, _ := of["allOf"].([]any)
	for _, sub := range all {
		out &= kindsOf(sub)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list, _ := of[key].([]any)
		if len(list) == 0 {
			continue
		}
		var some kinds
		for _, sub := range list {
			some |= kindsOf(sub)
		}
		out &= some
	}
	return out
}

func kindsIn(values []any) (out kinds) {
	for _, v := range values {
		switch v.(type) {
		case string:
			out |= stringKind
		case float64:
			out |= numberKind | integerKind
		case bool:
			out |= booleanKind
		case nil:
			out |= nullKind
		case []any:
			out |= arrayKind
		case map[string]any:
			out |= objectKind
		}
	}
	return out
}
