package host

import (
	"context"
	"sync"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// A callDuringQuestions is a call of a plugin that the host makes beside the questions of a suspended call. By it the
// host learns that they need no answer any more, and the plugin that no answers will come.
type callDuringQuestions struct {
	cancel   context.CancelFunc
	received chan struct{} // closed when the plugin has the call

	done   chan struct{} // closed when it has returned; then result and err are set
	result *sdk.Result
	err    error
}

// maxReceive is how long a call beside questions may take to reach the plugin, or to return from it. What is canceled
// before it is received may never reach the plugin.
const maxReceive = 2 * time.Second

// callDuringQuestions begins the call, which has no deadline: people may take longer than the tool. It calls ended when
// the call has returned.
func (h *snapshot) callDuringQuestions(ctx context.Context, c *Call, in *sdk.InputRequired, ended func()) (
	*callDuringQuestions, error) {
	r, err := h.toRequest(c)
	if err != nil {
		return nil, err
	}
	r.InputResponses, r.RequestState, r.DuringQuestions = nil, in.State, true
	r.RunID, r.Attempt, r.Services = h.newRunID(), 1, (*services)(c)
	b := &callDuringQuestions{received: make(chan struct{}), done: make(chan struct{})}
	forward := h.forwardEvents(ctx, c)
	received := sync.OnceFunc(func() { close(b.received) })
	r.Events = func(e sdk.Event) {
		if e.Type != sdk.EventStarted {
			forward(e)
			return
		}
		received()
	}
	calling, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b.cancel = cancel
	go func() {
		defer ended()
		defer close(b.done)
		defer func() {
			if cause := recover(); cause != nil { // of a plugin in this process
				logPanic(h.log, cause, "call_id", c.ID, "tool", c.Tool)
				b.err = fail(sdk.CodeInternal, "Panic", "the plugin panicked; see the host's log for call id %s", c.ID)
			}
		}()
		b.result, b.err = c.Definition.plugin.Call(calling, r)
	}()
	return b, nil
}

// end ends the call, if it has not returned. Without answers, the plugin learns that it waits for nothing.
func (b *callDuringQuestions) end() {
	timer := time.NewTimer(maxReceive)
	defer timer.Stop()
	select {
	case <-b.received:
	case <-b.done:
	case <-timer.C:
	}
	b.cancel()
	<-b.done
}

// hasReturned reports whether the call returns within a time.
func (b *callDuringQuestions) hasReturned(within time.Duration) bool {
	if b == nil {
		return false
	}
	select {
	case <-b.done:
		return true
	default:
	}
	select {
	case <-b.done:
		return true
	case <-time.After(within):
		return false
	}
}

// returned is what the call has returned: the result of the suspended call, or its other questions.
func (b *callDuringQuestions) returned(c *Call) (*sdk.Result, error) {
	c.outcome = moreRestrictive(c.outcome, outcomeOf(b.result, b.err))
	return c.checkOutput(checkResult(b.result, b.err))
}

// isExpired reports that a plugin no longer has the suspended call.
func isExpired(result *sdk.Result, err error) bool {
	e := failure(result, err)
	return e != nil && e.Name == "QuestionExpired"
}
