package arguments

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// Typed converts the arguments of a call that could only be written as text: each becomes the number, boolean, null,
// array or object that it stands for, where the schema has that type. A text that may be a string stays one, and so
// does a text without another meaning: validation then reports the error. fits reports whether arguments match the
// whole schema.
func (s *Schema) Typed(arguments json.RawMessage, fits func(json.RawMessage) bool) json.RawMessage {
	var out, all bytes.Buffer // with the required conversions, and with all possible ones
	m := rawjson.MembersOf(arguments)
	for m.Next() {
		kinds := s.kindsOf(string(m.Name))
		text := jsontext.Value(m.Value)
		value, kind := valueOf(text)
		must, may := text, text
		if kind&kinds != 0 || kind == integerKind && kinds&numberKind != 0 || kind == numberKind && kinds&integerKind != 0 {
			may = value
			if kinds&stringKind == 0 {
				must = value
			}
		}
		name := arguments[m.Start : m.End-len(m.Value)] // and the colon
		appendMember(&out, name, must)
		appendMember(&all, name, may)
	}
	if m.Err != nil || out.Len() == 0 {
		return arguments
	}
	out.WriteByte('}')
	all.WriteByte('}')
	if !bytes.Equal(out.Bytes(), all.Bytes()) && !fits(out.Bytes()) && fits(all.Bytes()) {
		return all.Bytes() // such as 1 where a string is one of several values
	}
	return out.Bytes()
}

func appendMember(out *bytes.Buffer, name, value []byte) {
	if out.Len() == 0 {
		out.WriteByte('{')
	} else {
		out.WriteByte(',')
	}
	out.Write(name)
	out.Write(value)
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

var kindsByName = map[string]kinds{"string": stringKind, "integer": integerKind, "number": numberKind | integerKind,
	"boolean": booleanKind, "null": nullKind, "array": arrayKind, "object": objectKind}

// names are the kinds in one text, such as "string or null"; none for any kind.
func (k kinds) names() []string {
	var names []string
	for _, name := range []string{"string", "number", "integer", "boolean", "array", "object", "null"} {
		if kind := kindsByName[name]; k&kind == kind {
			names, k = append(names, name), k&^kind // an integer is a number
		}
	}
	if len(names) == 0 || len(names) == len(kindsByName)-1 {
		return nil
	}
	return []string{strings.Join(names, " or ")}
}

// valueOf returns the JSON value other than a string that a text stands for, and its kind; without one the text and
// zero. Models that write Python use True, False and None.
func valueOf(quoted jsontext.Value) (jsontext.Value, kinds) {
	if quoted.Kind() != '"' {
		return quoted, 0
	}
	text := strings.Trim(Unquote(quoted), Whitespace)
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

// maxKindSchemas bounds how many schemas are examined for the kinds of one member: MCP servers may have any schema.
const maxKindSchemas = 1000

// kindsOf returns the kinds of values that the schema allows for a member at the top.
func (s *Schema) kindsOf(name string) kinds {
	left := maxKindSchemas
	return s.memberKinds(s.root, name, &left)
}

// memberKinds returns the kinds of values that a schema allows for a member. Other schemas that it refers to are
// followed each time: all of allOf must hold, one of anyOf and oneOf.
func (s *Schema) memberKinds(schema any, name string, left *int) kinds {
	of, ok := schema.(map[string]any)
	if *left--; !ok || *left < 0 {
		return anyKind
	}
	out := anyKind
	properties, _ := of["properties"].(map[string]any)
	if own, declared := properties[name]; declared {
		out &= s.kinds(own, left)
	} else if more, ok := of["additionalProperties"].(map[string]any); ok && of["patternProperties"] == nil {
		out &= s.kinds(more, left)
	}
	return out & s.combined(of, func(sub any) kinds { return s.memberKinds(sub, name, left) })
}

// kinds returns the kinds of values that a schema allows, according to types, enum and const.
func (s *Schema) kinds(schema any, left *int) kinds {
	of, ok := schema.(map[string]any)
	if *left--; !ok || *left < 0 {
		return anyKind
	}
	out := anyKind
	switch types := of["type"].(type) {
	case string:
		out = kindsByName[types]
	case []any:
		out = 0
		for _, t := range types {
			name, _ := t.(string)
			out |= kindsByName[name]
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
	return out & s.combined(of, func(sub any) kinds { return s.kinds(sub, left) })
}

// combined intersects the kinds that referenced and combined schemas allow.
func (s *Schema) combined(of map[string]any, kindsOf func(any) kinds) kinds {
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
		case json.Number:
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
