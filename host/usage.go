package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxUsage is how many bytes a usage has at most, besides its beginning and end.
const maxUsage = 400

// usage says which properties a tool takes, in the order of its schema, or "" when the schema does not list them.
func usage(t *Tool) string {
	var s struct {
		Properties           json.RawMessage `json:"properties"`
		Required             []string        `json:"required"`
		AdditionalProperties any             `json:"additionalProperties"`
	}
	if json.Unmarshal(t.InputSchema, &s) != nil {
		return ""
	}
	words := properties(s.Properties, s.Required)
	switch {
	case len(words) > 0:
		return t.Name + " takes " + within(maxUsage, words) + "."
	case s.AdditionalProperties == false:
		return t.Name + " takes no arguments: send {}."
	}
	return ""
}

// properties gives a few words for each property of an object schema, in order.
func properties(object json.RawMessage, required []string) (words []string) {
	d := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() == '"' {
		name, _ := d.ReadToken()
		word := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		words = append(words, word+traits(value, slices.Contains(required, word)))
	}
	return words
}

func traits(property jsontext.Value, required bool) string {
	var s struct {
		Type any `json:"type"`
	}
	_ = json.Unmarshal(property, &s) // a schema may also be true or false
	var words []string
	if kind, ok := s.Type.(string); ok {
		words = append(words, kind)
	}
	if required {
		words = append(words, "required")
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// within joins as many words as have room and counts the others.
func within(room int, words []string) string {
	for i, w := range words {
		if room -= len(w) + len(", "); room < 0 {
			return strings.Join(append(words[:i:i], fmt.Sprintf("and %d more", len(words)-i)), ", ")
		}
	}
	return strings.Join(words, ", ")
}
