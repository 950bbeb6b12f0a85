package modelapi

import (
	"encoding/json"
	"errors"
	"strings"

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

// mcpTool returns a tool of tools/list. Hints are left out where the plugin gives none: their defaults are not all
// false. https://modelcontextprotocol.io/specification/2025-11-25/schema#tool
func mcpTool(t *host.Tool) (any, error) {
	type hints struct {
		ReadOnly    *bool `json:"readOnlyHint,omitempty"`
		Destructive *bool `json:"destructiveHint,omitempty"`
		Idempotent  *bool `json:"idempotentHint,omitempty"`
		OpenWorld   *bool `json:"openWorldHint,omitempty"`
	}
	input, err := toolschema.MCP(t.InputSchema)
	if err != nil {
		return nil, badSchema(err)
	}
	if t.OutputSchema != nil && !json.Valid(t.OutputSchema) {
		return nil, errors.New("its output schema is not valid JSON")
	}
	return struct {
		Name         string          `json:"name"`
		Title        string          `json:"title,omitempty"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
		Annotations  hints           `json:"annotations,omitzero"`
	}{t.Name, t.Title, t.Description, input, t.OutputSchema, hints(t.Hints)}, nil
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

// mcpResults returns results of tools/call. Structured data is kept if it is an object; clients before 2026 accept
// nothing else and have its text.
func mcpResults(results []*host.Result) (any, error) {
	type result struct {
		Content    []sdk.Content   `json:"content"`
		Structured json.RawMessage `json:"structuredContent,omitempty"`
		IsError    bool            `json:"isError"`
	}
	out := make([]result, len(results))
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
		out[i] = result{Content: content, IsError: r.Error != nil}
		if strings.HasPrefix(strings.TrimSpace(string(r.Structured)), "{") {
			out[i].Structured = r.Structured
		}
	}
	if len(out) == 1 {
		return out[0], nil
	}
	return out, nil
}
