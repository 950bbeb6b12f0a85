package client

import (
	"context"
	"encoding/json"
	"fmt"
)

// A Transport carries JSON-RPC messages to one server and back. Receive is called by one goroutine, the other methods
// by any number.
type Transport interface {
	// Send sends one message. It returns when the message is written to the server, or is on its way over HTTP, but
	// waits for no answer: what becomes of it later is for Receive. When ctx ends it returns at once. An error says that
	// the message was not delivered, unless it is a *[CallError] with Delivered set.
	Send(ctx context.Context, m *Message) error
	// Receive returns what the server sends, in order. An error says that the connection has ended, and why.
	Receive() (Received, error)
	// Close ends the connection and what belongs to it, and returns when that is done. Receive then returns an error.
	// It may be called more than once.
	Close() error
}

// A Message is an outgoing JSON-RPC message, with what a transport needs to know of it.
type Message struct {
	JSON    json.RawMessage   // it may contain line ends between its tokens; Send may change it
	Method  string            // "" for a response
	ID      string            // of a request; "" for notifications and responses
	Name    string            // the tool, the prompt or the URI of the resource of a request, "" if it has none
	Version string            // the protocol version; "" for an initialize request
	Headers map[string]string // further HTTP headers, such as Mcp-Param-*
	// Cancels is the id of the request that this notification cancels. A transport that cancels in another way, by
	// closing a stream, does so and sends nothing.
	Cancels string
}

// A Received is one message from a server, or the failure of one request.
type Received struct {
	JSON json.RawMessage // it belongs to the receiver
	// For is the id of the request on whose stream this came, "" if the transport cannot tell.
	For string
	// Err is why the request For gets no answer; JSON is nil then. The connection stays open.
	Err error
}

// An RPCError is an error that a server answers with, or that it gets as an answer.
type RPCError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error returns the server's message with the code.
func (e *RPCError) Error() string { return fmt.Sprintf("%s (JSON-RPC error %d)", e.Message, e.Code) }

// The codes of JSON-RPC and MCP that this package uses.
const (
	CodeInvalidRequest     = -32600
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternalError      = -32603
	CodeUnsupportedVersion = -32022
)

// A CallError is why a request has no answer.
type CallError struct {
	// Delivered says that the server may have received the request, and done what it asks for. When it is false the
	// server has not, and the request can be sent again.
	Delivered bool
	Err       error
}

// Error returns the reason.
func (e *CallError) Error() string { return e.Err.Error() }

// Unwrap returns the reason, for example a context's error or an *[ExitError].
func (e *CallError) Unwrap() error { return e.Err }

// A ProtocolError is an answer that is not what MCP says.
type ProtocolError struct {
	Method string // of the request
	Reason string // such as "the answer has neither a result nor an error"
}

// Error returns a text such as "tools/call: the answer has neither a result nor an error".
func (e *ProtocolError) Error() string { return e.Method + ": " + e.Reason }

// A SizeError is a message that was over a limit and was not read.
type SizeError struct {
	Size, Limit int64 // bytes
}

// Error returns a text with both sizes.
func (e *SizeError) Error() string {
	return fmt.Sprintf("the server's message is %d bytes; the limit is %d bytes", e.Size, e.Limit)
}

// A ListError is a list that was cut, because it goes over a limit or does not end.
type ListError struct {
	Method string
	Reason string
}

// Error returns a text such as "tools/list: the list has more than 10000 entries; the rest is left out".
func (e *ListError) Error() string { return e.Method + ": " + e.Reason }
