package toolschema

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// order is that of the members of a converted schema.
var order = []string{"type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems",
	"properties",
	"required", "minProperties", "maxProperties", "minimum", "maximum", "minLength", "maxLength", "pattern", "anyOf",
	"propertyOrdering"}

func (o *object) order() {
	slices.SortFunc(o.names, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
}

// formats are those that the subset knows, by type. Older endpoints refuse the others.
var formats = map[string][]string{"string": {"date-time"}, "number": {"float", "double"}, "integer": {"int32", "int64"}}

// head begins a schema of one type. Values that enum cannot hold, because only texts can stand there, go into the
// description.
func head(o *object, kind string, nullable bool) *object {
	out := newObject()
	out.set("type", strings.ToUpper(kind))
	if format := o.text("format"); slices.Contains(formats[kind], format) {
		out.set("format", format)
	}
	if title := o.text("title"); title != "" {
		out.set("title", title)
	}
	description := o.text("description")
	if values := valuesOf(o, kind); len(values) > 0 {
		if kind == "string" && !slices.Contains(values, any("")) {
			out.set("enum", values)
		} else {
			description = strings.TrimSpace(description + "\n" + oneOf(values))
		}
	}
	if description != "" {
		out.set("description", description)
	}
	if nullable {
		out.set("nullable", true)
	}
	return out
}

// oneOf tells the values that are allowed, in words.
func oneOf(values []any) string {
	var words []string
	for _, v := range values {
		if text, err := encode(v); err == nil {
			words = append(words, string(text))
		}
	}
	return "One of: " + strings.Join(words, ", ") + "."
}

// choices are all values that enum and const allow, here or in each alternative, or none when any are allowed.
func choices(o *object) []any {
	if values := fixed(o); len(values) > 0 {
		return values
	}
	var out []any
	for _, alternative := range append(slices.Clone(o.list("anyOf")), o.list("oneOf")...) {
		sub, ok := alternative.(*object)
		if !ok || len(fixed(sub)) == 0 {
			return nil
		}
		out = append(out, fixed(sub)...)
	}
	return out
}

func fixed(o *object) []any {
	if constant, ok := o.members["const"]; ok {
		return []any{constant}
	}
	return o.list("enum")
}

// valuesOf are the choices that are of one type.
func valuesOf(o *object, kind string) (out []any) {
	for _, v := range choices(o) {
		if k := kindOf(v); k == kind || k == "integer" && kind == "number" {
			out = append(out, v)
		}
	}
	return out
}

func kindOf(value any) string {
	switch v := value.(type) {
	case *object:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case jsontext.Value:
		if whole(v) {
			return "integer"
		}
		return "number"
	}
	return "null"
}

func whole(number jsontext.Value) bool { return !bytes.ContainsAny(number, ".eE") }

// typesOf gives the types of a schema's values without null, and whether null is one of them. A schema for null alone
// is taken for a text that may be null: the subset has no null type everywhere.
func typesOf(o *object) (types []string, nullable bool) {
	named := kinds(o.members["type"])
	if len(named) == 0 {
		named = implied(o)
	}
	for _, kind := range named {
		switch {
		case kind == "null":
			nullable = true
		case !slices.Contains(types, kind):
			types = append(types, kind)
		}
	}
	if len(types) == 0 && nullable {
		types = []string{"string"}
	}
	return types, nullable || o.members["nullable"] == true
}

// hints are keywords that speak of one type only.
var hints = []struct {
	kind     string
	keywords []string
}{
	{"object", []string{"properties", "required", "additionalProperties", "patternProperties", "minProperties",
		"maxProperties"}},
	{"array", []string{"items", "prefixItems", "minItems", "maxItems", "uniqueItems"}},
	{"string", []string{"pattern", "minLength", "maxLength"}},
	{"number", []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
}

// implied guesses the types from the values, or from the keywords.
func implied(o *object) (types []string) {
	for _, v := range choices(o) {
		types = append(types, kindOf(v))
	}
	for _, h := range hints {
		if len(types) == 0 && slices.ContainsFunc(h.keywords, o.has) {
			return []string{h.kind}
		}
	}
	return types
}
