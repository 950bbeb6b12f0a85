package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

// paramsSchema gives the schema that params are short for: no other arguments, all required but those with a question mark.
func paramsSchema(params map[string]json.RawMessage) (json.RawMessage, error) {
	var properties, required []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		property, optional, err := param(params[name])
		if err != nil {
			return nil, fmt.Errorf("params: %s: %w", name, err)
		}
		properties = append(properties, string(sdk.Encode(name))+":"+property)
		if !optional {
			required = append(required, string(sdk.Encode(name)))
		}
	}
	text := `{"type":"object","properties":{` + strings.Join(properties, ",") + `}`
	if len(required) > 0 {
		text += `,"required":[` + strings.Join(required, ",") + `]`
	}
	return json.RawMessage(text + `,"additionalProperties":false}`), nil
}

// param reads "TYPE", "TYPE?" for one that may be absent, and either with ": DESCRIPTION" behind it. A list is TYPE[].
func param(raw json.RawMessage) (property string, optional bool, err error) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return "", false, fmt.Errorf("it is %s; write \"TYPE: DESCRIPTION\", or use schema for more", kind(raw))
	}
	kind, description, _ := strings.Cut(text, ":")
	kind, optional = strings.CutSuffix(strings.TrimSpace(kind), "?")
	kind, list := strings.CutSuffix(kind, "[]")
	if !slices.Contains([]string{"string", "number", "integer", "boolean"}, kind) {
		return "", false, fmt.Errorf("%q begins with no type: write string, number, integer or boolean, with [] for a list, with ? for one that may be absent, then \": DESCRIPTION\"",
			clip(text, 60))
	}
	property = `{"type":"` + kind + `"`
	if list {
		property = `{"type":"array","items":{"type":"` + kind + `"}`
	}
	if description = strings.TrimSpace(description); description != "" {
		property += `,"description":` + string(sdk.Encode(description))
	}
	return property + "}", optional, nil
}
