package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// errorKey is the member of _meta with the error of a call that failed.
const errorKey = "toolhost/error"

// callResult writes the result of a call.
func (e *endpoint) callResult(r *request, out *host.Result) *result {
	extra := members(out.Extra)
	content := append([]sdk.Content{}, out.Content...)
	structured := out.Structured
	if !r.isModern() && !isObject(structured) {
		structured = nil // before 2026-07-28 it was an object
	}
	to := &result{}
	addMeta(to, extra)
	if out.Error != nil {
		content = append(content, sdk.TextContent(errorText(out.Error)))
		to.meta.add(errorKey, sdk.Encode(out.Error))
	} else if len(content) == 0 && len(out.Structured) > 0 {
		content = out.Readable()
	}
	to.body.add("content", contentJSON(content))
	to.body.add("structuredContent", structured)
	if out.Error != nil {
		to.body.add("isError", json.RawMessage("true"))
	}
	to.body.addMembers(extra, "content", "structuredContent", "isError", "_meta", "resultType")
	return to.complete(r)
}

// aboutOneHop reports whether a member of _meta is between a client and the next server only.
func aboutOneHop(name string) bool {
	return strings.HasPrefix(name, "io.modelcontextprotocol/") || name == "progressToken"
}

func contentJSON(parts []sdk.Content) json.RawMessage {
	out := []byte{'['}
	for i, p := range parts {
		raw, err := p.MarshalJSON()
		if err != nil || !json.Valid(raw) {
			raw, _ = sdk.TextContent("[a part of the result is not valid JSON, and is left out]").MarshalJSON()
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, raw...)
	}
	return append(out, ']')
}

// errorText is what a model reads of a failure.
func errorText(e *sdk.Error) string {
	text := string(e.Code)
	if e.Name != "" {
		text += " " + e.Name
	}
	text = fmt.Sprintf("%s: %s", text, e.Message)
	if e.Suggestion != "" {
		text += "\n" + e.Suggestion
	}
	return text
}
