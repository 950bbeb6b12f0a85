package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// schemaTags are the tags that a field's schema is made of, besides its type: tag, JSON Schema keyword, and how the
// tag's text becomes JSON.
var schemaTags = []struct {
	tag, keyword string
	literal      func(t reflect.Type, text string) (string, error)
}{
	{"jsonschema", "description", func(_ reflect.Type, text string) (string, error) { return quote(text), nil }},
	{"minimum", "minimum", numberOf},
	{"maximum", "maximum", numberOf},
	{"default", "default", literalOf},
	{"enum", "enum", listOf},
}

// notNegative is what an unsigned number has until a tag says better.
const notNegative = `,"minimum":0`

// tagged puts what the field's tags say into its schema, a JSON object.
func tagged(schema string, f reflect.StructField) (string, error) {
	for _, k := range schemaTags {
		text, ok := f.Tag.Lookup(k.tag)
		if !ok {
			continue
		}
		literal, err := k.literal(pointed(f.Type), text)
		if err != nil {
			return "", fmt.Errorf("tag %s: %w", k.tag, err)
		}
		if k.tag == "minimum" {
			schema = strings.Replace(schema, notNegative, "", 1)
		}
		member := quote(k.keyword) + ":" + literal + "}"
		if schema != "{}" {
			member = "," + member
		}
		schema = strings.TrimSuffix(schema, "}") + member
	}
	return schema, nil
}

func numberOf(t reflect.Type, text string) (string, error) {
	if k := t.Kind(); t != numberType && (k < reflect.Int || k > reflect.Float64) {
		return "", fmt.Errorf("%v is not a number", t)
	}
	return literalOf(t, text)
}

func listOf(t reflect.Type, text string) (string, error) {
	var out []string
	for value := range strings.SplitSeq(text, "|") {
		literal, err := literalOf(t, value)
		if err != nil {
			return "", err
		}
		out = append(out, literal)
	}
	return "[" + strings.Join(out, ",") + "]", nil
}

// literalOf writes a tag's text as the JSON that a field of type t is read from: as it is, or as a string.
func literalOf(t reflect.Type, text string) (string, error) {
	verbatim := t == numberType || t.Kind() != reflect.String
	if verbatim && text != "null" && json.Unmarshal([]byte(text), reflect.New(t).Interface()) == nil {
		return text, nil
	}
	if literal := quote(text); json.Unmarshal([]byte(literal), reflect.New(t).Interface()) == nil {
		return literal, nil
	}
	return "", fmt.Errorf("%q is not %v", text, t)
}

// quote writes a JSON string.
func quote(s string) string { return string(Encode(s)) }
