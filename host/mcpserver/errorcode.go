package mcpserver

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// The SDK sends those of its errors that have no code as code 0, which JSON-RPC does not have. They are made before any
// middleware, so they are changed on their way out.

// noCode begins an error of the SDK without a code.
var noCode = []byte(`"error":{"code":0,`)

// withCode returns a message whose error has a code: that of an invalid request for one before the handshake.
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
	if strings.HasSuffix(why, "is invalid during session initialization") {
		code = jsonrpc.CodeInvalidRequest
		why += "; send initialize first"
	}
	var failure rawjson.Object
	failure.Add("code", json.RawMessage(strconv.Itoa(code)))
	failure.AddText("message", why)
	out := all.Without("error")
	out.Add("error", append(failure, wrong.Without("code", "message")...).JSON())
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
