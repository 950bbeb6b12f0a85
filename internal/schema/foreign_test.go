package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	other "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// A foreignTool is a tool as servers of one kind write it, with arguments that fit and that do not.
type foreignTool struct {
	Name      string
	From      string
	Input     json.RawMessage
	Output    json.RawMessage
	Fit       []json.RawMessage
	Unfit     []json.RawMessage
	Unchecked []string // places, in order
}

func foreignTools(t *testing.T) (out []foreignTool) {
	t.Helper()
	files, err := filepath.Glob("testdata/foreign/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var tools []foreignTool
		if err := json.Unmarshal(text, &tools); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, tool := range tools {
			tool.Name = strings.TrimSuffix(filepath.Base(file), ".json") + "/" + tool.Name
			out = append(out, tool)
		}
	}
	return out
}

// A schema of 60 KB, as some servers publish, is checked whole: blocks of a page, each of twenty kinds, in each other.
func TestLargeForeignSchema(t *testing.T) {
	var kinds []string
	for i := range 20 {
		var members []string
		for j := range 31 {
			members = append(members, fmt.Sprintf(
				`"field_%d":{"type":["string","null"],"maxLength":2000,"description":"What block %d has at %d"}`, j, i, j))
		}
		kinds = append(kinds, fmt.Sprintf(`"kind_%d":{"type":"object","required":["type"],"additionalProperties":false,`+
			`"properties":{"type":{"const":"kind_%d"},"children":{"type":"array","maxItems":100,"items":`+
			`{"$ref":"#/$defs/block"}},%s}}`, i, i, strings.Join(members, ",")))
	}
	var choices []string
	for i := range kinds {
		choices = append(choices, fmt.Sprintf(`{"$ref":"#/$defs/kind_%d"}`, i))
	}
	text := fmt.Sprintf(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"page":`+
		`{"$ref":"#/$defs/block"}},"$defs":{"block":{"anyOf":[%s]},%s}}`, strings.Join(choices, ","),
		strings.Join(kinds, ","))
	if len(text) < 60<<10 {
		t.Fatalf("%d bytes", len(text))
	}
	s, err := CompileForeign(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Unchecked) > 0 {
		t.Errorf("not checked: %q", s.Unchecked)
	}
	fit := `{"page":{"type":"kind_7","children":[{"type":"kind_19","field_3":"x"},{"type":"kind_0","field_29":null}]}}`
	if invalid := s.Validate(json.RawMessage(fit)); invalid != nil {
		t.Error(invalid)
	}
	for _, unfit := range []string{strings.Replace(fit, `"x"`, "5", 1), strings.Replace(fit, "kind_0", "kind_20", 1)} {
		if s.Validate(json.RawMessage(unfit)) == nil {
			t.Errorf("%s fits", unfit)
		}
	}
}

// Schemas in the form of those that servers of many kinds publish are used, and what of them cannot be is said.
func TestSchemasOfTheWorld(t *testing.T) {
	for _, tool := range foreignTools(t) {
		t.Run(tool.Name, func(t *testing.T) {
			s, err := CompileForeign(tool.Input)
			if err != nil {
				t.Fatalf("%s: %v", tool.From, err)
			}
			if len(s.Unchecked) != len(tool.Unchecked) {
				t.Fatalf("not checked: %q, want %q", s.Unchecked, tool.Unchecked)
			}
			slices.Sort(s.Unchecked)
			for i, place := range tool.Unchecked {
				if !strings.HasPrefix(s.Unchecked[i], place+": ") || !strings.HasSuffix(s.Unchecked[i], "; it is not checked") {
					t.Errorf("not checked: %q, want %s", s.Unchecked[i], place)
				}
			}
			for _, doc := range tool.Fit {
				if invalid := s.Validate(doc); invalid != nil {
					t.Errorf("%s: %v", doc, invalid)
				}
			}
			for _, doc := range tool.Unfit {
				if s.Validate(doc) == nil {
					t.Errorf("%s fits", doc)
				}
			}
			if _, err := CompileForeignOutput(tool.Output); err != nil {
				t.Errorf("output: %v", err)
			}
		})
	}
}

// Large schemas of real servers are used whole, within a second.
func TestLargeForeignSchemas(t *testing.T) {
	properties := map[string]any{}
	for i := range 500 {
		properties[fmt.Sprintf("field_%d", i)] = map[string]any{"type": "string",
			"description": "What it is, in a few words.",
			"enum":        []any{"one", "two"}, "x-order": i}
	}
	wide := marshal(map[string]any{"type": "object", "properties": properties, "additionalProperties": false})
	defs := map[string]any{}
	for i := range 220 { // the output schema of a search for places has 71 KB
		defs[fmt.Sprintf("Type%d", i)] = map[string]any{"type": "object", "description": strings.Repeat("Explained. ", 90),
			"properties": map[string]any{"next": map[string]any{"$ref": fmt.Sprintf("#/$defs/Type%d", (i+1)%220)},
				"kind": map[string]any{"const": i}}, "required": []any{"kind"}}
	}
	linked := marshal(map[string]any{"type": "object", "properties": map[string]any{
		"first": map[string]any{"$ref": "#/$defs/Type0"}}, "$defs": defs})
	for name, c := range map[string]struct{ schema, fit, unfit string }{
		"500 properties": {wide, `{"field_0":"one","field_499":"two"}`, `{"field_499":"three"}`},
		"220 types":      {linked, `{"first":{"kind":0,"next":{"kind":1}}}`, `{"first":{"kind":0,"next":{"kind":2}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if len(c.schema) < 50<<10 || len(c.schema) > maxSchemaSize {
				t.Fatalf("%d bytes", len(c.schema))
			}
			begin := time.Now()
			s, err := CompileForeign([]byte(c.schema))
			if err != nil || len(s.Unchecked) > 0 {
				t.Fatal(err)
			}
			if invalid := s.Validate([]byte(c.fit)); invalid != nil {
				t.Error(invalid)
			}
			if s.Validate([]byte(c.unfit)) == nil {
				t.Error("it is not checked")
			}
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// junk are keywords with values that mean nothing.
var junk = []map[string]any{
	{"type": "any"}, {"type": []any{"string", "float"}}, {"type": 5}, {"type": []any{}}, {"enum": []any{}}, {"enum": "a"},
	{"required": true}, {"required": "a"}, {"required": []any{"a", 5}}, {"properties": []any{}}, {"properties": nil},
	{"patternProperties": "x"}, {"patternProperties": map[string]any{"[": map[string]any{}}}, {"items": nil},
	{"items": "string"}, {"prefixItems": []any{}}, {"prefixItems": map[string]any{}}, {"anyOf": []any{}}, {"oneOf": nil},
	{"allOf": map[string]any{}}, {"not": 1}, {"if": "x"}, {"minLength": -1}, {"minLength": "1"}, {"maximum": true},
	{"minimum": "0"}, {"exclusiveMinimum": "0"}, {"multipleOf": 0}, {"uniqueItems": "yes"}, {"pattern": "["},
	{"pattern": 5}, {"pattern": `(a)\1`}, {"$ref": "https://example.org/x"}, {"$ref": "#/gone"}, {"$ref": "#name"},
	{"$ref": 1}, {"$dynamicRef": "#a"}, {"contains": 7}, {"minContains": "x"}, {"additionalProperties": "no"},
	{"additionalProperties": nil}, {"propertyNames": []any{}}, {"unevaluatedProperties": 0}, {"dependentRequired": 1},
	{"dependentSchemas": "x"}, {"dependencies": 4}, {"$defs": 5}, {"definitions": map[string]any{"x": 5}}, {"title": 7},
	{"examples": "x"}, {"$id": 4}, {"format": 4}, {"description": nil}, {"default": json.Number("1e99")},
	{"then": "x"}, {"dependentRequired": map[string]any{"a": "b"}}, {"additionalItems": "x"},
}

// A foreign schema in which any keywords mean nothing is used all the same: what its other keywords accept is never
// refused, and no keyword makes the whole unusable.
func TestForeignSchemasWithJunk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clean := anySchema(3).Draw(t, "schema").(map[string]any)
		delete(clean, "format") // which this package checks, and the other library does not
		raw := []byte(marshal(withJunk(t, clean)))
		s, err := CompileForeign(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		second, err := otherSchema([]byte(marshal(clean)))
		if err != nil {
			t.Fatalf("%s: %v", marshal(clean), err)
		}
		for range 8 {
			doc := []byte(marshal(anyValue(3).Draw(t, "document")))
			v, err := other.UnmarshalJSON(strings.NewReader(string(doc)))
			if err != nil {
				t.Fatalf("%s: %v", doc, err)
			}
			if invalid := s.Validate(doc); invalid != nil && second.Validate(v) == nil && !strings.Contains(string(raw),
				`"format":"date"`) {
				t.Fatalf("refused: %v\nschema %s\ndocument %s\nunchecked %q", invalid, raw, doc, s.Unchecked)
			}
		}
	})
}

// withJunk copies a schema, and adds junk to it and to schemas in it.
func withJunk(t *rapid.T, clean map[string]any) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(clean)) {
		out[name] = clean[name]
		switch v := clean[name].(type) {
		case map[string]any:
			if !slices.Contains([]string{"const", "dependentRequired"}, name) {
				out[name] = withJunkInside(t, name, v)
			}
		case []any:
			if slices.Contains([]string{"allOf", "anyOf", "oneOf", "prefixItems"}, name) {
				list := make([]any, len(v))
				for i, sub := range v {
					list[i] = withJunk(t, sub.(map[string]any))
				}
				out[name] = list
			}
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "whether") == 0 {
		for name, value := range rapid.SampledFrom(junk).Draw(t, "junk") {
			if _, there := out[name]; !there {
				out[name] = value
			}
		}
	}
	return out
}

// withJunkInside is withJunk for the value of a keyword that is a schema, or schemas by name.
func withJunkInside(t *rapid.T, keyword string, v map[string]any) map[string]any {
	if namedSchemas[keyword] == nil && keyword != "$defs" {
		return withJunk(t, v)
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		out[name] = v[name]
		if sub, ok := v[name].(map[string]any); ok {
			out[name] = withJunk(t, sub)
		}
	}
	return out
}
