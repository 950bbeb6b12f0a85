package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
	"github.com/toolhost/toolhost/sdk"
)

// Limits of the calls that wait for answers.
const (
	maxSuspended  = 64
	suspendedTime = 10 * time.Minute
)

// suspendedCalls are the calls of a bridge that wait for answers. A server with a handshake asks in the middle of a
// call; the caller learns the questions by the end of its own call, and makes that again with the answers. In between
// the call to the server waits here.
type suspendedCalls struct {
	ctx  context.Context // ends with the plugin
	mu   sync.Mutex
	byID map[string]*serverCall
}

// A serverCall is a call to a server that may outlive the call of a host.
type serverCall struct {
	*toolRequest
	upstream *upstream
	running  context.Context // of the call to the server
	cancel   context.CancelCauseFunc
	done     chan struct{} // closed when the server has answered; then result and err are set
	result   *sdk.Result
	err      error

	news  chan struct{} // there are questions; has room for one
	mu    sync.Mutex
	open  map[string]*question
	asked int
	timer *time.Timer // while suspended
}

// A question is one that a server waits for.
type question struct {
	json   json.RawMessage
	answer chan json.RawMessage // has room for one
}

var errExpired = fmt.Errorf("no answer to its question came within %s", suspendedTime)

// begin makes a call to a server with a handshake, which may ask in the middle of it. It releases u in the end.
func (q *toolRequest) begin(ctx context.Context, u *upstream) (*sdk.Result, error) {
	o := &serverCall{toolRequest: q, upstream: u, done: make(chan struct{}), news: make(chan struct{}, 1),
		open: map[string]*question{}}
	o.running, o.cancel = context.WithCancelCause(q.bridge.ctx)
	go func() {
		defer close(o.done)
		defer u.release()
		defer o.cancel(nil)
		o.result, o.err = q.finish(q.callInTurn(o.running, u, o))
	}()
	return o.await(ctx, q.request)
}

// await returns the call's result, or its questions. The events of the call go to r meanwhile.
func (o *serverCall) await(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	o.attach(r)
	defer o.attach(nil)
	for {
		select {
		case <-o.done:
			return o.result, o.err
		case <-o.news:
			if r := o.suspend(); r != nil {
				return r, nil
			}
		case <-ctx.Done():
			o.cancel(context.Cause(ctx))
			<-o.done
			return o.result, o.err
		}
	}
}

// ask is the engine's RequestFunc of the call.
func (o *serverCall) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage,
	*client.RPCError) {
	if method == methodRoots {
		return roots(o.workdir()), nil
	}
	if !answerable(o.request.Capabilities, method, params) {
		return nil, refuseQuestion(method)
	}
	q := &question{object(member{"method", sdk.Encode(method)}, member{"params", params}), make(chan json.RawMessage, 1)}
	o.quiet(1)
	defer o.quiet(-1)
	key := o.add(q)
	defer o.remove(key)
	o.upstream.mu.Lock()
	o.upstream.admit() // those that this call keeps waiting no longer
	o.upstream.mu.Unlock()
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-ctx.Done():
		return nil, &client.RPCError{Code: client.CodeInternalError,
			Message: "the question has no answer: the call has ended"}
	}
}

func (o *serverCall) add(q *question) (key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked++
	key = fmt.Sprintf("question-%d", o.asked)
	o.open[key] = q
	o.notify()
	return key
}

func (o *serverCall) remove(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, key)
}

// waits reports whether there are open questions.
func (o *serverCall) waits() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.open) > 0
}

func (o *serverCall) notify() {
	select {
	case o.news <- struct{}{}:
	default:
	}
}

// suspend returns the open questions as a result, nil if there are none by now.
func (o *serverCall) suspend() *sdk.Result {
	o.mu.Lock()
	defer o.mu.Unlock()
	requests := map[string]json.RawMessage{}
	for key, q := range o.open {
		requests[key] = q.json
	}
	if len(requests) == 0 {
		return nil
	}
	id := rand.Text()
	if !o.bridge.suspended.add(id, o) {
		o.cancel(errTooMany)
		return nil
	}
	o.timer = time.AfterFunc(suspendedTime, func() {
		if o.bridge.suspended.take(id) != nil {
			o.cancel(errExpired)
		}
	})
	return &sdk.Result{InputRequired: &sdk.InputRequired{Requests: requests, State: callState + id}}
}

var errTooMany = errors.New("too many calls of this server wait for answers")

func (s *suspendedCalls) add(id string, o *serverCall) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byID) >= maxSuspended {
		return false
	}
	if s.byID == nil {
		s.byID = map[string]*serverCall{}
	}
	s.byID[id] = o
	return true
}

// get returns a suspended call, which stays suspended; take ends that. Nil if there is none.
func (s *suspendedCalls) get(id string) *serverCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

func (s *suspendedCalls) take(id string) *serverCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.byID[id]
	delete(s.byID, id)
	return o
}

// resumeSuspended resumes the suspended call with this id. The repeat must be of the same call.
func (q *toolRequest) resumeSuspended(ctx context.Context, id string) (*sdk.Result, error) {
	s := &q.bridge.suspended
	o := s.get(id)
	switch {
	case o == nil:
		return nil, &sdk.Error{Name: "QuestionExpired", Outcome: sdk.OutcomeUnknown, Message: fmt.Sprintf(
			"the call that asked no longer waits: it was answered before, waited for more than %s, or its server has ended",
			suspendedTime), Suggestion: "A part of the call may have run. Check that before you repeat it, without state."}
	case !o.sameCall(q):
		return nil, &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "UnknownState", Message: "the state that came with the " +
			"answers belongs to another call; nothing was run", Suggestion: "Repeat the call unchanged, with its own state."}
	case s.take(id) == nil: // another repeat was faster
		return q.resumeSuspended(ctx, id)
	}
	o.timer.Stop()
	o.mu.Lock()
	for key, question := range o.open {
		answer, there := q.request.InputResponses[key]
		if !there || !json.Valid(answer) {
			o.notify() // is asked again
			continue
		}
		delete(o.open, key)
		question.answer <- answer
	}
	o.mu.Unlock()
	return o.await(ctx, q.request)
}

// sameCall reports whether a repeat is one of this call.
func (o *serverCall) sameCall(q *toolRequest) bool {
	return o.method == q.method && string(object(o.params...)) == string(object(q.params...)) &&
		o.request.SessionID == q.request.SessionID && o.request.Workdir == q.request.Workdir
}
