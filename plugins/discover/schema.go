package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// maxDepth is how deep schemas may be inside each other.
const maxDepth = 32

// inputSchema returns the input schema of a declaration, fixed where the habits of the format differ from JSON
// Schema. With an error it does not say what its author means, or is nil when no call could be right.
func inputSchema(fields map[string]json.RawMessage) (json.RawMessage, error) {
	var schema json.RawMessage
	var other string // what stands in place of a schema
	for _, key := range schemaNames {
		switch kind := rawjson.Kind(fields[key]); {
		case kind == "an object":
			schema = fields[key]
			if members := rawjson.ObjectOf(schema); key == "inputSchema" && len(members) == 1 && members[0].Name == "json" &&
				rawjson.Kind(members[0].Value) == "an object" { // as Amazon Bedrock has it
				schema = members[0].Value
			}
		case kind != "missing" && kind != "null" && string(fields[key]) != "true": // true is the schema of anything
			other = kind
		}
	}
	switch {
	case schema == nil && other != "":
		return unchecked, fmt.Errorf("its schema is %s, not an object", other)
	case schema == nil:
		schema = unchecked
	}
	if len(schema) > maxSchema {
		return unchecked, fmt.Errorf("its schema has %d bytes, at most %d are allowed", len(schema), maxSchema)
	}
	bare, err := bareProperties(schema)
	if bare {
		schema = slices.Concat(json.RawMessage(`{"properties":`), schema, json.RawMessage("}"))
	}
	schema, mistake := normalizeSchema(schema, 1)
	if mistake != nil {
		return unchecked, mistake
	}
	if schema, mistake = rooted(schema); mistake != nil {
		return schema, mistake
	}
	return schema, err
}

// bareProperties reports whether the members of a schema are properties without the object around them, which JSON
// Schema reads as keywords that mean nothing. If only some look like properties, an error names one: a keyword beside
// them may be meant as one.
func bareProperties(schema json.RawMessage) (bool, error) {
	members, first, bare := rawjson.ObjectOf(schema), "", 0
	for _, m := range members {
		fields, text := object(m.Value), ""
		_ = json.Unmarshal(m.Value, &text)
		declares := func(key string) bool { return fields[key] != nil }
		switch {
		case m.Name == "properties":
			return false, nil
		case slices.ContainsFunc([]string{"type", "enum", "$ref", "anyOf", "description"}, declares) &&
			!slices.Contains(slices.Concat(schemaKeys, mapKeys, objectKeys), m.Name):
			first = cmp.Or(first, m.Name)
			bare++
		case slices.Contains(types, strings.ToLower(text)) && !slices.Contains(textKeys, m.Name):
			first = cmp.Or(first, m.Name)
		}
	}
	if first != "" && bare < len(members) {
		return false, fmt.Errorf("its schema has no \"properties\", in which %q belongs", textutil.Cut(first, 60))
	}
	return bare > 0 && bare == len(members), nil
}

// schemaNames are the names that Anthropic, MCP and Gemini CLI have for the schema; the last one that is there counts.
// Without the first two, scripts made for those would have tools whose arguments neither the model nor the host knows.
var schemaNames = []string{"input_schema", "inputSchema", "parameters", "parametersJsonSchema"}

// unchecked is the schema of a tool whose own cannot be used.
var unchecked = json.RawMessage(`{"type":"object"}`)

// rooted sees to it that the schema is one of an object.
func rooted(schema json.RawMessage) (json.RawMessage, error) {
	root := object(schema)
	var several []string
	switch t, ok := root["type"]; {
	case ok && string(t) == `"object"`:
		return schema, nil
	case ok && json.Unmarshal(t, &several) == nil && slices.Contains(several, "object"): // as one that may be null has
		return eachMember(schema, func(key string, value json.RawMessage) (json.RawMessage, error) {
			if key == "type" {
				return json.RawMessage(`"object"`), nil
			}
			return value, nil
		})
	case ok:
		return nil, fmt.Errorf("its schema has the type %s, but arguments are always an object", textutil.Cut(string(t), 60))
	case len(root) == 0:
		return json.RawMessage(`{"type":"object"}`), nil
	}
	return append(json.RawMessage(`{"type":"object",`), bytes.TrimSpace(schema)[1:]...), nil
}

// Where schemas are inside of schemas.
var (
	schemaKeys = []string{"items", "additionalProperties", "additionalItems", "contains", "propertyNames", "not", "if",
		"then", "else", "unevaluatedItems", "unevaluatedProperties"}
	listKeys = []string{"prefixItems", "items", "anyOf", "oneOf", "allOf"}
	mapKeys  = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
	// countKeys hold whole numbers, which this format may write as strings.
	countKeys = []string{"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"}
	// objectKeys are other keywords that may hold any object, textKeys those that may hold the name of a type.
	objectKeys = []string{"default", "const", "example", "dependencies", "contentSchema", "$vocabulary"}
	textKeys   = []string{"type", "title", "description", "format", "default", "const", "example", "pattern", "$comment"}
	types      = []string{"string", "number", "integer", "boolean", "array", "object", "null"}
)

// normalizeSchema writes the types of a schema in lower case, its counts as numbers, nullable as a union with null, and
// leaves out types that say nothing. A schema that is fine stays unchanged, byte for byte.
func normalizeSchema(schema json.RawMessage, depth int) (json.RawMessage, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("its schema has more than %d levels", maxDepth)
	}
	orNull := string(object(schema)["nullable"]) == "true" // OpenAPI's keyword for a value that may also be null
	mended, err := eachMember(schema, func(key string, value json.RawMessage) (json.RawMessage, error) {
		of := rawjson.Kind(value)
		switch {
		case key == "type" && orNull:
			return withNull(normalizeType(value)), nil
		case key == "type":
			return normalizeType(value), nil
		case key == "nullable" && of == "a boolean":
			return nil, nil
		case of == "a string" && slices.Contains(countKeys, key):
			return normalizeCount(value), nil
		case of == "an object" && slices.Contains(schemaKeys, key):
			return normalizeSchema(value, depth+1)
		case of == "an array" && slices.Contains(listKeys, key):
			return eachItem(value, func(item json.RawMessage) (json.RawMessage, error) { return normalizeSchema(item, depth+1) })
		case of == "an object" && slices.Contains(mapKeys, key):
			return eachMember(value, func(_ string, s json.RawMessage) (json.RawMessage, error) {
				return normalizeSchema(s, depth+1)
			})
		}
		return value, nil
	})
	if err == nil && orNull && depth > 1 && object(mended)["type"] == nil {
		mended = slices.Concat(json.RawMessage(`{"anyOf":[`), mended, json.RawMessage(`,{"type":"null"}]}`))
	}
	return mended, err
}

// withNull adds null to a type, or to several; none at all stays none.
func withNull(types json.RawMessage) json.RawMessage {
	var one string
	var all []string
	switch {
	case types == nil:
		return nil
	case json.Unmarshal(types, &one) == nil:
		all = []string{one}
	case json.Unmarshal(types, &all) != nil:
		return types
	}
	if slices.Contains(all, "null") {
		return types
	}
	return sdk.Encode(append(all, "null"))
}

func normalizeType(value json.RawMessage) json.RawMessage {
	var name string
	if json.Unmarshal(value, &name) != nil {
		value, _ = eachItem(value, func(item json.RawMessage) (json.RawMessage, error) { return normalizeType(item), nil })
		return value
	}
	switch lower := strings.ToLower(name); {
	case name == "TYPE_UNSPECIFIED":
		return nil
	case lower != name && slices.Contains(types, lower):
		return json.RawMessage(`"` + lower + `"`)
	}
	return value
}

func normalizeCount(value json.RawMessage) json.RawMessage {
	var text string
	var n uint32
	if json.Unmarshal(value, &text) == nil && json.Unmarshal([]byte(text), &n) == nil && text != "null" {
		return json.RawMessage(strings.TrimSpace(text))
	}
	return value
}

// eachMember returns a JSON object with each value as f returns it, nil to leave the member out, in the old order.
// Other JSON, and an unchanged object, is returned unchanged.
func eachMember(raw json.RawMessage,
	f func(key string, value json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	var out rawjson.Object
	changed := false
	for _, m := range rawjson.ObjectOf(raw) {
		is, err := f(m.Name, m.Value)
		if err != nil {
			return nil, err
		}
		changed = changed || !bytes.Equal(m.Value, is)
		out.Add(m.Name, is)
	}
	switch {
	case !changed:
		return raw, nil
	case out == nil:
		return json.RawMessage("{}"), nil
	}
	return out.JSON(), nil
}

// eachItem is eachMember for arrays.
func eachItem(raw json.RawMessage, f func(item json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	var out []json.RawMessage
	changed := false
	for _, item := range items(raw) {
		is, err := f(item)
		if err != nil {
			return nil, err
		}
		changed = changed || !bytes.Equal(item, is)
		if is != nil {
			out = append(out, is)
		}
	}
	if !changed {
		return raw, nil
	}
	return rawjson.Array(out), nil
}
