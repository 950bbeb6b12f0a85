package modelapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi/internal/toolschema"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/sdk"
)

// mcp is the Model Context Protocol. https://modelcontextprotocol.io/specification/2025-11-25/server/tools
var mcp = vendor{
	toolName: lazy.Regexp(`^[a-zA-Z0-9_.-]{1,128}$`),
	tool:     mcpTool,
	calls:    mcpCalls,
	results:  mcpResults,
}

// mcpTool returns a tool of tools/list, with the members that a tool of an MCP server has at its source, such as icons
// and _meta. Hints are left out where the plugin gives none: their defaults are not all false.
// https://modelcontextprotocol.io/specification/2025-11-25/schema#tool
func mcpTool(t *host.Tool) (any, error) {
	input, err := toolschema.MCP(t.InputSchema)
	if err != nil {
		return nil, badSchema(err)
	}
	if t.OutputSchema != nil && !json.Valid(t.OutputSchema) {
		return nil, errors.New("its output schema is not valid JSON")
	}
	extra, err := readMembers(t.Extra)
	if err != nil {
		return nil, fmt.Errorf("its extra members: %w", err)
	}
	annotations, err := mcpAnnotations(t, extra)
	if err != nil {
		return nil, err
	}
	out := members{{"name", sdk.Encode(t.Name)}}
	if t.Title != "" {
		out = append(out, member{"title", sdk.Encode(t.Title)})
	}
	out = append(out, member{"description", sdk.Encode(t.Description)}, member{"inputSchema", input})
	if t.OutputSchema != nil {
		out = append(out, member{"outputSchema", t.OutputSchema})
	}
	if len(annotations) > 0 {
		out = append(out, member{"annotations", annotations.object()})
	}
	return out.with(extra, "title", "outputSchema", "annotations").object(), nil
}

// mcpAnnotations are the hints, including those that the host does not trust, and other members at the source.
func mcpAnnotations(t *host.Tool, extra members) (out members, err error) {
	hints := t.StatedHints()
	var names []string
	for _, h := range []struct {
		name string
		hint *bool
	}{{"readOnlyHint", hints.ReadOnly}, {"destructiveHint", hints.Destructive},
		{"idempotentHint", hints.Idempotent}, {"openWorldHint", hints.OpenWorld}} {
		if names = append(names, h.name); h.hint != nil {
			out = append(out, member{h.name, sdk.Encode(h.hint)})
		}
	}
	others, err := readMembers(extra.value("annotations"))
	if err != nil {
		return nil, fmt.Errorf("its annotations: %w", err)
	}
	return out.with(others, names...), nil
}

// members are the members of a JSON object, in order, with their bytes.
type members []member

type member struct {
	name  string
	value json.RawMessage
}

// readMembers reads a JSON object; empty input is one without members.
func readMembers(object json.RawMessage) (out members, err error) {
	if len(object) == 0 {
		return nil, nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(object))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return nil, errors.New("not a JSON object")
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: name.String()}
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		m.value = bytes.Clone(value)
		out = append(out, m)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	return out, nil
}

// value returns the value of a member; nil when there is none.
func (m members) value(name string) json.RawMessage {
	i := slices.IndexFunc(m, func(o member) bool { return o.name == name })
	if i < 0 {
		return nil
	}
	return m[i].value
}

// with adds the others whose names are neither present nor reserved.
func (m members) with(others members, reserved ...string) members {
	for _, o := range others {
		if m.value(o.name) == nil && !slices.Contains(reserved, o.name) {
			m = append(m, o)
		}
	}
	return m
}

// object is the JSON object with these members.
func (m members) object() json.RawMessage {
	out := []byte("{")
	for i, o := range m {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, sdk.Encode(o.name)...), ':'), o.value...)
	}
	return append(out, '}')
}

// mcpCalls reads a tools/call request, its params, or an array of those. The id of a request, a string or a number, is
// the call's.
func mcpCalls(v value) ([]host.Call, error) {
	if v.isArray() {
		return v.each(mcpCalls)
	}
	o, err := v.object()
	switch {
	case err != nil:
		return nil, err
	case o.has("method") && !o.is("method", "tools/call"):
		return nil, nil
	case !o.has("method"):
		return newCall(value{}, o.member("name"), o.member("arguments"))
	}
	params, err := o.member("params").object()
	if err != nil {
		return nil, err
	}
	calls, err := newCall(value{}, params.member("name"), params.member("arguments"))
	if id := o.member("id"); err == nil && !id.isMissing() {
		if calls[0].ID, err = id.text(); err != nil { // a number
			calls[0].ID, err = string(id.raw), nil
		}
	}
	return calls, err
}

// mcpResults returns results of tools/call, with _meta and other members of the source. Structured data is kept if it
// is an object; clients before 2026 accept nothing else and have its text.
func mcpResults(results []*host.Result) (any, error) {
	out := make([]json.RawMessage, len(results))
	for i, r := range results {
		if len(r.Structured) > 0 && !json.Valid(r.Structured) {
			return nil, errors.New("the structured result of " + r.Tool + " is not valid JSON")
		}
		content := append([]sdk.Content{}, r.Content...)
		switch {
		case r.Error != nil:
			failed := host.Result{Error: r.Error}
			content = append(content, sdk.TextContent(failed.Text()))
		case len(content) == 0:
			content = append(content, visibleContent(r)...)
		}
		extra, err := readMembers(r.Extra)
		if err != nil {
			return nil, fmt.Errorf("the extra members of the result of %s: %w", r.Tool, err)
		}
		result := members{{"content", sdk.Encode(content)}}
		if strings.HasPrefix(strings.TrimSpace(string(r.Structured)), "{") {
			result = append(result, member{"structuredContent", r.Structured})
		}
		result = append(result, member{"isError", sdk.Encode(r.Error != nil)})
		out[i] = result.with(extra, "structuredContent").object()
	}
	if len(out) == 1 {
		return out[0], nil
	}
	return out, nil
}
