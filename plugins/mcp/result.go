package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

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
	if first(raw) != '{' {
		return reply{}, fmt.Errorf("the result is %s, not an object", kind(raw))
	}
	r := &sdk.Result{}
	var out reply
	var failed bool
	var extra []member
	resultType := "complete"
	for _, m := range members(raw) {
		switch m.name {
		case "content":
			list, ok := items(m.value)
			if !ok && first(m.value) != 'n' {
				return reply{}, fmt.Errorf("the content of the result is %s, not an array", kind(m.value))
			}
			r.Content = make([]sdk.Content, 0, len(list))
			for _, part := range list {
				r.Content = append(r.Content, readContent(part))
			}
		case "structuredContent":
			r.Structured = m.value
		case "isError":
			failed = string(m.value) == "true"
		case "resultType":
			resultType, _ = text(m.value)
		case "inputRequests":
			out.asks = map[string]json.RawMessage{}
			for _, question := range members(m.value) {
				out.asks[question.name] = question.value
			}
		case "requestState":
			out.state, _ = text(m.value)
		case "_meta":
			if meta := withoutHop(m.value); meta != nil {
				extra = append(extra, member{m.name, meta})
			}
		default:
			extra = append(extra, m)
		}
	}
	r.Extra = object(extra...)
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

// hopPrefix begins the names in _meta that are between a client and a server, and not for who is behind them.
const hopPrefix = "io.modelcontextprotocol/"

// withoutHop removes from _meta what belongs to one connection; nil if nothing is left.
func withoutHop(meta json.RawMessage) json.RawMessage {
	all := members(meta)
	var kept []member
	for _, m := range all {
		if !strings.HasPrefix(m.name, hopPrefix) && m.name != "progressToken" {
			kept = append(kept, m)
		}
	}
	if len(kept) == len(all) && len(all) > 0 {
		return meta
	}
	return object(kept...)
}

// maxToolMessage is how much of a tool's text its error repeats; the content has all of it.
const maxToolMessage = 4 << 10

// toolError is the error of a result that says isError.
func toolError(content []sdk.Content) *sdk.Error {
	e := &sdk.Error{Name: "MCPToolError", Message: "the tool reported an error, and no text about it"}
	for _, part := range content {
		if part.Type == "text" && strings.TrimSpace(part.Text) != "" {
			e.Message = textutil.Cut(part.Text, maxToolMessage)
			break
		}
	}
	return e
}

// readContent makes a part of a result. What would not come out again as it came in, such as an unknown kind or bad
// base64, is passed on as JSON.
func readContent(raw json.RawMessage) sdk.Content {
	var c sdk.Content
	all := members(raw)
	c.Type, _ = text(memberOf(raw, "type"))
	ok, seen := true, map[string]bool{}
	var extra []member
	for _, m := range all {
		ok = ok && !seen[m.name]
		seen[m.name] = true
		switch {
		case m.name == "type":
		case m.name == "text" && c.Type == "text":
			c.Text = readText(m.value, &ok)
		case m.name == "data" && (c.Type == "image" || c.Type == "audio"):
			c.Data = readBase64(m.value, &ok)
		case m.name == "mimeType" && c.Type != "text" && c.Type != "resource":
			c.MIMEType = readFilled(m.value, &ok)
		case m.name == "uri" && c.Type == "resource_link":
			c.URI = readFilled(m.value, &ok)
		case m.name == "name" && c.Type == "resource_link":
			c.Name = readFilled(m.value, &ok)
		case m.name == "resource" && c.Type == "resource":
			if inside := readResource(&c, m.value, &ok); inside != nil {
				extra = append(extra, member{m.name, inside})
			}
		case partField[m.name]: // of another kind
			ok = false
		default:
			extra = append(extra, m)
		}
	}
	need := map[string]string{"text": "text", "image": "data", "audio": "data", "resource": "resource",
		"resource_link": "uri"}[c.Type]
	if ok = ok && need != "" && seen[need]; !ok {
		return sdk.Content{Raw: raw}
	}
	c.Extra = object(extra...)
	return c
}

// partField are the members that sdk.Content writes itself.
var partField = map[string]bool{"text": true, "data": true, "resource": true, "uri": true, "name": true,
	"mimeType": true}

// readResource reads an embedded resource into c, and returns the members that have no field.
func readResource(c *sdk.Content, raw json.RawMessage, ok *bool) json.RawMessage {
	var extra []member
	var hasText, hasBlob bool
	seen := map[string]bool{}
	for _, m := range members(raw) {
		*ok = *ok && !seen[m.name]
		seen[m.name] = true
		switch m.name {
		case "uri":
			c.URI = readText(m.value, ok)
		case "mimeType":
			c.MIMEType = readFilled(m.value, ok)
		case "text":
			c.Text, hasText = readText(m.value, ok), true
		case "blob":
			c.Data, hasBlob = readBase64(m.value, ok), true
		default:
			extra = append(extra, m)
		}
	}
	// An empty blob would become an empty text.
	*ok = *ok && seen["uri"] && hasText != hasBlob && (hasText || len(c.Data) > 0)
	return object(extra...)
}

// readText, readFilled and readBase64 read a string; ok becomes false for JSON that a Content would not write again:
// what is no string, is empty where that is not written, or is not the usual base64 of its bytes.
func readText(raw json.RawMessage, ok *bool) string {
	out, is := text(raw)
	*ok = *ok && is
	return out
}

func readFilled(raw json.RawMessage, ok *bool) string {
	out := readText(raw, ok)
	*ok = *ok && out != ""
	return out
}

func readBase64(raw json.RawMessage, ok *bool) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		*ok = false
		return nil
	}
	encoded := raw[1 : len(raw)-1]
	if bytes.IndexByte(encoded, '\\') >= 0 { // "\/" is "/"
		all, _ := text(raw)
		encoded = json.RawMessage(all)
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(encoded)))
	n, err := strictBase64.Decode(data, encoded)
	*ok = *ok && err == nil && !bytes.ContainsAny(encoded, "\r\n")
	return data[:n]
}

// strictBase64 refuses bits at the end that encoding again would lose.
var strictBase64 = base64.StdEncoding.Strict()
