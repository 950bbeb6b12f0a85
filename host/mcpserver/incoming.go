package mcpserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/sdk"
)

// withoutMark removes the byte order mark that the runtimes of some clients begin their output with.
func withoutMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\uFEFF")) }

// idOf is the id of a message.
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

// failure is the response with an error to a request; a nil id is null.
func failure(id json.RawMessage, code int, why string) json.RawMessage {
	if id == nil {
		id = json.RawMessage("null")
	}
	var reason, out rawjson.Object
	reason.Add("code", json.RawMessage(strconv.Itoa(code)))
	reason.AddText("message", why)
	out.AddText("jsonrpc", "2.0")
	out.Add("id", id)
	out.Add("error", reason.JSON())
	return out.JSON()
}

// answerFailure is the HTTP response with an error to a request.
func answerFailure(w http.ResponseWriter, status int, id json.RawMessage, code int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(failure(id, code, why)) // the client may be gone
}

// An unhandledWriter is the response to a message of a session. The SDK refuses methods that it does not know with a
// status, which clients take for a broken connection; here a request gets an error, as over stdio, and what needs no
// answer is ignored.
type unhandledWriter struct {
	*streamWriter
	message rawjson.Object
	refused bool // with a status that is not written yet
}

// unhandled is how the SDK begins to say that it does not know a method.
const unhandled = "JSON RPC not handled: "

// finish writes a status that came without a text.
func (w *unhandledWriter) finish() {
	if w.refused {
		w.streamWriter.WriteHeader(http.StatusBadRequest)
	}
}

func (w *unhandledWriter) WriteHeader(status int) {
	if status == http.StatusBadRequest {
		w.refused = true
		return
	}
	w.streamWriter.WriteHeader(status)
}

func (w *unhandledWriter) Write(p []byte) (int, error) {
	if !w.refused {
		return w.streamWriter.Write(p)
	}
	w.refused = false
	method := w.message.Get("method")
	switch id := w.message.Get("id"); {
	case method == nil || !bytes.HasPrefix(p, []byte(unhandled)):
		w.streamWriter.WriteHeader(http.StatusBadRequest)
		return w.streamWriter.Write(p)
	case id == nil:
		w.Header().Del("Content-Type")
		w.streamWriter.WriteHeader(http.StatusAccepted)
	default:
		answerFailure(w.streamWriter, http.StatusOK, id, jsonrpc.CodeMethodNotFound,
			"method not found: "+string(sdk.Encode(text(method))))
	}
	return len(p), nil
}

// text returns the string in a value, "" for another value.
func text(value json.RawMessage) (s string) {
	_ = json.Unmarshal(value, &s) // of other JSON nothing is needed
	return s
}

// isObject reports whether a value is a JSON object, by its first character.
func isObject(value json.RawMessage) bool {
	value = bytes.TrimLeft(value, " \t\r\n")
	return len(value) > 0 && value[0] == '{'
}
