package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
	"github.com/toolhost/toolhost/sdk"
)

// suspendedTime is how long a call waits for answers.
const suspendedTime = 10 * time.Minute

// A server with a handshake asks in the middle of a call; the caller learns the questions by the end of its own call,
// and makes that again with the answers. In between the call to the server waits in suspended of its bridge. A host
// that asks makes one more call meanwhile, which ends when the questions are moot, and by whose end the plugin learns
// that no answers will come.

// A suspension is the time in which a call waits for the answers to the questions that it has returned.
type suspension struct {
	of    *serverCall
	id    string
	keys  []string      // of the questions, sorted
	over  chan struct{} // closed when a host has made the call again
	timer *time.Timer
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

	news  chan struct{} // the open questions have changed; has room for one
	mu    sync.Mutex
	open  map[string]*question
	asked int
}

// A question is one that a server waits for.
type question struct {
	ctx    context.Context // ends at once when the server withdraws it
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
	defer o.detach(r)
	for {
		select {
		case <-o.done:
			return o.result, o.err
		case <-o.news:
			if r := o.suspend(false); r != nil {
				return r, nil
			}
		case <-ctx.Done():
			o.cancel(context.Cause(ctx))
			<-o.done
			return o.result, o.err
		}
	}
}

// ask answers a question of the server for the call, as client.CallOptions.Request.
func (o *serverCall) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage,
	*client.RPCError) {
	if method == methodRoots {
		return roots(o.workdir()), nil
	}
	if !answerable(o.request.Capabilities, method, params) {
		return nil, refuseQuestion(method)
	}
	q := &question{ctx, questionJSON(method, params), make(chan json.RawMessage, 1)}
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
		if o.running.Err() != nil { // the server is to learn of that first, or it may go on without an answer
			<-o.done
		}
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
	wake(o.news)
	return key
}

// remove forgets a question. One that has no answer was withdrawn by the server, or its call has ended.
func (o *serverCall) remove(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open[key] != nil {
		delete(o.open, key)
		wake(o.news)
	}
}

// waits reports whether there are open questions.
func (o *serverCall) waits() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.openKeys()) > 0
}

// suspend returns the open questions as a result. It is nil if there are none, unless the call is to be suspended all
// the same, and if too many calls are suspended, which ends this one.
func (o *serverCall) suspend(withoutQuestions bool) *sdk.Result {
	o.mu.Lock()
	defer o.mu.Unlock()
	requests := map[string]json.RawMessage{}
	for _, key := range o.openKeys() {
		requests[key] = o.open[key].json
	}
	if len(requests) == 0 && !withoutQuestions {
		return nil
	}
	s := &suspension{of: o, id: rand.Text(), keys: slices.Sorted(maps.Keys(requests)), over: make(chan struct{})}
	s.timer = time.AfterFunc(suspendedTime, func() {
		if s.take() {
			o.cancel(errExpired)
		}
	})
	if !o.bridge.suspended.Add(s.id, s) {
		s.timer.Stop()
		o.cancel(errTooMany)
		return nil
	}
	return &sdk.Result{InputRequired: &sdk.InputRequired{Requests: requests, State: callState + s.id, Suspended: true}}
}

var errTooMany = errors.New("too many calls of this server wait for answers")

// take ends a suspension, and reports false if it has ended before.
func (s *suspension) take() bool {
	return s.of.bridge.suspended.Take(s.id, s, func() {
		s.timer.Stop()
		close(s.over)
	})
}

// resumeSuspended resumes the suspended call with this id, or waits beside its questions. The repeat must be of the
// same call.
func (q *toolRequest) resumeSuspended(ctx context.Context, id string) (*sdk.Result, error) {
	s := q.bridge.suspended.Get(id)
	switch {
	case s == nil:
		return nil, expiredQuestion()
	case !s.of.sameCall(q):
		return nil, &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "UnknownState", Message: "the state that came with the " +
			"answers belongs to another call; nothing was run", Suggestion: "Repeat the call unchanged, with its own state."}
	case q.request.DuringQuestions:
		return s.await(ctx, q.request)
	case !s.take(): // another repeat was faster
		return nil, expiredQuestion()
	}
	o := s.of
	o.mu.Lock()
	for key, question := range o.open {
		answer, there := q.request.InputResponses[key]
		if !there || !json.Valid(answer) {
			wake(o.news) // is asked again
			continue
		}
		delete(o.open, key)
		question.answer <- answer
	}
	o.mu.Unlock()
	return o.await(ctx, q.request)
}

func expiredQuestion() error {
	return &sdk.Error{Name: "QuestionExpired", Outcome: sdk.OutcomeUnknown, Message: fmt.Sprintf(
		"the call that asked no longer waits: it was answered before, waited for more than %s, or its server has ended",
		suspendedTime), Suggestion: "A part of the call may have run. Check that before you repeat it, without state."}
}

// await is the call of a host that asks meanwhile. It returns the call's result if the server needs no answer any more,
// or other questions. Its end by the host cancels the call: no answers will come.
func (s *suspension) await(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	o := s.of
	o.attach(r)
	defer o.detach(r)
	for {
		select {
		case <-o.done:
			if s.take() {
				return o.result, o.err
			}
			return nil, expiredQuestion()
		case <-o.news:
			o.mu.Lock()
			same := slices.Equal(s.keys, o.openKeys())
			o.mu.Unlock()
			if same && o.bridge.suspended.Get(s.id) == s {
				continue
			}
			if !s.take() {
				wake(o.news) // those who have made the call again wait for it
				return nil, expiredQuestion()
			}
			if r := o.suspend(true); r != nil {
				return r, nil
			}
			<-o.done
			return o.result, o.err
		case <-ctx.Done():
			if !s.take() {
				return nil, sdk.EndedError(ctx)
			}
			o.cancel(context.Cause(ctx))
			<-o.done
			return o.result, o.err
		case <-s.over:
			return nil, expiredQuestion()
		}
	}
}

// openKeys returns the keys of the open questions, sorted, without those that the server has withdrawn a moment ago:
// its next question may be here before they are removed. The lock is held.
func (o *serverCall) openKeys() (keys []string) {
	for key, q := range o.open {
		if q.ctx.Err() == nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// sameCall reports whether a repeat is one of this call.
func (o *serverCall) sameCall(q *toolRequest) bool {
	return o.method == q.method && string(o.params.JSON()) == string(q.params.JSON()) &&
		o.request.SessionID == q.request.SessionID && o.request.Workdir == q.request.Workdir
}
