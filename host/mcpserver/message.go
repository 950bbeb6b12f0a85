package mcpserver

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/sdk"
)

// withoutMark removes the byte order mark that the runtimes of some clients begin their output with.
func withoutMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\uFEFF")) }

func idOf(message json.RawMessage) json.RawMessage {
	for m := rawjson.MembersOf(message); m.Next(); {
		if string(m.Name) == "id" {
			return m.Value
		}
	}
	return nil
}

// exactMessage returns a message of HTTP in a form of which the SDK's types lose nothing.
func exactMessage(raw json.RawMessage, message rawjson.Object) json.RawMessage {
	result := message.Get("result")
	switch method := message.Get("method"); {
	case method == nil && result != nil:
		return withValue(raw, "result", exactAnswer(result))
	case method == nil:
		return raw
	case text(method) == cancelled:
		return withValue(raw, "params", withHiddenRequest(message.Get("params")))
	}
	return withHiddenID(raw, message.Get("id"))
}

// lastMembers are the short ones behind all others of a message.
var lastMembers = lazy.Regexp(`,(\s*"(?:jsonrpc|id|method)"\s*:\s*(?:"[^"\\]*"|-?\d+)\s*,?)*\}\s*$`)

// idOfCut is the id of a request of which there are the beginning and the end; nil when it may be none.
func idOfCut(begin, end []byte) json.RawMessage {
	var message rawjson.Object
	for m := rawjson.MembersOf(begin); m.Next(); {
		message.Add(string(m.Name), m.Value)
	}
	if last := lastMembers().Find(end); last != nil {
		message = append(message, rawjson.ObjectOf(append([]byte{'{'}, last[1:]...))...)
	}
	if id := message.Get("id"); message.Get("method") != nil && (isNumber(id) || bytes.HasPrefix(id, []byte(`"`))) {
		return id
	}
	return nil
}

// failure is the response with an error to a request; a nil id is null.
func failure(id json.RawMessage, code int, why string) json.RawMessage {
	return rawjson.ObjectWith("jsonrpc", "2.0", "id", id, "error",
		&jsonrpc.Error{Code: int64(code), Message: why}).JSON()
}

// answerFailure is the HTTP response with an error to a request.
func answerFailure(w http.ResponseWriter, status int, id json.RawMessage, code int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(failure(id, code, why)) // the client may be gone
}

// text returns the string in a value, "" for another value.
func text(value json.RawMessage) (s string) {
	_ = json.Unmarshal(value, &s) // of other JSON nothing is needed
	return s
}

// Over HTTP the SDK refuses what it does not take with a status, which clients of sessions take for a broken
// connection, and for one message a whole batch, which revision 2025-03-26 has. Here what needs no answer is left out,
// and a request is replaced by a ping that carries the error that it gets over stdio.

// paramsOf says of each method of a session whether its params are needed.
var paramsOf = map[string]bool{
	"completion/complete": true, "initialize": true, "logging/setLevel": true, "ping": false,
	"prompts/get": true, "prompts/list": false, "resources/list": false, "resources/read": true,
	"resources/subscribe": true, "resources/templates/list": false, "resources/unsubscribe": true,
	"tools/call": true, "tools/list": false,
	cancelled: false, "notifications/initialized": false, "notifications/progress": true,
	"notifications/roots/list_changed": false,
}

// nothing is a message that does nothing.
const nothing = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`

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
		if out := takenMessage(part, rawjson.ObjectOf(part)); out != nil {
			taken = append(taken, out)
		}
	}
	if len(taken) == 0 {
		return []byte("[" + nothing + "]")
	}
	return sdk.Encode(taken)
}

// takenMessage returns a message of a session that the SDK takes, in the form of exactMessage; nil for one that is
// ignored. One that is no message stays as it is.
func takenMessage(raw json.RawMessage, message rawjson.Object) json.RawMessage {
	if method := message.Get("method"); len(method) == 0 || method[0] != '"' { // an answer, or no message
		return exactMessage(raw, message)
	}
	switch why := wrongWith(message); {
	case why == nil:
		return exactMessage(raw, message)
	case isCall(message):
		return refusedPing(message.Get("id"), why)
	}
	return nil
}

// sessionMessage is takenMessage for one that came alone. A request without an id is refused by the SDK.
func sessionMessage(raw json.RawMessage, message rawjson.Object) json.RawMessage {
	out := takenMessage(raw, message)
	if _, known := paramsOf[text(message.Get("method"))]; out == nil && known {
		return raw
	} else if out == nil {
		return json.RawMessage(nothing)
	}
	return out
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
			Message: "invalid request: unexpected id for " + string(sdk.Encode(method))}
	case needed && (message.Get("params") == nil || string(message.Get("params")) == "null"):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: `invalid request: missing required "params"`}
	}
	return nil
}

// refusedPing is a request that is answered with an error.
func refusedPing(id json.RawMessage, why *jsonrpc.Error) json.RawMessage {
	if isNumber(id) {
		id = hideID(id)
	}
	meta := map[string]string{idMark: string(sdk.Encode(why))} // a key that no client knows
	return rawjson.ObjectWith("jsonrpc", "2.0", "id", id, "method", "ping", "params",
		map[string]any{"_meta": meta}).JSON()
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

// The SDK reads an id that is a number as a float64, and so would answer 9007199254740993 as 9007199254740992, which
// may be another request of the client. Such an id is handed to it as a string, and is a number again in all that is
// sent.

// idMark begins the strings. No client can know it.
var idMark = rand.Text()

// cancelled is the notification that names a request.
const cancelled = "notifications/cancelled"

const lossyID = "the id must be a string or an integer of 64 bits"

func isNumber(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}

// isLossy reports an id that is refused: a number that is not an integer of 64 bits.
func isLossy(id json.RawMessage) bool {
	if !isNumber(id) {
		return false
	}
	if _, err := strconv.ParseInt(string(id), 10, 64); err == nil {
		return false
	}
	f, err := strconv.ParseFloat(string(id), 64)
	return err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53
}

// isLarge reports an integer that a float64 may not hold.
func isLarge(id json.RawMessage) bool {
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && (n > 1<<53 || n < -1<<53)
}

// hideID is a number as a string for the SDK.
func hideID(id json.RawMessage) json.RawMessage {
	return json.RawMessage(`"` + idMark + string(id) + `"`)
}

// withHiddenID returns a request whose id the SDK can hold.
func withHiddenID(message, id json.RawMessage) json.RawMessage {
	if !isLarge(id) {
		return message
	}
	return withValue(message, "id", hideID(id))
}

// withHiddenRequest is withHiddenID for the params of a notification that names a request. One that can be no request's
// becomes null: the SDK would take 1.5 for 1.
func withHiddenRequest(params json.RawMessage) json.RawMessage {
	const name = "requestId"
	switch id := rawjson.ObjectOf(params).Get(name); {
	case isLossy(id):
		return withValue(params, name, json.RawMessage("null"))
	case isLarge(id):
		return withValue(params, name, hideID(id))
	}
	return params
}

// withValue returns an object with another value of a member. All else keeps its bytes, also what is no JSON.
func withValue(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	var out json.RawMessage
	at := 0
	for m := rawjson.MembersOf(object); m.Next(); {
		if string(m.Name) == name {
			out = append(append(out, object[at:m.End-len(m.Value)]...), value...)
			at = m.End
		}
	}
	return append(out, object[at:]...)
}

// withNumberIDs returns what is sent with the numbers that were hidden. In a text, such as that of an error of the SDK,
// the mark alone is left out.
func withNumberIDs(message []byte) []byte {
	mark := []byte(idMark)
	if !bytes.Contains(message, mark) {
		return message
	}
	out := make([]byte, 0, len(message))
	for {
		before, after, found := bytes.Cut(message, mark)
		if !found {
			return append(out, message...)
		}
		number := len(after) - len(bytes.TrimLeft(after, "+-.0123456789Ee"))
		if text, begins := bytes.CutSuffix(before, []byte(`"`)); begins && !bytes.HasSuffix(text, []byte(`\`)) &&
			number > 0 && number < len(after) && after[number] == '"' {
			out = append(append(out, text...), after[:number]...)
			message = after[number+1:]
			continue
		}
		out = append(out, before...)
		message = after
	}
}

// The SDK sends those of its errors that have no code as code 0, which JSON-RPC does not have. They are made before any
// middleware, so they are changed on their way out.

// noCode begins an error of the SDK without a code.
var noCode = []byte(`"error":{"code":0,`)

// withCode returns a message whose error has a code: that of an invalid request for one before the handshake,
// and for a second handshake, and that of invalid params.
func withCode(message []byte) []byte {
	if !bytes.Contains(message, noCode) {
		return message
	}
	all := rawjson.ObjectOf(message)
	wrong := rawjson.ObjectOf(all.Get("error"))
	if string(wrong.Get("code")) != "0" || all.Get("method") != nil || all.Get("result") != nil {
		return message // it is in what a tool returned
	}
	why, code := text(wrong.Get("message")), jsonrpc.CodeInternalError
	switch {
	case strings.HasSuffix(why, "is invalid during session initialization"):
		code, why = jsonrpc.CodeInvalidRequest, why+"; send initialize first"
	case strings.HasPrefix(why, `duplicate "initialize"`):
		code, why = jsonrpc.CodeInvalidRequest, "the session is initialized already: begin another one to initialize again"
	case strings.HasPrefix(why, "handling '"): // params that cannot be read
		code = jsonrpc.CodeInvalidParams
	}
	out := all.Without("error")
	out.Add("error", append(rawjson.ObjectWith("code", code, "message", why), wrong.Without("code", "message")...).JSON())
	return out.JSON()
}

// eventWithCode is withCode for an event of a stream, which has one line of data.
func eventWithCode(event []byte) []byte {
	head, data, ok := bytes.Cut(event, []byte("data: "))
	if !ok || !bytes.Contains(data, noCode) {
		return event
	}
	message, end, _ := bytes.Cut(data, []byte("\n"))
	return bytes.Join([][]byte{head, []byte("data: "), withCode(message), []byte("\n"), end}, nil)
}
