package client

import (
	"encoding/json"
	"fmt"
)

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
