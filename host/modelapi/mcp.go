package modelapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi/internal/toolschema"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/rawjson"
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
	extra, err := readObject(t.Extra)
	if err != nil {
		return nil, fmt.Errorf("its extra members: %w", err)
	}
	annotations, err := mcpAnnotations(t, extra)
	if err != nil {
		return nil, err
	}
	var out rawjson.Object
	out.AddText("name", t.Name)
	if t.Title != "" {
		out.AddText("title", t.Title)
	}
	out.AddText("description", t.Description)
	out.Add("inputSchema", input)
	out.Add("outputSchema", t.OutputSchema)
	out.Add("annotations", annotations)
	others := extra.Without("name", "title", "description", "inputSchema", "outputSchema", "annotations")
	return append(out, others...).JSON(), nil
}

// mcpAnnotations are the hints, including those that the host does not trust, and other members at the source.
func mcpAnnotations(t *host.Tool, extra rawjson.Object) (json.RawMessage, error) {
	hints := t.StatedHints()
	var out rawjson.Object
	var names []string
	for _, h := range []struct {
		name string
		hint *bool
	}{{"readOnlyHint", hints.ReadOnly}, {"destructiveHint", hints.Destructive},
		{"idempotentHint", hints.Idempotent}, {"openWorldHint", hints.OpenWorld}} {
		if names = append(names, h.name); h.hint != nil {
			out.Add(h.name, sdk.Encode(h.hint))
		}
	}
	others, err := readObject(extra.Get("annotations"))
	if err != nil {
		return nil, fmt.Errorf("its annotations: %w", err)
	}
	return append(out, others.Without(names...)...).JSON(), nil
}

// readObject reads a JSON object, of which every reader sees the same members; empty input is one without members.
func readObject(text json.RawMessage) (rawjson.Object, error) {
	if v := jsontext.Value(text); len(v) > 0 && (v.Kind() != '{' || !v.IsValid()) {
		return nil, errors.New("not a JSON object, or one with two members of a name or invalid UTF-8")
	}
	return rawjson.ObjectOf(text), nil
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
		extra, err := readObject(r.Extra)
		if err != nil {
			return nil, fmt.Errorf("the extra members of the result of %s: %w", r.Tool, err)
		}
		var result rawjson.Object
		result.Add("content", sdk.Encode(content))
		if strings.HasPrefix(strings.TrimSpace(string(r.Structured)), "{") {
			result.Add("structuredContent", r.Structured)
		}
		result.Add("isError", sdk.Encode(r.Error != nil))
		out[i] = append(result, extra.Without("content", "structuredContent", "isError")...).JSON()
	}
	if len(out) == 1 {
		return out[0], nil
	}
	return out, nil
}
