package host

import (
	"bytes"
	"encoding/json"
	"strings"
)

const (
	maxSampleDepth  = 8
	maxSampleValues = 64
)

// example makes the least arguments that a schema asks for: its required properties, with placeholders of the right
// type. It is to be read, not to be sent: it need not fit every rule of the schema.
func example(schema json.RawMessage) json.RawMessage {
	var root any
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber() // a constant keeps its digits
	if d.Decode(&root) != nil {
		return json.RawMessage("{}")
	}
	s := sampler{root: root, left: maxSampleValues}
	return s.object(nil, s.follow(root), 0)
}

// A sampler writes placeholders, at most so many.
type sampler struct {
	root any
	left int
}

func (s *sampler) object(out []byte, schema map[string]any, depth int) []byte {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	out = append(out, '{')
	for _, r := range required {
		name, ok := r.(string)
		if !ok || s.left <= 0 {
			continue
		}
		if out[len(out)-1] != '{' {
			out = append(out, ',')
		}
		out = append(appendJSON(out, name), ':')
		out = s.value(out, properties[name], name, depth+1)
	}
	return append(out, '}')
}

// value writes a value that the schema itself names, else a placeholder of its type.
func (s *sampler) value(out []byte, schema any, name string, depth int) []byte {
	s.left--
	m := s.follow(schema)
	if v, ok := given(m); ok {
		return appendJSON(out, v)
	}
	switch typeOf(m) {
	case "object":
		if depth < maxSampleDepth {
			return s.object(out, m, depth)
		}
		return append(out, "{}"...)
	case "array":
		return s.array(out, m, name, depth)
	case "integer", "number":
		return appendJSON(out, smallest(m))
	case "boolean":
		return append(out, "true"...)
	case "null":
		return append(out, "null"...)
	}
	return appendJSON(out, placeholder(m, name))
}

// array has one item if the schema wants any.
func (s *sampler) array(out []byte, schema map[string]any, name string, depth int) []byte {
	out = append(out, '[')
	if least, _ := number(schema, "minItems"); least > 0 && depth < maxSampleDepth {
		out = s.value(out, schema["items"], name, depth+1)
	}
	return append(out, ']')
}

// follow goes along references within the schema, and into the first of several choices.
func (s *sampler) follow(schema any) map[string]any {
	for range maxSampleDepth {
		m, _ := schema.(map[string]any)
		if ref, ok := m["$ref"].(string); ok {
			schema = s.at(ref)
			continue
		}
		choice := firstOf(m, "anyOf", "oneOf", "allOf")
		if choice == nil || m["type"] != nil || m["properties"] != nil {
			return m
		}
		schema = choice
	}
	return nil
}

// at is the part of the schema that a local reference such as #/$defs/x names.
func (s *sampler) at(ref string) any {
	here := s.root
	for part := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(ref, "#"), "/"), "/") {
		if part == "" {
			continue
		}
		m, _ := here.(map[string]any)
		here = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return here
}

// given is a value that the schema names.
func given(schema map[string]any) (any, bool) {
	for _, word := range []string{"const", "default"} {
		if v, ok := schema[word]; ok {
			return v, true
		}
	}
	v := firstOf(schema, "enum", "examples")
	return v, v != nil
}

func firstOf(schema map[string]any, words ...string) any {
	for _, word := range words {
		if list, _ := schema[word].([]any); len(list) > 0 {
			return list[0]
		}
	}
	return nil
}

// typeOf is the first type that is not null.
func typeOf(schema map[string]any) string {
	kinds, ok := schema["type"].([]any)
	if !ok {
		kinds = []any{schema["type"]}
	}
	for _, k := range kinds {
		if kind, _ := k.(string); kind != "" && (kind != "null" || len(kinds) == 1) {
			return kind
		}
	}
	if schema["properties"] != nil {
		return "object"
	}
	return ""
}

func smallest(schema map[string]any) any {
	if least, ok := schema["minimum"].(json.Number); ok {
		return least
	}
	if below, ok := number(schema, "exclusiveMinimum"); ok {
		return below + 1
	}
	if most, ok := number(schema, "maximum"); ok {
		return min(most, 1)
	}
	return 1
}

func number(schema map[string]any, name string) (float64, bool) {
	n, _ := schema[name].(json.Number)
	f, err := n.Float64()
	return f, err == nil
}

// formats are strings of the formats that have a form.
var formats = map[string]string{"date": "2026-01-31", "time": "12:00:00Z", "date-time": "2026-01-31T12:00:00Z",
	"uri": "https://example.org/", "email": "name@example.org", "uuid": "00000000-0000-4000-8000-000000000000"}

func placeholder(schema map[string]any, name string) string {
	if format, _ := schema["format"].(string); formats[format] != "" {
		return formats[format]
	}
	return "<" + name + ">"
}

// appendJSON writes v without escaping what is only special in HTML.
func appendJSON(out []byte, v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return append(out, "null"...)
	}
	return append(out, strings.TrimSuffix(b.String(), "\n")...)
}
