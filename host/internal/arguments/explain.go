package arguments

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxUsage is how many bytes the properties in a usage take.
const MaxUsage = 400

// Usage returns a sentence with the properties that a tool takes, in the order of its input schema, each with type and
// "required"; "" if the schema does not list them. Properties over MaxUsage are counted.
func Usage(tool string, schema json.RawMessage) string {
	var s struct {
		Properties           json.RawMessage `json:"properties"`
		Required             []string        `json:"required"`
		AdditionalProperties any             `json:"additionalProperties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return ""
	}
	properties := describeProperties(s.Properties, s.Required)
	switch {
	case len(properties) > 0:
	case s.AdditionalProperties == false:
		return tool + " takes no arguments: send {}."
	default:
		return ""
	}
	left := MaxUsage
	for i, p := range properties {
		if left -= len(p) + len(", "); left < 0 {
			properties = append(properties[:i:i], fmt.Sprintf("and %d more", len(properties)-i))
			break
		}
	}
	return tool + " takes " + strings.Join(properties, ", ") + "."
}

// describeProperties returns the name and traits of each property of an object, in order.
func describeProperties(object json.RawMessage, required []string) (out []string) {
	d := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() == '"' {
		token, _ := d.ReadToken()
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		var property struct {
			Type any `json:"type"`
		}
		_ = json.Unmarshal(value, &property) // a schema may also be true or false
		var traits []string
		if kind, ok := property.Type.(string); ok {
			traits = append(traits, kind)
		}
		if slices.Contains(required, name) {
			traits = append(traits, "required")
		}
		if len(traits) > 0 {
			name += " (" + strings.Join(traits, ", ") + ")"
		}
		out = append(out, name)
	}
	return out
}

const (
	maxExampleDepth  = 8
	maxExampleValues = 64
)

// Example returns the smallest arguments for a schema: its required properties, with placeholders of the right type. It
// is meant to be read: it need not satisfy every rule of the schema.
func Example(schema json.RawMessage) json.RawMessage {
	var root any
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber() // constants keep their digits
	if d.Decode(&root) != nil {
		return json.RawMessage("{}")
	}
	w := exampleWriter{root: root, left: maxExampleValues}
	return w.object(nil, w.follow(root), 0)
}

type exampleWriter struct {
	root any
	left int // values that may still be written
}

func (w *exampleWriter) object(out []byte, schema map[string]any, depth int) []byte {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	out = append(out, '{')
	for _, r := range required {
		name, ok := r.(string)
		if !ok || w.left <= 0 {
			continue
		}
		if out[len(out)-1] != '{' {
			out = append(out, ',')
		}
		out = append(appendJSON(out, name), ':')
		out = w.value(out, properties[name], name, depth+1)
	}
	return append(out, '}')
}

// value writes a value that the schema names, else a placeholder of its type.
func (w *exampleWriter) value(out []byte, schema any, name string, depth int) []byte {
	w.left--
	m := w.follow(schema)
	for _, keyword := range []string{"const", "default"} {
		if v, ok := m[keyword]; ok {
			return appendJSON(out, v)
		}
	}
	if v := firstOf(m, "enum", "examples"); v != nil {
		return appendJSON(out, v)
	}
	switch typeOf(m) {
	case "object":
		if depth < maxExampleDepth {
			return w.object(out, m, depth)
		}
		return append(out, "{}"...)
	case "array":
		out = append(out, '[')
		if least, _ := number(m, "minItems"); least > 0 && depth < maxExampleDepth {
			out = w.value(out, m["items"], name, depth+1)
		}
		return append(out, ']')
	case "integer", "number":
		if least, ok := m["minimum"].(json.Number); ok {
			return appendJSON(out, least)
		}
		if below, ok := number(m, "exclusiveMinimum"); ok {
			return appendJSON(out, below+1)
		}
		if most, ok := number(m, "maximum"); ok {
			return appendJSON(out, min(most, 1))
		}
		return append(out, '1')
	case "boolean":
		return append(out, "true"...)
	case "null":
		return append(out, "null"...)
	}
	format, _ := m["format"].(string)
	if text, ok := formatExamples[format]; ok {
		return appendJSON(out, text)
	}
	return appendJSON(out, "<"+name+">")
}

var formatExamples = map[string]string{"date": "2026-01-31", "time": "12:00:00Z", "date-time": "2026-01-31T12:00:00Z",
	"uri": "https://example.org/", "email": "name@example.org", "uuid": "00000000-0000-4000-8000-000000000000"}

// follow resolves references within the schema, and takes the first of several alternatives.
func (w *exampleWriter) follow(schema any) map[string]any {
	for range maxExampleDepth {
		m, _ := schema.(map[string]any)
		if ref, ok := m["$ref"].(string); ok {
			schema = w.root
			for step := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(ref, "#"), "/"), "/") {
				if step != "" {
					m, _ := schema.(map[string]any)
					schema = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
				}
			}
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

// typeOf returns the first type that is not null, unless null is the only one.
func typeOf(schema map[string]any) string {
	types, ok := schema["type"].([]any)
	if !ok {
		types = []any{schema["type"]}
	}
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

func number(schema map[string]any, keyword string) (float64, bool) {
	n, _ := schema[keyword].(json.Number)
	f, err := n.Float64()
	return f, err == nil
}

// appendJSON writes v without escaping <, > and &.
func appendJSON(out []byte, v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return append(out, "null"...)
	}
	return append(out, strings.TrimSuffix(b.String(), "\n")...)
}
