package client

import (
	"context"
	"encoding/json"
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
