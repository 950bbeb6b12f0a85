package mcpserver

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/sdk"
)

// Revision 2025-03-26 has batches. Over HTTP the SDK refuses a whole one, with a status, for one message of it that it
// does not take. Here what needs no answer is left out, and a request is replaced by a ping that carries the error it
// is answered with, so that it has its place among the answers.

// paramsOf says of each method that a batch may have, whether its params are needed.
var paramsOf = map[string]bool{
	"completion/complete": true, "initialize": true, "logging/setLevel": true, "ping": false,
	"prompts/get": true, "prompts/list": false, "resources/list": false, "resources/read": true,
	"resources/subscribe": true, "resources/templates/list": false, "resources/unsubscribe": true,
	"tools/call": true, "tools/list": false,
	cancelled: false, "notifications/initialized": false, "notifications/progress": true,
	"notifications/roots/list_changed": false,
}

// nothing is a batch that does nothing, as there is no empty one.
const nothing = `[{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]`

// isBatch reports whether a body is a JSON array, by its first character.
func isBatch(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	return len(body) > 0 && body[0] == '['
}

// exactBatch returns a batch that the SDK takes, in a form of which its types lose nothing. One with something that is
// no message stays as it is, and is refused; so does one that would be over the limit of a body then.
func exactBatch(body []byte) []byte {
	var parts, taken []json.RawMessage
	if json.Unmarshal(body, &parts) != nil || len(parts) == 0 {
		return body
	}
	size := 0
	for _, part := range parts {
		if n := len(taken); n > 0 {
			size += len(taken[n-1])
		}
		if size > maxBody {
			return body
		}
		message := rawjson.ObjectOf(part)
		if method := message.Get("method"); len(method) == 0 || method[0] != '"' { // an answer, or no message
			taken = append(taken, exactMessage(part, message))
			continue
		}
		switch why := wrongWith(message); {
		case why == nil:
			taken = append(taken, exactMessage(part, message))
		case isCall(message):
			taken = append(taken, refusedPing(message.Get("id"), why))
		}
	}
	if len(taken) == 0 {
		return []byte(nothing)
	}
	return sdk.Encode(taken)
}

// isCall reports whether a message with a method needs an answer.
func isCall(message rawjson.Object) bool {
	id := message.Get("id")
	return id != nil && string(id) != "null"
}

// wrongWith is the error for a request or notification that the SDK does not take; nil if it does.
func wrongWith(message rawjson.Object) *jsonrpc.Error {
	method := text(message.Get("method"))
	needed, known := paramsOf[method]
	switch {
	case isLossy(message.Get("id")):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: lossyID}
	case !known:
		return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound,
			Message: "method not found: " + string(sdk.Encode(method))}
	case isCall(message) == strings.HasPrefix(method, "notifications/"):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
			Message: "a notification has no id, and a request needs one"}
	case needed && message.Get("params") == nil:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: `"params" are missing`}
	}
	return nil
}

// refusedPing is a request that is answered with an error.
func refusedPing(id json.RawMessage, why *jsonrpc.Error) json.RawMessage {
	var meta, params, out rawjson.Object
	meta.AddText(idMark, string(sdk.Encode(why))) // a key that no client knows
	params.Add("_meta", meta.JSON())
	if isNumber(id) {
		id = hideID(id)
	}
	out.AddText("jsonrpc", "2.0")
	out.Add("id", id)
	out.AddText("method", "ping")
	out.Add("params", params.JSON())
	return out.JSON()
}

// refusedAs is the error that a ping is answered with; nil for one of a client.
func refusedAs(p *mcp.PingParams) error {
	if p == nil {
		return nil
	}
	carried, ok := p.Meta[idMark].(string)
	if !ok {
		return nil
	}
	why := &jsonrpc.Error{}
	_ = json.Unmarshal([]byte(carried), why) // it is refusedPing's
	return refusal{why}
}

// A refusal is an error that the SDK answers as it is. Of others with the code of an unknown method it changes the text
// into one about the method that it got, which is ping.
type refusal struct{ why *jsonrpc.Error }

func (r refusal) Error() string { return r.why.Message }

// As is for errors.As, by which the SDK finds the code; errors.Is finds nothing.
func (r refusal) As(target any) bool {
	e, ok := target.(**jsonrpc.Error)
	if ok {
		*e = r.why
	}
	return ok
}
