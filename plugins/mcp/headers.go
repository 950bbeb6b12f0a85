package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/plugins/mcp/internal/httptransport"
)

// A paramHeader is an argument that a request over HTTP repeats as a header, so that what stands between can route by
// it: a property of the input schema with x-mcp-header.
type paramHeader struct {
	name string   // Mcp-Param-NAME
	path []string // of properties
}

const (
	headerKey      = "x-mcp-header"
	maxHeaderDepth = 64
)

// headerName is a token of RFC 9110.
var headerName = regexp.MustCompile("^[!#$%&'*+\\-.^_`|~0-9A-Za-z]+$")

// paramHeaders finds those of an input schema. An error means that MCP does not allow the tool to be called over HTTP.
func paramHeaders(schema json.RawMessage) ([]paramHeader, error) {
	if !strings.Contains(string(schema), headerKey) {
		return nil, nil
	}
	var out []paramHeader
	if err := collectHeaders(&out, schema, nil, true, 0); err != nil {
		return nil, err
	}
	for i, h := range out {
		if slices.ContainsFunc(out[:i], func(o paramHeader) bool { return strings.EqualFold(o.name, h.name) }) {
			return nil, fmt.Errorf("two properties have the %s %q", headerKey, h.name)
		}
	}
	return out, nil
}

// collectHeaders looks at one schema. A property that is not reached through properties alone, such as one of an item
// of an array, has no one value, so reachable is false in it.
func collectHeaders(out *[]paramHeader, schema json.RawMessage, path []string, reachable bool, depth int) error {
	if depth > maxHeaderDepth {
		return nil
	}
	var name, propertyType json.RawMessage
	for _, m := range rawjson.ObjectOf(schema) {
		switch m.Name {
		case headerKey:
			name = m.Value
		case "type":
			propertyType = m.Value
		case "const", "default", "enum", "examples": // values, not schemas
		case "properties", "$defs", "definitions", "patternProperties", "dependentSchemas":
			for _, p := range rawjson.ObjectOf(m.Value) {
				inside := reachable && m.Name == "properties"
				if err := collectHeaders(out, p.Value, append(slices.Clip(path), p.Name), inside, depth+1); err != nil {
					return err
				}
			}
		default:
			if err := headersInside(out, m.Value, path, depth); err != nil {
				return err
			}
		}
	}
	if name == nil {
		return nil
	}
	return addHeader(out, name, propertyType, path, reachable)
}

// headersInside looks at the schemas in the value of another keyword: one, or several in an array.
func headersInside(out *[]paramHeader, value json.RawMessage, path []string, depth int) error {
	list, ok := items(value)
	if !ok {
		list = []json.RawMessage{value}
	}
	for _, item := range list {
		if err := collectHeaders(out, item, path, false, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func addHeader(out *[]paramHeader, name, propertyType json.RawMessage, path []string, reachable bool) error {
	where := fmt.Sprintf("%s of the property %q", headerKey, strings.Join(path, "."))
	n, ok := text(name)
	switch {
	case !reachable || len(path) == 0:
		return fmt.Errorf("%s does not belong to one argument", where)
	case !ok || !headerName.MatchString(n):
		return fmt.Errorf("%s is no name of a header: %.60s", where, name)
	}
	switch t, _ := text(propertyType); t {
	case "string", "integer", "boolean", "number":
	default:
		return fmt.Errorf("%s: the property is no string, number or boolean", where)
	}
	*out = append(*out, paramHeader{n, path})
	return nil
}

// headersOf are the headers of a call, nil if there are none. Absent arguments and null have none.
func headersOf(declared []paramHeader, arguments json.RawMessage) map[string]string {
	var out map[string]string
	for _, h := range declared {
		value := arguments
		for _, name := range h.path {
			value = memberOf(value, name)
		}
		var shown string
		switch first(value) {
		case '"':
			shown, _ = text(value)
		case 0, '{', '[', 'n':
			continue
		default:
			shown = string(value)
		}
		if out == nil {
			out = map[string]string{}
		}
		out["Mcp-Param-"+h.name] = httptransport.EncodeHeader(shown)
	}
	return out
}

// memberOf returns the last member of the name, since that is what decoders of JSON take.
func memberOf(object json.RawMessage, name string) (value json.RawMessage) {
	for _, m := range rawjson.ObjectOf(object) {
		if m.Name == name {
			value = m.Value
		}
	}
	return value
}
