package sdk

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// A handler that asks a person is suspended: its call ends with the question, as input_required, the host asks, and
// makes the call again with the answer, which continues the handler. So the time that an answer takes counts against no
// deadline, and hosts that answer in a request of their own need no more than that. A call of a host whose caller can
// be asked has a suspension, which is one allocation; others have none.
//
// A host makes one more call while it asks, the call beside the question: InputRequired.Suspended says what for. The
// handler may go on without the answer; its next leg is the call that the host then makes.

// Limits of suspended handlers.
const (
	maxQuestions  = 10 // of a call
	suspendedTime = 30 * time.Minute
	maxResume     = 2 * time.Second // until a host makes the call of a handler that goes on without an answer
	keptResult    = time.Minute     // in which the result of a handler that has returned can be had

	questionKey   = "question"
	questionState = "toolhost-question:" // begins the state of a suspended call
)

// A suspension is a handler that may be suspended. It spans several calls, one after the other: each is a leg.
type suspension struct {
	server  *server
	request *pluginv1.CallRequest // the first
	ctx     handlerContext
	first   leg

	mu     sync.Mutex
	asking chan struct{} // has a token while a question is open; made by the first, like done
	done   chan struct{} // closed when the handler has returned, perhaps while a goroutine of it asks
	result *pluginv1.Result

	leg   *leg          // nil while the handler is suspended, and after it has returned
	last  *question     // nil before the first
	open  int           // requests to the host that run
	idle  chan struct{} // closed when there are none; nil when no question waits for that
	again chan struct{} // closed when the handler continues; nil when it is not about to be suspended
	asked int
}

// A leg is one call that carries a handler.
type leg struct {
	ctx     context.Context
	out     *wire.Sender
	answers map[string][]byte
	done    chan struct{} // closed when the leg has its result; nil for the first, which is the handler's own goroutine
	err     error         // of sending that
}

// A question is one that the host asks for a handler.
type question struct {
	of        *suspension
	id        string
	taken     chan struct{} // closed when the question is over
	withdrawn chan struct{} // has a token when the handler goes on without the answer
	resumed   chan struct{} // closed when the handler has its next leg, which has the answer
	leg       *leg
}

func newSuspension(s *server, r *pluginv1.CallRequest, ctx context.Context, to *wire.Sender) *suspension {
	out := &suspension{server: s, request: r, first: leg{ctx: ctx, out: to}}
	out.leg = &out.first
	out.ctx.plugin = s.base
	out.ctx.follow(ctx)
	return out
}

func (l *leg) end(r *pluginv1.Result) error {
	l.err = l.out.Result(r)
	if l.done != nil {
		close(l.done)
	}
	return l.err
}

// event sends an event of the handler, unless it is suspended.
func (s *suspension) event(e Event) {
	if m, of := eventToWire(e), s.current(); m != nil && of != nil {
		of.out.Event(m)
	}
}

// current returns the leg; nil while the handler is suspended.
func (s *suspension) current() *leg {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leg
}

// beginRequest counts a request to the host, which needs a leg, until endRequest.
func (s *suspension) beginRequest(ctx context.Context) (*leg, error) {
	for {
		s.mu.Lock()
		again := s.again
		if again == nil {
			defer s.mu.Unlock()
			s.open++
			return s.leg, nil
		}
		s.mu.Unlock()
		select {
		case <-again:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *suspension) endRequest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open--; s.open == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

// ask suspends the handler until its question is answered.
func (s *suspension) ask(ctx context.Context, request json.RawMessage) (json.RawMessage, error) {
	s.mu.Lock()
	if s.asking == nil {
		s.asking, s.done = make(chan struct{}, 1), make(chan struct{})
	}
	s.mu.Unlock()
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return nil, EndedError(ctx)
	}
	if s.asked++; s.asked > maxQuestions {
		return nil, &Error{Name: "TooManyQuestions", Message: "the call has asked ten questions, which is the most",
			Suggestion: unaskedAdvice}
	}
	again := make(chan struct{})
	defer close(again)
	idle := s.hold(again)
	defer s.release()
	select {
	case <-idle: // nothing runs in the host for this leg
	case <-ctx.Done():
		return nil, EndedError(ctx)
	}
	if s.ctx.Err() != nil || s.current() == nil {
		return nil, EndedError(&s.ctx)
	}
	q := &question{of: s, id: rand.Text(), taken: make(chan struct{}), withdrawn: make(chan struct{}, 1),
		resumed: make(chan struct{})}
	if !s.server.suspended.Add(q.id, q) {
		return nil, &Error{Name: "TooManyQuestions", Retryable: true,
			Message: "too many calls of this plugin wait for answers", Suggestion: "Make the call again in a moment."}
	}
	if !s.detach(q, map[string][]byte{questionKey: request}) {
		q.take()
		return nil, EndedError(&s.ctx)
	}
	timer := time.NewTimer(suspendedTime)
	defer timer.Stop()
	select {
	case <-q.resumed:
		return q.leg.answers[questionKey], nil
	case <-timer.C:
		s.ctx.end(context.Canceled)
		return nil, &Error{Code: CodeTimeout, Name: "NoAnswer", Message: "no one answered the question within " +
			suspendedTime.String(), Suggestion: "Make the call again when the user is there."}
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
	if s.ctx.Err() != nil {
		return nil, EndedError(&s.ctx)
	}
	q.withdrawn <- struct{}{}
	timer.Reset(maxResume)
	select { // a host that makes no call beside questions does not resume the handler; the answer does
	case <-q.resumed:
	case <-timer.C:
	case <-s.ctx.Done():
	}
	return nil, EndedError(ctx)
}

// hold lets no further request begin, and returns a channel that closes when none runs.
func (s *suspension) hold(again chan struct{}) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.again = again
	idle := make(chan struct{})
	if s.open == 0 {
		close(idle)
	} else {
		s.idle = idle
	}
	return idle
}

func (s *suspension) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.again, s.idle = nil, nil
}

// inputRequired is the result of a call whose handler is suspended.
func (q *question) inputRequired(requests map[string][]byte) *pluginv1.Result {
	return &pluginv1.Result{InputRequired: &pluginv1.InputRequired{Requests: requests,
		State: []byte(questionState + q.id), Suspended: true}}
}

// detach ends the leg with a question. Its context ends with it, and is not the handler's any more. It reports false if
// the handler has returned.
func (s *suspension) detach(q *question, requests map[string][]byte) bool {
	s.mu.Lock()
	of := s.leg
	if of != nil {
		s.leg, s.last = nil, q
	}
	s.mu.Unlock()
	if of == nil {
		return false
	}
	s.ctx.follow(nil) //nolint:staticcheck // it is none
	s.server.overdue.release(of.ctx)
	_ = of.end(q.inputRequired(requests)) // a broken connection ends the host's call, and no answer comes
	return true
}

// resume has the next leg carry the handler. If that has returned meanwhile, its result is all there is.
func (q *question) resume(next *leg) (result *pluginv1.Result) {
	s := q.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.result != nil {
		return s.result
	}
	s.leg, q.leg = next, next
	s.ctx.follow(next.ctx)
	close(q.resumed)
	return nil
}

// beside is the call of a host while it asks. It ends when the question is over, and gives the result of a handler that
// has returned. If the host ends it, no answer will come: it ends the handler, and waits for that.
func (q *question) beside(ctx context.Context, out *wire.Sender) error {
	s := q.of
	select {
	case <-s.done:
	case <-q.withdrawn:
		return out.Result(q.inputRequired(nil))
	case <-q.taken:
	case <-ctx.Done():
	}
	if !q.take() {
		return out.Result(questionExpired())
	}
	if ctx.Err() != nil {
		s.ctx.end(context.Canceled)
	}
	<-s.done
	return out.Result(s.result)
}

// finish ends the last leg with the handler's result, if there is one; else the result is kept for the next call. A
// question that a goroutine of the handler has left open ends with the handler's context.
func (s *suspension) finish(r *pluginv1.Result) error {
	s.mu.Lock()
	of, last := s.leg, s.last
	s.leg, s.result = nil, r
	if s.done != nil {
		close(s.done)
	}
	s.mu.Unlock()
	s.ctx.end(context.Canceled)
	if of != nil {
		return of.end(r)
	}
	time.AfterFunc(keptResult, func() { last.take() })
	return nil
}

// questionExpired is the result of a call that brings an answer for which no handler waits.
func questionExpired() *pluginv1.Result {
	return &pluginv1.Result{Error: &pluginv1.Error{Name: "QuestionExpired", OutcomeUnknown: true,
		Message: "the call that asked no longer waits: it was answered before, waited for too long, or has ended, or its " +
			"plugin has", Suggestion: "A part of the call may have run. Check that before you repeat it, without state."}}
}

// continues reports whether a call continues a suspended handler. If it does, it is the handler's until its end, or the
// next question.
func (s *server) continues(ctx context.Context, r *pluginv1.CallRequest, out *wire.Sender) (is bool, err error) {
	if len(r.GetRequestState()) == 0 { // of most calls
		return false, nil
	}
	id, is := strings.CutPrefix(string(r.GetRequestState()), questionState)
	if !is {
		return false, nil
	}
	q := s.suspended.Get(id)
	switch {
	case q == nil:
		return true, out.Result(questionExpired())
	case !q.of.sameCall(r):
		return true, out.Result(&pluginv1.Result{Error: &pluginv1.Error{Code: string(CodeInvalidArgs), Name: "UnknownState",
			Message: "the state that came with the answers belongs to another call; nothing was run"}})
	case r.GetDuringQuestions():
		return true, q.beside(ctx, out)
	case !q.take(): // another one was faster
		return s.continues(ctx, r, out)
	}
	next := &leg{ctx: ctx, out: out, answers: r.GetInputResponses(), done: make(chan struct{})}
	if result := q.resume(next); result != nil {
		return true, out.Result(result)
	}
	<-next.done
	return true, next.err
}

// sameCall reports whether a call is the same as that of the handler, but for its answers.
func (s *suspension) sameCall(r *pluginv1.CallRequest) bool {
	return s.request.GetTool() == r.GetTool() && s.request.GetSessionId() == r.GetSessionId() &&
		s.request.GetWorkdir() == r.GetWorkdir() && bytes.Equal(s.request.GetArguments(), r.GetArguments())
}

// take ends the time in which the question is open, or its handler's result is kept. It reports false if it has ended
// before.
func (q *question) take() bool {
	return q.of.server.suspended.Take(q.id, q, func() { close(q.taken) })
}

// A handlerContext is the context of a handler that may be suspended: it ends with the leg that carries the handler,
// and with the plugin.
type handlerContext struct {
	plugin context.Context

	mu   sync.Mutex
	leg  context.Context // nil while the handler is suspended
	stop func() bool     // of watching the leg
	done chan struct{}   // made by the first Done
	err  error
}

// follow makes the context end with another leg; with nil, with the plugin alone.
func (c *handlerContext) follow(leg context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		c.stop()
		c.stop = nil
	}
	c.leg = leg
	c.watch()
}

// watch has the context end with what it ends with, if anything waits for that. The lock is held.
func (c *handlerContext) watch() {
	if c.done == nil || c.err != nil || c.stop != nil {
		return
	}
	of := cmp.Or(c.leg, c.plugin)
	c.stop = context.AfterFunc(of, func() {
		c.mu.Lock()
		current := cmp.Or(c.leg, c.plugin) == of
		c.mu.Unlock()
		if current {
			c.end(of.Err())
		}
	})
}

func (c *handlerContext) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
}

// Deadline implements context.Context: the leg's.
func (c *handlerContext) Deadline() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leg == nil {
		return time.Time{}, false
	}
	return c.leg.Deadline()
}

// Done implements context.Context.
func (c *handlerContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
		c.watch()
	}
	return c.done
}

// Err implements context.Context.
func (c *handlerContext) Err() error {
	c.mu.Lock()
	err, of := c.err, cmp.Or(c.leg, c.plugin)
	c.mu.Unlock()
	if err == nil && of.Err() != nil {
		c.end(of.Err())
		return of.Err()
	}
	return err
}

// Value implements context.Context.
func (c *handlerContext) Value(key any) any { return c.plugin.Value(key) }
