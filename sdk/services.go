package sdk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/elicit"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// Services are what a host does for the handler of a call. Hosts implement them, and sdktest has one for tests;
// handlers use the methods of Request.
type Services interface {
	// CallTool calls a tool by its full name. A call that fails or is refused is a result with an Error; the error is an
	// *Error that says why there is none. It returns soon after ctx ends, which is at the end of the handler's call at the
	// latest, and may be called concurrently.
	CallTool(ctx context.Context, tool string, arguments json.RawMessage) (*Result, error)
	// Ask has a person answer a question, MCP's input request elicitation/create, and returns MCP's answer, both JSON
	// objects. The error is an *Error.
	Ask(ctx context.Context, question json.RawMessage) (json.RawMessage, error)
}

// CallTool calls a tool of any plugin, by its full name (PLUGIN__TOOL), on behalf of this call: it has the session, the
// work folder, the catalog and the deadline of this call, and ends with it and with ctx. Arguments are a
// json.RawMessage, or a value that encodes as a JSON object. The host checks, decides and records the call as any
// other; configuration must name the tool in may_call of the plugin's block. A call that fails or is refused is a
// result with an Error. The error of CallTool itself is an *Error that says why there is no result: the host has no
// services (Name "NoHostServices"), ctx or the call has ended, or the arguments are too large. At most 16 calls of one
// handler run at once; more wait.
func (r *Request) CallTool(ctx context.Context, tool string, arguments any) (*Result, error) {
	raw, given := arguments.(json.RawMessage)
	if !given {
		if raw = Encode(arguments); raw == nil {
			return nil, &Error{Code: CodeInvalidArgs, Name: "InvalidArguments",
				Message: fmt.Sprintf("the arguments of %s, a %T, have no JSON form; nothing was run", tool, arguments)}
		}
	}
	if bytes.Equal(raw, []byte("null")) {
		raw = nil
	}
	switch {
	case len(raw) > MaxArguments:
		return nil, &Error{Code: CodeInvalidArgs, Name: "ArgumentsTooLarge",
			Message: fmt.Sprintf("the arguments of %s have %d bytes; the limit is %d (1 MiB); nothing was run", tool, len(raw),
				MaxArguments)}
	case r.Services == nil:
		return nil, noServices(tool)
	}
	return r.Services.CallTool(ctx, tool, raw)
}

func noServices(tool string) *Error {
	return &Error{Name: "NoHostServices", Outcome: OutcomeNotSent,
		Message:    "this host does not let plugins call tools, so " + tool + " was not called",
		Suggestion: "Reach the goal without it, or use a newer host."}
}

// A hostEnd is the way from a handler to its host over the wire.
type hostEnd struct {
	server *server
	out    *wire.Sender
	ctx    context.Context // of the call
	asks   *suspension     // nil when the caller answers no questions
}

// CallTool sends the request, and waits for the reply.
func (h *hostEnd) CallTool(ctx context.Context, tool string, arguments json.RawMessage) (*Result, error) {
	if !h.server.replies.Load() {
		return nil, noServices(tool)
	}
	if h.asks != nil {
		carries, err := h.asks.beginRequest(ctx)
		if err != nil || carries == nil {
			return nil, h.notAsked(ctx, tool, cmp.Or(err, wire.ErrEnded))
		}
		defer h.asks.endRequest()
		h = &hostEnd{h.server, carries.out, carries.ctx, nil}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	id, reply := h.server.requests.add()
	defer h.server.requests.remove(id)
	err := h.out.Request(ctx, &pluginv1.HostRequest{Id: id,
		Request: &pluginv1.HostRequest_Call{Call: &pluginv1.ToolCall{Tool: textutil.Clean(tool), Arguments: arguments}}})
	if err != nil {
		return nil, h.notAsked(ctx, tool, err)
	}
	defer h.out.Answered()
	select {
	case m := <-reply:
		return resultFromWire(m.GetResult()), nil
	case <-ctx.Done():
		h.out.Withdraw(id)
		e := h.ended(ctx)
		e.Message += " while it waited for " + tool
		e.Outcome = OutcomeUnknown
		return nil, e
	}
}

// Ask suspends the handler until its question is answered.
func (h *hostEnd) Ask(ctx context.Context, question json.RawMessage) (json.RawMessage, error) {
	if h.asks == nil {
		return nil, &Error{Name: "NoOneToAsk", Message: "no one can be asked here", Suggestion: unaskedAdvice}
	}
	return h.asks.ask(ctx, question)
}

// notAsked is the error of a request that was not sent.
func (h *hostEnd) notAsked(ctx context.Context, tool string, err error) *Error {
	e := &Error{Name: "NotSent"}
	switch {
	case ctx.Err() != nil:
		e = h.ended(ctx)
	case errors.Is(err, wire.ErrEnded):
		e.Code, e.Name = CodeCanceled, "CallEnded"
	}
	e.Message = fmt.Sprintf("%s was not called: %s", tool, err)
	e.Outcome = OutcomeNotSent
	return e
}

// ended is EndedError of the call's context, if that has ended, or else of ctx.
func (h *hostEnd) ended(ctx context.Context) *Error {
	if h.ctx.Err() != nil {
		ctx = h.ctx
	}
	return EndedError(ctx)
}

// hostRequests are the requests of all calls that wait for a reply.
type hostRequests struct {
	last    atomic.Uint64
	mu      sync.Mutex
	waiting map[uint64]chan *pluginv1.ReplyRequest // with room for one
}

func (h *hostRequests) add() (id uint64, reply <-chan *pluginv1.ReplyRequest) {
	c := make(chan *pluginv1.ReplyRequest, 1)
	id = h.last.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting == nil {
		h.waiting = map[uint64]chan *pluginv1.ReplyRequest{}
	}
	h.waiting[id] = c
	return id, c
}

func (h *hostRequests) remove(id uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.waiting, id)
}

// Reply hands a reply to the handler that waits for it, if one does.
func (s *server) Reply(_ context.Context, m *pluginv1.ReplyRequest) (*pluginv1.ReplyResponse, error) {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	if c := s.requests.waiting[m.GetId()]; c != nil {
		c <- m
		delete(s.requests.waiting, m.GetId()) // a second one is dropped
	}
	return &pluginv1.ReplyResponse{}, nil
}

// A Question is asked of the person on whose behalf a call runs.
type Question struct {
	// Message is the question, of at most 4 KiB.
	Message string
	// Schema is the form that the person fills in, the JSON Schema of a flat object: its properties are texts, numbers,
	// booleans, choices (enum, oneOf with const and title) and lists of choices (items). Nil asks for a yes or no alone.
	Schema json.RawMessage
}

// An Action is what a person did with a question.
type Action string

// The actions.
const (
	Accepted Action = elicit.Accept  // the person answered
	Declined Action = elicit.Decline // the person said no
	Canceled Action = elicit.Cancel  // the person closed the question
)

// An Answer is a person's answer to a question.
type Answer[T any] struct {
	Action Action
	// Value is what the person filled in, when Action is Accepted.
	Value T
}

// Ask asks the person on whose behalf the call runs, and waits for the answer. T is a flat struct: its fields are the
// form, with the tags of AddTool; an empty struct asks for a yes or no alone. A call may ask ten times, one question
// after the other, and never for secrets: hosts refuse such questions. The time until the answer does not count against
// the call's deadline; while a question is open the call neither reports events nor calls tools.
// The error is an *Error: no one can be asked (Name "NoOneToAsk"), no one has answered in time, the question is over a
// limit, or ctx has ended. A tool should work without an answer, or name the argument that answers the question.
func Ask[T any](ctx context.Context, r *Request, message string) (Answer[T], error) {
	schema, err := inferSchema("the question", reflect.TypeFor[T](), ofInput)
	if err != nil {
		return Answer[T]{}, err
	}
	answer, err := r.Ask(ctx, Question{Message: message, Schema: schema})
	out := Answer[T]{Action: answer.Action}
	if err == nil && answer.Action == Accepted {
		out.Value, err = decode[T](answer.Value, "the answer does not fit")
	}
	return out, err
}

const unaskedAdvice = "If the tool has arguments for what it asks, pass them; otherwise ask a person to make the call."

// Ask is like the function Ask, with a schema and a JSON object.
func (r *Request) Ask(ctx context.Context, q Question) (Answer[json.RawMessage], error) {
	asked, err := q.check()
	if err != nil {
		return Answer[json.RawMessage]{}, &Error{Name: "BadQuestion", Message: "the question cannot be asked: " +
			err.Error(), Suggestion: unaskedAdvice}
	}
	if r.Services == nil || !mayAsk(r.Capabilities) {
		return Answer[json.RawMessage]{}, &Error{Name: "NoOneToAsk", Message: "the tool asks " +
			fmt.Sprintf("%.200q, and no one can be asked here", q.Message),
			Suggestion: unaskedAdvice}
	}
	raw, err := r.Services.Ask(ctx, asked.Request())
	if err != nil {
		return Answer[json.RawMessage]{}, err
	}
	answer, err := asked.ReadAnswer(raw)
	if err != nil {
		return Answer[json.RawMessage]{}, &Error{Name: "BadAnswer", Message: err.Error(),
			Suggestion: "Make the call again, and ask the user to answer as the question says."}
	}
	return Answer[json.RawMessage]{Action: Action(answer.Action), Value: answer.Content}, nil
}

// check returns the question as it is asked.
func (q Question) check() (*elicit.Question, error) {
	if strings.TrimSpace(q.Message) == "" {
		return nil, fmt.Errorf("it is empty")
	}
	form := struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required,omitempty"`
	}{Type: "object", Properties: json.RawMessage("{}")}
	if q.Schema != nil { // other keywords, such as additionalProperties, are none of MCP's forms
		if err := json.Unmarshal(q.Schema, &form); err != nil {
			return nil, err
		}
	}
	if form.Properties == nil {
		form.Properties = json.RawMessage("{}")
	}
	out := &elicit.Question{Message: textutil.Clean(q.Message), RequestedSchema: Encode(form)}
	if _, err := elicit.ParseForm(out.RequestedSchema); err != nil {
		return nil, err
	}
	return out, out.Check()
}

// mightAsk is false where mayAsk is; it is quick, and part of every call.
func mightAsk(capabilities json.RawMessage) bool {
	return len(capabilities) > 0 && bytes.Contains(capabilities, []byte(`"elicitation"`))
}

// mayAsk reports whether a caller with these capabilities answers forms.
func mayAsk(capabilities json.RawMessage) bool {
	if !mightAsk(capabilities) {
		return false
	}
	var c struct{ Elicitation map[string]json.RawMessage }
	if json.Unmarshal(capabilities, &c) != nil || c.Elicitation == nil {
		return false
	}
	_, form := c.Elicitation["form"]
	_, url := c.Elicitation["url"]
	return form || !url // an empty object is that of a client from before there were modes
}
