package mcpserver

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"

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
	output := acceptedSchema(outputSchema(t))
	d.json = definitionJSON(name, t, output)
	d.legacy = d.json
	if output != nil && !isOfObjects(output) {
		d.legacy = definitionJSON(name, t, nil)
	}
	return d
}

// isOfObjects reports whether a schema allows objects alone.
func isOfObjects(schema json.RawMessage) bool {
	return string(rawjson.ObjectOf(schema).Get("type")) == `"object"`
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
	for _, m := range extra.Without("name", "title", "description", "inputSchema", "outputSchema", "annotations",
		"execution") {
		if m.Name == "icons" && !areIcons(m.Value) || m.Name == "_meta" && rawjson.First(m.Value) != '{' {
			continue // clients refuse the whole list for them
		}
		out = append(out, m)
	}
	return out.JSON()
}

func areIcons(raw json.RawMessage) bool {
	list, _, err := rawjson.Elements(raw, math.MaxInt)
	return err == nil && !slices.ContainsFunc(list, func(icon json.RawMessage) bool {
		o := rawjson.ObjectOf(icon)
		return rawjson.Kind(o.Get("src")) != "a string" || slices.ContainsFunc(o, func(m rawjson.Member) bool {
			switch m.Name {
			case "mimeType":
				return rawjson.Kind(m.Value) != "a string"
			case "theme":
				return string(m.Value) != `"light"` && string(m.Value) != `"dark"`
			case "sizes":
				return !areStrings(m.Value)
			}
			return false
		})
	})
}

func areStrings(raw json.RawMessage) bool {
	list, _, err := rawjson.Elements(raw, math.MaxInt)
	return err == nil && !slices.ContainsFunc(list, func(v json.RawMessage) bool { return rawjson.Kind(v) != "a string" })
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
	rest := rawjson.ObjectOf(others)
	if rawjson.Kind(rest.Get("title")) != "a string" {
		known = append(known, "title")
	}
	return append(out, rest.Without(known...)...).JSON()
}

// acceptedSchema returns a schema that no client refuses: for one tool with another one at its root, the TypeScript SDK
// refuses the whole list. There properties are an object of objects, so that true, which servers write for what may be
// anything, becomes {}, and required is a list of names. The host checks arguments by the original.
func acceptedSchema(schema json.RawMessage) json.RawMessage {
	var out rawjson.Object
	changed := false
	for _, m := range rawjson.ObjectOf(schema) {
		value := m.Value
		switch {
		case m.Name == "properties":
			value = objectsIn(value)
		case m.Name == "required" && !areStrings(value):
			value = nil
		}
		changed = changed || !bytes.Equal(value, m.Value)
		out.Add(m.Name, value)
	}
	if !changed {
		return schema
	}
	return out.JSON()
}

// objectsIn returns the properties of a schema with an object for each; nil if they are none.
func objectsIn(properties json.RawMessage) json.RawMessage {
	all := rawjson.ObjectOf(properties)
	isNone := func(m rawjson.Member) bool { return rawjson.First(m.Value) != '{' }
	if rawjson.First(properties) == '{' && !slices.ContainsFunc(all, isNone) {
		return properties
	}
	for i, m := range all {
		switch {
		case string(m.Value) == "false":
			all[i].Value = json.RawMessage(`{"not":{}}`)
		case isNone(m):
			all[i].Value = json.RawMessage(`{}`)
		}
	}
	return all.JSON()
}

// objectSchema returns an accepted input schema whose root has "type":"object", which MCP requires, and which is true
// of all arguments.
func objectSchema(schema json.RawMessage) json.RawMessage {
	schema = acceptedSchema(bytes.TrimSpace(schema))
	if rawjson.First(schema) != '{' {
		return json.RawMessage(`{"type":"object"}`)
	}
	all := rawjson.ObjectOf(schema)
	if string(all.Get("type")) == `"object"` {
		return schema
	}
	return append(rawjson.ObjectWith("type", "object"), all.Without("type")...).JSON()
}
