package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/mcpcontent"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// CallOptions are the options of a call beside its parameters.
type CallOptions struct {
	// Meta is the caller's _meta, a JSON object; members that belong to the caller's own hop are left out.
	Meta json.RawMessage
	// TraceParent and TraceState stand in for members of Meta of that name; "" leaves those.
	TraceParent, TraceState string
	// Capabilities are the MCP client capabilities of this call's caller; nil means those of the session.
	// They count at 2026-07-28 only.
	Capabilities json.RawMessage
	// Headers are further HTTP headers.
	Headers map[string]string
	// LogLevel is the least level of log messages that the caller wants, such as "info"; empty means none in particular.
	LogLevel string

	// Progress receives the progress of the call, and Log its log messages, in the order in which they came and before the
	// call returns. They run in the goroutine of the call. When they are slow, messages between the first 1,000 that wait,
	// or the first 4 MiB, and the newest are left out.
	Progress func(Progress)
	Log      func(LogMessage)
	// Request answers what the server asks on the stream of the call, in its own goroutine; the context ends when the call
	// does, or the server cancels the request. Other questions name no call and are for Options.Request.
	Request RequestFunc
}

// Progress is how far a call has come.
type Progress struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total"` // 0 if not known
	Message  string  `json:"message"`
}

// Call sends a request and returns its result, a JSON object, byte for byte but for the members of its _meta that
// belong to this hop. The parameters are a JSON object without a _meta, or nil. The error is an *[RPCError] if the
// server answered with one, and a *[CallError] if there is no answer; that has the context's error when ctx ends first,
// and the server is notified then. An answer that MCP does not allow is a *[CallError] with a *[ProtocolError].
func (s *Session) Call(ctx context.Context, method string, params json.RawMessage, o *CallOptions) (json.RawMessage,
	error) {
	if o == nil {
		o = &CallOptions{}
	}
	s.raiseLogLevel(ctx, o.LogLevel)
	return s.request(ctx, &call{method: method, options: *o, revision: s.Server().Revision, byCall: true}, params)
}

// A call is a request that waits for its answer.
type call struct {
	method   string
	options  CallOptions
	revision string // "" for initialize
	byCall   bool   // Call made it; others are the session's own

	id     int64
	events []event
	size   int           // bytes of events
	wake   chan struct{} // has room for one
}

// lists reports whether the session made the call for a list.
func (c *call) lists() bool { return !c.byCall && strings.HasSuffix(c.method, "/list") }

// An event is something that happened to a call.
type event struct {
	progress, log json.RawMessage // params
	request       *serverRequest
	answered      bool // result or err is the end of the call
	result        json.RawMessage
	err           error
}

const (
	maxEvents       = 1000
	maxEventBytes   = 4 << 20
	maxPendingCalls = 10_000
)

// request is Call for all requests.
func (s *Session) request(ctx context.Context, c *call, params json.RawMessage) (json.RawMessage, error) {
	c.wake = make(chan struct{}, 1)
	if err := s.begin(c); err != nil {
		return nil, &CallError{Err: err}
	}
	callCtx, cancel := context.WithCancel(ctx)
	defer s.end(c)
	defer cancel()
	m, err := s.message(c, params)
	if err != nil {
		return nil, &CallError{Err: err}
	}
	if ctx.Err() != nil {
		return nil, &CallError{Err: context.Cause(ctx)}
	}
	if err := s.transport.Send(ctx, m); err != nil {
		return nil, s.notSent(ctx, c, err)
	}
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
		}
		for _, e := range s.take(c) {
			if e.answered {
				return e.result, e.err
			}
			s.handle(callCtx, c, e)
		}
		if ctx.Err() != nil {
			s.cancelRequest(c, context.Cause(ctx))
			return nil, &CallError{Delivered: true, Err: context.Cause(ctx)}
		}
	}
}

// begin gives a call its id, unless the session has ended.
func (s *Session) begin(c *call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
		return s.err
	default:
	}
	if len(s.pending) >= maxPendingCalls {
		return fmt.Errorf("%d calls wait for this server; try again when some have ended", maxPendingCalls)
	}
	s.last++
	c.id = s.last
	s.pending[c.id] = c
	return nil
}

// end forgets a call. Requests of the server that it has not seen are refused.
func (s *Session) end(c *call) {
	s.mu.Lock()
	delete(s.pending, c.id)
	s.mu.Unlock()
	for _, e := range s.take(c) {
		if e.request != nil {
			go s.reply(e.request, nil, errCallEnded)
		}
	}
}

var errCallEnded = &RPCError{Code: CodeInternalError, Message: "the call that asks this has ended"}

// take returns what happened to a call since the last time.
func (s *Session) take(c *call) []event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := c.events
	c.events, c.size = nil, 0
	return events
}

// push adds an event for a call. Of notifications that are not taken, the newest replaces the one before.
func (s *Session) push(c *call, e event) {
	n := len(c.events)
	full := n >= maxEvents || n > 0 && c.size+e.size() > maxEventBytes
	if full && !e.answered && e.request == nil && c.events[n-1].request == nil {
		c.size -= c.events[n-1].size()
		c.events[n-1] = e
	} else {
		c.events = append(c.events, e)
	}
	c.size += e.size()
	signal(c.wake)
}

func (e *event) size() int { return len(e.progress) + len(e.log) }

func (s *Session) handle(ctx context.Context, c *call, e event) {
	o := &c.options
	switch {
	case e.progress != nil:
		var p Progress
		if readable(json.Unmarshal(e.progress, &p)) && o.Progress != nil {
			o.Progress(p)
		}
	case e.log != nil:
		var l LogMessage
		if readable(json.Unmarshal(e.log, &l)) && o.Log != nil {
			o.Log(l)
		}
	case e.request != nil:
		go s.answer(ctx, e.request, o.Request)
	}
}

// readable reports whether what was decoded is worth passing on. Members of a wrong type are left out: a sign of life
// is one even if its total is a text.
func readable(err error) bool {
	_, wrongType := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || wrongType
}

// notSent is the error of a request that could not be sent.
func (s *Session) notSent(ctx context.Context, c *call, err error) error {
	failed, ok := errors.AsType[*CallError](err)
	if !ok {
		failed = &CallError{Err: err}
	}
	if ctx.Err() != nil {
		if failed.Delivered {
			s.cancelRequest(c, context.Cause(ctx))
		}
		return &CallError{Delivered: failed.Delivered, Err: context.Cause(ctx)}
	}
	return failed
}

func (s *Session) message(c *call, params json.RawMessage) (*Message, error) {
	m := &Message{Method: c.method, ID: strconv.FormatInt(c.id, 10), Version: c.revision, Headers: c.options.Headers}
	inner, err := s.params(m, params)
	if err != nil {
		return nil, err
	}
	if err := rawjson.Check(orEmpty(c.options.Capabilities)); err != nil {
		return nil, fmt.Errorf("the capabilities are not JSON: %w", err)
	}
	b := make([]byte, 0, len(inner)+len(c.options.Meta)+len(c.options.Capabilities)+len(c.method)+512)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, m.ID...)
	b = append(b, `,"method":`...)
	b = rawjson.AppendText(b, c.method)
	b = append(b, `,"params":{`...)
	b = append(b, inner...)
	b = append(s.appendMeta(b, c, len(inner) > 0), `}}`...)
	m.JSON = b
	return m, nil
}

// params returns what is between the braces of parameters, and notes the name that the request is about.
func (s *Session) params(m *Message, params json.RawMessage) ([]byte, error) {
	params = bytes.TrimSpace(params)
	if len(params) == 0 {
		return nil, nil
	}
	if params[0] != '{' {
		return nil, errors.New("the parameters are not a JSON object")
	}
	named := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}[m.Method]
	list := rawjson.MembersOf(params)
	for list.Next() {
		if string(list.Name) == "_meta" {
			return nil, errors.New("the parameters have a _meta; it belongs into CallOptions.Meta")
		}
		if named != "" && string(list.Name) == named {
			_ = json.Unmarshal(list.Value, &m.Name)
		}
	}
	if list.Err != nil {
		return nil, fmt.Errorf("the parameters are not JSON: %w", list.Err)
	}
	return bytes.TrimSpace(params[1 : len(params)-1]), nil
}

// appendMeta adds the _meta of a request: what the caller gave, and what the protocol needs.
func (s *Session) appendMeta(b []byte, c *call, comma bool) []byte {
	begin := len(b)
	if comma {
		b = append(b, ',')
	}
	b = append(b, `"_meta":`...)
	empty := len(b)
	o := &c.options
	for m := rawjson.MembersOf(o.Meta); m.Next(); {
		traces := string(m.Name) == "traceparent" || string(m.Name) == "tracestate"
		if !mcpcontent.OfOneHop(string(m.Name)) && (o.TraceParent == "" || !traces) {
			b = append(append(b, ','), o.Meta[m.Start:m.End]...)
		}
	}
	if o.TraceParent != "" {
		b = rawjson.AppendText(append(b, `,"traceparent":`...), o.TraceParent)
	}
	if o.TraceParent != "" && o.TraceState != "" {
		b = rawjson.AppendText(append(b, `,"tracestate":`...), o.TraceState)
	}
	if o.Progress != nil {
		b = strconv.AppendInt(append(b, `,"progressToken":`...), c.id, 10)
	}
	if c.revision >= Revision20260728 {
		b = rawjson.AppendText(append(b, `,"`+mcpcontent.Reserved+`protocolVersion":`...), c.revision)
		b = append(append(b, `,"`+mcpcontent.Reserved+`clientInfo":`...), s.options.clientInfo()...)
		capabilities := orEmpty(s.options.Capabilities)
		if o.Capabilities != nil {
			capabilities = o.Capabilities
		}
		b = append(append(b, `,"`+mcpcontent.Reserved+`clientCapabilities":`...), capabilities...)
		if o.LogLevel != "" {
			b = rawjson.AppendText(append(b, `,"`+mcpcontent.Reserved+`logLevel":`...), o.LogLevel)
		}
	}
	if len(b) == empty {
		return b[:begin]
	}
	b[empty] = '{'
	return append(b, '}')
}

func orEmpty(object json.RawMessage) json.RawMessage {
	if len(object) == 0 {
		return json.RawMessage("{}")
	}
	return object
}

func (o *Options) clientInfo() []byte {
	info, _ := json.Marshal(map[string]string{"name": o.Name, "version": o.Version})
	return info
}

// cancelLimit is how long it may take to tell a server that a request is canceled.
const cancelLimit = 10 * time.Second

// cancelRequest tells the server that the result of a call is of no use any more, without waiting for that.
func (s *Session) cancelRequest(c *call, cause error) {
	if c.method == "initialize" || c.method == "server/discover" {
		return // the protocol forbids the first; an old server would not understand the second
	}
	id := strconv.FormatInt(c.id, 10)
	b := append([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), id...)
	b = rawjson.AppendText(append(b, `,"reason":`...), cause.Error())
	m := &Message{JSON: append(b, `}}`...), Method: "notifications/cancelled", Version: c.revision, Cancels: id}
	go func() {
		ctx, cancel := context.WithTimeout(s.ctx, cancelLimit)
		defer cancel()
		_ = s.transport.Send(ctx, m)
	}()
}

// forNextHop returns an object without the members of its _meta that belong to one hop; all other bytes stay.
func forNextHop(object json.RawMessage) json.RawMessage {
	if !bytes.Contains(object, []byte("modelcontextprotocol")) && !bytes.Contains(object, []byte("progressToken")) {
		return object
	}
	before := 0 // the end of the member before
	for m := rawjson.MembersOf(object); m.Next(); before = m.End {
		if string(m.Name) != "_meta" {
			continue
		}
		start, end := m.Start, m.End
		value := end - len(m.Value)
		kept := keptMeta(m.Value)
		switch {
		case kept != nil:
			return splice(object, value, end, kept)
		case before > 0:
			return splice(object, before, end, nil)
		case m.Next():
			return splice(object, start, m.Start, nil)
		}
		return splice(object, start, end, nil)
	}
	return object
}

func splice(b []byte, from, to int, with []byte) []byte {
	out := make([]byte, 0, len(b)+len(with))
	return append(append(append(out, b[:from]...), with...), b[to:]...)
}

// keptMeta returns the members of a _meta that are for the next hop as an object, nil if there are none.
func keptMeta(meta []byte) []byte {
	var kept []byte
	for m := rawjson.MembersOf(meta); m.Next(); {
		if !mcpcontent.OfOneHop(string(m.Name)) {
			kept = append(append(kept, ','), meta[m.Start:m.End]...)
		}
	}
	if kept == nil {
		return nil
	}
	kept[0] = '{'
	return append(kept, '}')
}
