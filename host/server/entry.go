package server

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/sdk"
)

// An entry is a call of the API in the register. It is there before the host has the call: the host starts and lists
// the plugin of a call before its middleware sees it, and meanwhile the ID is in use, and the call can be canceled.
type entry struct {
	ctx    context.Context // for the call; leads the middleware to the entry
	cancel context.CancelFunc
	call   *tracked // nil for one whose ID an earlier one of its batch has: the host refuses that
}

type entryKey struct{}

// register enters the calls of a request, all or none: none when a call with the ID of one runs. The caller ends each
// entry.
func (c *Calls) register(ctx context.Context, calls []host.Call) ([]*entry, error) {
	entries := make([]*entry, len(calls))
	seen := make(map[string]bool, len(calls))
	c.mu.Lock()
	for _, call := range calls {
		if c.ids[call.ID] > 0 {
			c.mu.Unlock()
			return nil, Fail(connect.CodeAlreadyExists, sdk.CodeInvalidArgs,
				fmt.Sprintf("a call with the id %q is running; nothing was run", call.ID),
				"Give each call an id of its own, or none.")
		}
	}
	for i := range calls {
		e := &entry{}
		e.ctx, e.cancel = context.WithCancel(ctx)
		if call := &calls[i]; !seen[call.ID] {
			seen[call.ID] = true
			e.call = &tracked{of: c, cancel: e.cancel, id: call.ID, began: time.Now(), status: string(host.Generated)}
			e.call.describe(call)
			e.ctx = context.WithValue(e.ctx, entryKey{}, e.call)
			c.add(e.call)
		}
		entries[i] = e
	}
	c.mu.Unlock()
	for _, e := range entries {
		if e.call != nil {
			c.feed.Publish(e.call.summary)
		}
	}
	return entries, nil
}

// take returns the entry of a call that the API has registered, with what is known of the call now, for the caller to
// follow and to end; nil if there is none.
func (c *Calls) take(ctx context.Context, call *host.Call) *tracked {
	t, _ := ctx.Value(entryKey{}).(*tracked)
	if t == nil || t.of != c || t.id != call.ID { // such as a call that a plugin makes during its own
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.taken {
		return nil
	}
	t.taken = true
	before := t.session()
	t.mu.Lock()
	t.describe(call)
	t.mu.Unlock()
	if t.session() != before { // of the defaults of the catalog, or of a middleware
		if s := c.sessions[before]; s != nil {
			if s.calls--; s.calls == 0 {
				delete(c.sessions, before)
			}
			s.running--
		}
		c.join(t)
	}
	return t
}

// end ends the entry unless the middleware has seen its call: one that the host has refused before, or that never came
// to it, whose result is nil.
func (e *entry) end(r *host.Result) {
	defer e.cancel()
	if e.call == nil {
		return
	}
	c := e.call.of
	c.mu.Lock()
	seen := e.call.taken
	e.call.taken = true
	c.mu.Unlock()
	switch {
	case seen:
	case r == nil:
		c.end(e.call, &host.Call{}, nil, errNotBegun)
	default:
		c.end(e.call, &host.Call{}, &sdk.Result{Content: r.Content, Structured: r.Structured, Truncated: r.Truncated,
			Error: r.Error}, nil)
	}
}

// errNotBegun is the error of a call that never came to the host.
var errNotBegun = &sdk.Error{Code: sdk.CodeCanceled, Name: "Canceled",
	Message: "the request ended before the call began; nothing was run"}

// enter checks and registers the calls of a request, unless the server stops, and then finds the tools that are named
// by an address, which may start their plugins. The caller calls end, which ends the entries that have not ended.
func (s *hostService) enter(ctx context.Context, requests ...*apiv1.CallRequest) (calls []host.Call, entries []*entry,
	end func(), err error) {
	for _, in := range requests {
		c, err := newCall(ctx, in)
		if err != nil {
			return nil, nil, nil, err
		}
		calls = append(calls, c)
	}
	if err := s.begin(); err != nil {
		return nil, nil, nil, err
	}
	end = func() {
		for _, e := range entries {
			e.end(nil)
		}
		s.inFlight.Done()
	}
	entries, err = s.calls.register(ctx, calls)
	for i := 0; i < len(calls) && err == nil; i++ {
		calls[i].Tool, err = s.resolve(entries[i].ctx, calls[i].Tool)
	}
	if err != nil {
		end()
		return nil, nil, nil, err
	}
	return calls, entries, end, nil
}
