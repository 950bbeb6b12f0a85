package arguments

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/sdk"
)

// MaxUsage is the most bytes that the properties in a usage take.
const MaxUsage = 400

// Usage lists the properties of a tool with their types, in the order of its schema, behind them those of schemas
// that it combines; "" when it lists none.
func (s *Schema) Usage(tool string, schema json.RawMessage) string {
	var own struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(schema, &own) != nil {
		return ""
	}
	var names []string
	more := maps.Clone(s.declared)
	for _, m := range rawjson.ObjectOf(own.Properties) {
		names = append(names, m.Name)
		delete(more, m.Name)
	}
	names = append(names, slices.Sorted(maps.Keys(more))...)
	if len(names) == 0 {
		if s.top().isEmpty() {
			return tool + " takes no arguments: send {}."
		}
		return ""
	}
	left := MaxUsage
	for i, name := range names {
		traits := s.kindsOf(name).names()
		if slices.Contains(own.Required, name) {
			traits = append(traits, "required")
		}
		if len(traits) > 0 {
			names[i] += " (" + strings.Join(traits, ", ") + ")"
		}
		if left -= len(names[i]) + len(", "); left < 0 {
			names = append(names[:i], fmt.Sprintf("and %d more", len(names)-i))
			break
		}
	}
	return tool + " takes " + strings.Join(names, ", ") + "."
}

// Limits of an example.
const (
	maxExampleDepth  = 8
	maxExampleValues = 64
)

// Example returns the least arguments that the schema requires: its required properties, with placeholders of the
// right type. It shows the form and need not match every keyword of the schema.
func (s *Schema) Example() json.RawMessage {
	return exampleWriter{Schema: s, text: func(name string) string { return "<" + name + ">" }}.top("")
}

// Sample is Example for a person, who replaces what is in capitals: each list has an item, and where nothing is
// required the property of a name is there.
func (s *Schema) Sample(otherwise string) json.RawMessage {
	return exampleWriter{Schema: s, text: strings.ToUpper, items: true}.top(otherwise)
}

type exampleWriter struct {
	*Schema
	left  int                      // values
	text  func(name string) string // the placeholder of a text
	items bool                     // each list has one
}

func (e exampleWriter) top(otherwise string) json.RawMessage {
	e.left = maxExampleValues
	if _, ok := e.root.(map[string]any); !ok {
		return json.RawMessage("{}")
	}
	root := map[string]any{}
	maps.Copy(root, e.follow(e.root)) // which may lead nowhere
	if required, _ := root["required"].([]any); len(required) == 0 && otherwise != "" {
		root["required"] = []any{otherwise}
	}
	return e.object(nil, root, 0)
}

func (e *exampleWriter) object(out []byte, schema map[string]any, depth int) []byte {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	out = append(out, '{')
	for _, r := range required {
		name, ok := r.(string)
		if !ok || e.left <= 0 {
			continue
		}
		if out[len(out)-1] != '{' {
			out = append(out, ',')
		}
		out = append(append(out, sdk.Encode(name)...), ':')
		out = e.value(out, properties[name], name, depth+1)
	}
	return append(out, '}')
}

// value writes a value from the schema, otherwise a placeholder of its type.
func (e *exampleWriter) value(out []byte, schema any, name string, depth int) []byte {
	e.left--
	m := e.follow(schema)
	for _, keyword := range []string{"const", "default"} {
		if v, ok := m[keyword]; ok {
			return append(out, sdk.Encode(v)...)
		}
	}
	if v := firstOf(m, "enum", "examples"); v != nil {
		return append(out, sdk.Encode(v)...)
	}
	switch typeOf(m) {
	case "object":
		if depth < maxExampleDepth {
			return e.object(out, m, depth)
		}
		return append(out, "{}"...)
	case "array":
		out = append(out, '[')
		if least, _ := number(m, "minItems"); (least > 0 || e.items) && depth < maxExampleDepth {
			out = e.value(out, m["items"], name, depth+1)
		}
		return append(out, ']')
	case "integer", "number":
		return append(out, sdk.Encode(smallest(m))...)
	case "boolean":
		return append(out, "true"...)
	case "null":
		return append(out, "null"...)
	}
	if format, _ := m["format"].(string); formats[format] != "" {
		return append(out, sdk.Encode(formats[format])...)
	}
	return append(out, sdk.Encode(e.text(name))...)
}

// follow follows references within the schema, and takes the first of several choices.
func (e *exampleWriter) follow(schema any) map[string]any {
	for range maxExampleDepth {
		m, _ := schema.(map[string]any)
		if ref, ok := m["$ref"].(string); ok {
			schema = e.resolve(ref)
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

func firstOf(schema map[string]any, keywords ...string) any {
	for _, keyword := range keywords {
		if list, _ := schema[keyword].([]any); len(list) > 0 {
			return list[0]
		}
	}
	return nil
}

// typeOf is the first type that is not null.
func typeOf(schema map[string]any) string {
	types := typesOf(schema)
	for _, t := range types {
		if name, _ := t.(string); name != "" && (name != "null" || len(types) == 1) {
			return name
		}
	}
	if schema["properties"] != nil {
		return "object"
	}
	return ""
}

// smallest is a number that the schema's bounds allow.
func smallest(schema map[string]any) any {
	if least, ok := schema["minimum"].(json.Number); ok && schema["exclusiveMinimum"] != true {
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

func number(schema map[string]any, keyword string) (float64, bool) {
	n, _ := schema[keyword].(json.Number)
	f, err := n.Float64()
	return f, err == nil
}

// formats are examples of the formats with a prescribed form.
var formats = map[string]string{"date": "2026-01-31", "time": "12:00:00Z", "date-time": "2026-01-31T12:00:00Z",
	"uri": "https://example.org/", "email": "name@example.org", "uuid": "00000000-0000-4000-8000-000000000000"}
