package client

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/toolhost/toolhost/internal/mcpcontent"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"github.com/toolhost/toolhost/sdk"
)

// A receiver takes the events of one call: those for people go to the caller, requests to the host are answered. It is
// on the stack of the call, so that a call without requests pays nothing.
type receiver struct {
	client  *Client
	ctx     context.Context // of the call
	request *sdk.Request
	asked   *hostRequests // nil before the first request
}

// hostRequests are the open requests of one call.
type hostRequests struct {
	services sdk.Services
	ctx      context.Context // ends with the call
	end      context.CancelFunc

	mu   sync.Mutex
	open map[uint64]context.CancelFunc
}

// maxRequests is how many requests of one call may be open. A plugin that keeps to wire.MaxRequests is far below it,
// also when those that it has withdrawn take time to end.
const maxRequests = 4 * wire.MaxRequests

// take takes an event. An error means that the plugin breaks the protocol.
func (r *receiver) take(e *pluginv1.CallEvent) error {
	if m := e.GetRequest(); m != nil {
		return r.answer(m)
	}
	if r.request.Events == nil {
		return nil
	}
	if e, known := eventFromWire(e); known {
		r.request.Events(e)
	}
	return nil
}

// end ends the requests of the call, and waits for none.
func (r *receiver) end() {
	if r.asked != nil {
		r.asked.end()
	}
}

// answer begins to answer a request, or withdraws one.
func (r *receiver) answer(m *pluginv1.HostRequest) error {
	if r.asked == nil {
		a := &hostRequests{services: r.request.Services, open: map[uint64]context.CancelFunc{}}
		a.ctx, a.end = r.client.withLife(r.ctx)
		r.asked = a
	}
	a := r.asked
	a.mu.Lock()
	defer a.mu.Unlock()
	cancel, open := a.open[m.GetId()]
	switch {
	case m.GetCancel() != nil:
		if open {
			cancel()
		}
		return nil
	case open:
		return fmt.Errorf("two requests to the host have the id %d", m.GetId())
	case len(a.open) >= maxRequests:
		return fmt.Errorf("the call has more than %d requests to the host open at once", maxRequests)
	}
	ctx, cancel := context.WithCancel(a.ctx)
	a.open[m.GetId()] = cancel
	go a.run(ctx, r.client, m)
	return nil
}

func (a *hostRequests) run(ctx context.Context, c *Client, m *pluginv1.HostRequest) {
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.open[m.GetId()]()
		delete(a.open, m.GetId())
	}()
	result := resultToWire(a.result(ctx, m))
	if e := wire.CheckReply(result); e != nil {
		result = &pluginv1.Result{Error: e}
	}
	// A withdrawn request is answered too, so that the plugin knows its end. An error means that the call has ended, or
	// breaks with the connection.
	_, _ = c.wire.Reply(a.ctx, &pluginv1.ReplyRequest{Id: m.GetId(), Result: result})
}

func (a *hostRequests) result(ctx context.Context, m *pluginv1.HostRequest) (out *sdk.Result) {
	call := m.GetCall()
	switch {
	case call == nil:
		return &sdk.Result{Error: &sdk.Error{Code: sdk.CodeTool, Name: "UnknownRequest", Outcome: sdk.OutcomeNotSent,
			Message: "this host does not know the request"}}
	case a.services == nil:
		return &sdk.Result{Error: &sdk.Error{Code: sdk.CodeDenied, Name: "NoHostServices", Outcome: sdk.OutcomeNotSent,
			Message: "this host does not let plugins call tools; nothing was run"}}
	}
	defer func() {
		if cause := recover(); cause != nil {
			out = &sdk.Result{Error: &sdk.Error{Code: sdk.CodeInternal, Name: "Panic", Outcome: sdk.OutcomeUnknown,
				Message: fmt.Sprintf("the host panicked: %v", cause)}}
		}
	}()
	out, err := a.services.CallTool(ctx, call.GetTool(), call.GetArguments())
	if err == nil && out != nil {
		return out
	}
	e, coded := errors.AsType[*sdk.Error](err)
	if !coded {
		e = &sdk.Error{Code: sdk.CodeInternal, Name: "NoResult", Outcome: sdk.OutcomeUnknown,
			Message: fmt.Sprintf("the host has no result: %v", err)}
	}
	return &sdk.Result{Error: e}
}

func resultToWire(r *sdk.Result) *pluginv1.Result {
	out := &pluginv1.Result{Structured: r.Structured, Truncated: r.Truncated, Extra: r.Extra}
	for _, c := range r.Content {
		out.Content = append(out.Content, wire.FromContent(mcpcontent.Part(c)))
	}
	if e := r.Error; e != nil {
		out.Error = &pluginv1.Error{Code: textutil.Clean(string(e.Code)), Name: textutil.Clean(e.Name),
			Message: textutil.Clean(e.Message), Suggestion: textutil.Clean(e.Suggestion),
			HelpUrl: textutil.Clean(e.HelpURL), Retryable: e.Retryable, Details: e.Details,
			OutcomeUnknown: e.Outcome == sdk.OutcomeUnknown, Outcome: textutil.Clean(string(e.Outcome))}
	}
	return out
}

// receiveError is the error of a call whose messages are over a limit, or break the protocol.
func receiveError(err error) error {
	if exceeded, ok := errors.AsType[*wire.ExceededError](err); ok {
		return errorFromWire(exceeded.Failure)
	}
	return &BrokenError{Delivered: true, Err: err}
}
