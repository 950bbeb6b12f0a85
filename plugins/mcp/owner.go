package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
)

// A question of a server with a handshake names no call. This file finds the call that it is for, so that it reaches
// the one who made that. Calls run side by side as long as that is possible; once a question could have been for
// several callers, calls of different callers that answer questions take turns.

// A runningCall is one that a question may be for.
type runningCall struct {
	session string      // of the caller
	ongoing *serverCall // nil if the caller answers nothing
}

// besides reports whether a question never is for one of two calls and not for the other: their caller is the same, or
// none answers any.
func (c *runningCall) besides(other *runningCall) bool {
	if c.ongoing == nil || other.ongoing == nil {
		return c.ongoing == nil && other.ongoing == nil
	}
	return c.session == other.session
}

// waits reports whether the call waits for an answer. It asks nothing else meanwhile.
func (c *runningCall) waits() bool { return c.ongoing != nil && c.ongoing.waits() }

// A waitingCall waits for its turn.
type waitingCall struct {
	*runningCall
	admitted chan struct{} // closed when it may run
}

// settleTime is how long after a call was canceled its questions may still come.
const settleTime = 2 * time.Second

// enter waits until a call may run, and notes that it does, until leave is called with its error. It calls waiting if
// the call does not run at once.
func (u *upstream) enter(ctx context.Context, c *runningCall, waiting func()) (leave func(error), err error) {
	u.mu.Lock()
	w := &waitingCall{c, make(chan struct{})}
	u.waiting = append(u.waiting, w)
	u.admit()
	settles := time.Duration(0)
	if u.takeTurns && c.ongoing != nil {
		settles = settleTime
	}
	u.mu.Unlock()
	select {
	case <-w.admitted:
	default:
		waiting()
		select {
		case <-w.admitted:
		case <-ctx.Done():
			u.leave(w)
			return nil, &client.CallError{Err: context.Cause(ctx)}
		}
	}
	if settles > 0 {
		u.mu.Lock()
		settles = time.Until(u.canceled.Add(settleTime))
		u.mu.Unlock()
		if !pause(ctx, settles) {
			u.leave(w)
			return nil, &client.CallError{Err: context.Cause(ctx)}
		}
	}
	return func(err error) {
		if _, refused := errors.AsType[*client.RPCError](err); err != nil && !refused {
			u.mu.Lock()
			u.canceled = time.Now() // the server may still work on it
			u.mu.Unlock()
		}
		u.leave(w)
	}, nil
}

// admit lets calls run in the order in which they came. A call whose person has not answered yet keeps none waiting.
// The caller holds the lock.
func (u *upstream) admit() {
	for len(u.waiting) > 0 {
		next := u.waiting[0]
		if u.takeTurns && slices.ContainsFunc(u.running, func(r *runningCall) bool {
			return !r.besides(next.runningCall) && !r.waits()
		}) {
			return
		}
		u.waiting = u.waiting[1:]
		u.running = append(u.running, next.runningCall)
		close(next.admitted)
	}
}

// leave notes that a call runs or waits no longer.
func (u *upstream) leave(w *waitingCall) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting = slices.DeleteFunc(u.waiting, func(other *waitingCall) bool { return other == w })
	u.running = slices.DeleteFunc(u.running, func(r *runningCall) bool { return r == w.runningCall })
	close(u.left)
	u.left = make(chan struct{})
	u.admit()
}

// owner returns the call that a question is for; nil if its caller answers nothing, or it is not known: because of
// several calls, of which others may end, or because of one that was canceled. A call that waits for an answer asks
// nothing else.
func (u *upstream) owner() (owner *serverCall, several, canceled bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	candidates := slices.DeleteFunc(slices.Clone(u.running), (*runningCall).waits)
	if !slices.ContainsFunc(candidates, func(c *runningCall) bool { return c.ongoing != nil }) {
		return nil, false, false
	}
	if time.Since(u.canceled) < settleTime {
		return nil, false, true
	}
	last := candidates[len(candidates)-1]
	for _, c := range candidates {
		if !c.besides(last) {
			u.takeTurns = true
			return nil, true, false
		}
	}
	return last.ongoing, false, false
}

// ownerTime is how long a question waits until only one call is left that can have asked it: that does not end before
// it is answered.
const ownerTime = 30 * time.Second

// awaitOwner is owner, after the others have ended.
func (u *upstream) awaitOwner(ctx context.Context) (owner *serverCall, unknown bool) {
	ctx, cancel := context.WithTimeout(ctx, ownerTime)
	defer cancel()
	for {
		u.mu.Lock()
		left := u.left
		u.mu.Unlock()
		owner, several, canceled := u.owner()
		if !several {
			return owner, canceled
		}
		select {
		case <-left:
		case <-ctx.Done():
			return nil, true
		}
	}
}

// answer answers a question of the server.
func (u *upstream) answer(ctx context.Context, method string, params json.RawMessage) (json.RawMessage,
	*client.RPCError) {
	var owner *serverCall
	var unknown bool
	switch method {
	case methodElicit, methodSample:
		owner, unknown = u.awaitOwner(ctx)
	case methodRoots:
		return roots(u.workdir), nil
	}
	switch {
	case owner != nil:
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(owner.running, cancel)()
		return owner.ask(ctx, method, params)
	case unknown:
		return nil, &client.RPCError{Code: client.CodeInvalidRequest, Message: method +
			" is refused: it does not say which " +
			"of several calls it is for. Make the call again: from now on, callers that may be asked take turns"}
	}
	return nil, refuseQuestion(method)
}
