package mcpserver

import (
	"bytes"
	"encoding/json"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/sdk"
)

// A definition is a tool as it is served.
type definition struct {
	name string // that clients call it by
	tool *host.Tool
	json json.RawMessage
	// legacy is the definition for clients of revisions before 2026-07-28, in which results are JSON objects.
	legacy json.RawMessage
}

// newDefinition writes a tool's definition. Schemas and unknown members keep their bytes.
func newDefinition(name string, t *host.Tool) *definition {
	d := &definition{name: name, tool: t}
	output := outputSchema(t)
	d.json = definitionJSON(name, t, output)
	d.legacy = d.json
	if output != nil && string(rawjson.ObjectOf(output).Get("type")) != `"object"` { // it may allow other JSON
		d.legacy = definitionJSON(name, t, nil)
	}
	return d
}

// outputSchema is the schema of structured results, nil for a tool whose results need none: see callResult.
func outputSchema(t *host.Tool) json.RawMessage {
	if t.ForeignSchema || t.TextIsJSON {
		return t.OutputSchema
	}
	return nil
}

// Claude Code writes a result of more than 50,000 characters to a file, and gives the model its beginning, unless the
// tool says here that it holds a limit of its own. It takes no more than mostChars.
const (
	maxCharsKey = "anthropic/maxResultSizeChars"
	mostChars   = 500_000
)

// definitionJSON leaves out "execution": it says how the tool's source runs tasks, and none are served.
func definitionJSON(name string, t *host.Tool, output json.RawMessage) json.RawMessage {
	extra := rawjson.ObjectOf(t.Extra)
	var out rawjson.Object
	out.AddText("name", name)
	if t.Title != "" {
		out.AddText("title", t.Title)
	}
	out.AddText("description", t.Description)
	out.Add("inputSchema", objectSchema(t.InputSchema))
	out.Add("outputSchema", output)
	out.Add("annotations", annotations(t.StatedHints(), extra.Get("annotations")))
	if t.MaxResultBytes > 0 && extra.Get("_meta") == nil {
		out.Add("_meta", sdk.Encode(map[string]int64{maxCharsKey: min(t.MaxResultBytes, mostChars)}))
	}
	return append(out, extra.Without("name", "title", "description", "inputSchema", "outputSchema", "annotations",
		"execution")...).JSON()
}

// annotations are the hints, also those that the host does not believe, and other annotations of the tool's source;
// nil when there are none.
func annotations(h sdk.Hints, others json.RawMessage) json.RawMessage {
	var out rawjson.Object
	var known []string
	for _, hint := range []struct {
		name string
		is   *bool
	}{{"readOnlyHint", h.ReadOnly}, {"destructiveHint", h.Destructive}, {"idempotentHint", h.Idempotent},
		{"openWorldHint", h.OpenWorld}} {
		known = append(known, hint.name)
		if hint.is != nil {
			out.Add(hint.name, sdk.Encode(*hint.is))
		}
	}
	return append(out, rawjson.ObjectOf(others).Without(known...)...).JSON()
}

// objectSchema returns an input schema whose root has "type":"object", which MCP requires, and which is true of all
// arguments. The host checks them by the original.
func objectSchema(schema json.RawMessage) json.RawMessage {
	schema = bytes.TrimSpace(schema)
	if !isObject(schema) {
		return json.RawMessage(`{"type":"object"}`)
	}
	all := rawjson.ObjectOf(schema)
	if string(all.Get("type")) == `"object"` {
		return schema
	}
	var out rawjson.Object
	out.AddText("type", "object")
	return append(out, all.Without("type")...).JSON()
}
