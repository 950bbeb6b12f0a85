package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/mcpcontent"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// A reply is the result of a request as a server sent it: a result, or questions that have to be answered first.
type reply struct {
	result *sdk.Result
	asking bool // there are questions, or at least a state to repeat the request with
	asks   map[string]json.RawMessage
	state  string
}

// readReply makes a reply of the result of tools/call. An error means that it is none.
func readReply(raw json.RawMessage) (reply, error) {
	if rawjson.First(raw) != '{' {
		return reply{}, fmt.Errorf("the result is %s, not an object", rawjson.Kind(raw))
	}
	r := &sdk.Result{}
	var out reply
	var failed bool
	var extra rawjson.Object
	resultType := "complete"
	all := rawjson.ObjectOf(raw)
	arranged := isArranged(all)
	for _, m := range all {
		if arranged && (m.Name == "content" || m.Name == "structuredContent") {
			extra.Add(m.Name, json.RawMessage("null")) // its place; the value is elsewhere
		}
		switch m.Name {
		case "content":
			list, ok := items(m.Value)
			if !ok && rawjson.First(m.Value) != 'n' {
				return reply{}, fmt.Errorf("the content of the result is %s, not an array", rawjson.Kind(m.Value))
			}
			r.Content = make([]sdk.Content, 0, len(list))
			for _, part := range list {
				r.Content = append(r.Content, readContent(part))
			}
			fitSources(r.Content)
		case "structuredContent":
			r.Structured = m.Value
		case "isError":
			failed = string(m.Value) != "false" && string(m.Value) != "null" // "true" and 1 of a careless server are a yes
			if !failed || arranged {
				extra = append(extra, m)
			}
		case "resultType":
			resultType, _ = text(m.Value)
		case "inputRequests":
			out.asks = map[string]json.RawMessage{}
			for _, question := range rawjson.ObjectOf(m.Value) {
				out.asks[question.Name] = question.Value
			}
		case "requestState":
			out.state, _ = text(m.Value)
		case "_meta":
			if meta := withoutHop(m.Value); meta != nil {
				extra.Add(m.Name, meta)
			}
		default:
			extra = append(extra, m)
		}
	}
	r.Extra = extra.JSON()
	if draft := extra.Get("toolResult"); draft != nil && r.Content == nil && r.Structured == nil {
		r.Content = []sdk.Content{textOf(draft)} // from before the first revision, which is any JSON
	}
	switch resultType {
	case "complete":
		if failed {
			r.Error = toolError(r.Content)
		}
		return reply{result: r}, nil
	case "input_required":
		out.result, out.asking = &sdk.Result{Extra: r.Extra}, true
		return out, nil
	}
	return reply{}, fmt.Errorf("the result has the resultType %q, which this client does not know",
		textutil.Cut(resultType, 60))
}

// isArranged reports whether the members are in another order than that in which a result is written by itself.
func isArranged(all rawjson.Object) bool {
	last := 0
	for _, m := range all {
		rank := slices.Index([]string{"content", "structuredContent", "isError", "", "_meta"}, m.Name)
		switch m.Name {
		case "_meta":
			if withoutHop(m.Value) == nil {
				continue
			}
		case "resultType", "inputRequests", "requestState": // of one connection
			continue
		}
		if rank < 0 {
			rank = 3 // of members that the protocol does not name
		}
		if rank < last {
			return true
		}
		last = rank
	}
	return false
}

// withoutHop removes from _meta what belongs to one connection; nil if nothing is left.
func withoutHop(meta json.RawMessage) json.RawMessage {
	all := rawjson.ObjectOf(meta)
	n := len(all)
	kept := slices.DeleteFunc(all, func(m rawjson.Member) bool { return mcpcontent.OfOneHop(m.Name) })
	if len(kept) == n && n > 0 {
		return meta
	}
	return kept.JSON()
}

// maxToolMessage is how much of a tool's text its error repeats; the content has all of it.
const maxToolMessage = 4 << 10

// toolError is the error of a result that says isError.
func toolError(content []sdk.Content) *sdk.Error {
	e := &sdk.Error{Name: "MCPToolError", Message: "the MCP tool reported an error without a message"}
	for _, part := range content {
		if part.Type == "text" && strings.TrimSpace(part.Text) != "" {
			e.Message = textutil.Cut(part.Text, maxToolMessage)
			break
		}
	}
	return e
}

// readContent makes a part of a result. What would not come out again as it came in, such as an unknown kind or bad
// base64, is passed on as JSON; what is no object, which no host takes for a part, as a text.
func readContent(raw json.RawMessage) sdk.Content {
	if rawjson.First(raw) != '{' {
		return textOf(raw)
	}
	out := mcpcontent.Read(raw)
	if out.Raw == nil {
		return sdk.Content(out)
	}
	// An image whose data is a URL that holds it, which no client takes, would be read by models as text.
	all := rawjson.ObjectOf(raw)
	data, _ := text(all.Get("data"))
	if head, encoded, ok := strings.Cut(data, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		all = all.Without("data")
		all.AddText("data", encoded)
		if kind := strings.TrimPrefix(head, "data:"); kind != "" && all.Get("mimeType") == nil {
			all.AddText("mimeType", kind)
		}
		if held := mcpcontent.Read(all.JSON()); held.Raw == nil {
			out = held
		}
	}
	return sdk.Content(out)
}

// textOf is a text, or the text of any other JSON.
func textOf(raw json.RawMessage) sdk.Content {
	shown, isText := text(raw)
	if !isText {
		shown = string(raw)
	}
	return sdk.Content{Type: "text", Text: shown}
}

// fitSources leaves out how parts were written where a result is too large with that.
func fitSources(parts []sdk.Content) {
	size := 0
	for _, p := range parts {
		size += len(p.Text) + len(p.Data) + len(p.Raw) + len(p.Extra) + len(p.Source)
	}
	for i := range parts {
		if size > sdk.MaxResult {
			parts[i].Source = nil
		}
	}
}
