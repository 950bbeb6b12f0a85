package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// A caller is who answers the questions of a call. Calls of one caller need no telling apart.
type caller struct {
	session string
	answers bool // otherwise the session does not matter
}

func (c *runningCall) caller() caller {
	if c.ongoing == nil {
		return caller{}
	}
	return caller{c.session, true}
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
	for told := false; ; told = true {
		settles := u.settles(c)
		if settles <= 0 {
			break
		}
		if !told {
			waiting()
		}
		if !pause(ctx, settles) {
			u.leave(w)
			return nil, &client.CallError{Err: context.Cause(ctx)}
		}
	}
	return func(err error) {
		if _, refused := errors.AsType[*client.RPCError](err); err != nil && !refused {
			u.noteCanceled(c.caller()) // the server may still work on it
		}
		u.leave(w)
	}, nil
}

// settles is how long a call still waits, so that no question of a canceled call of another caller comes while it runs.
func (u *upstream) settles(c *runningCall) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.takeTurns || c.ongoing == nil {
		return 0
	}
	return settleTime - time.Since(u.canceledBesides(c.caller()))
}

// noteCanceled notes that a call of a caller was canceled, or ended without an answer in another way.
func (u *upstream) noteCanceled(c caller) {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.canceled, func(_ caller, at time.Time) bool { return time.Since(at) >= settleTime })
	if u.canceled == nil {
		u.canceled = map[caller]time.Time{}
	}
	u.canceled[c] = time.Now()
}

// canceledBesides is when a call of another caller last was canceled. It is called with mu held.
func (u *upstream) canceledBesides(c caller) (last time.Time) {
	for other, at := range u.canceled {
		if other != c && at.After(last) {
			last = at
		}
	}
	return last
}

// admit lets calls run in the order in which they came. A call whose person has not answered yet keeps none waiting.
// The caller holds the lock.
func (u *upstream) admit() {
	for len(u.waiting) > 0 {
		next := u.waiting[0]
		if u.takeTurns && slices.ContainsFunc(u.running, func(r *runningCall) bool {
			return r.caller() != next.caller() && !r.waits()
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

// A doubt is why it is not known which call a question is for.
type doubt int

const (
	noDoubt       doubt = iota
	doubtSeveral        // calls of several callers run, of which others may end
	doubtCanceled       // a call of another caller was canceled, and may have asked before the server knew
)

// owner returns the call that a question is for; nil if its caller answers nothing, or there is a doubt. A call that
// waits for an answer asks nothing else. After a doubt, callers take turns.
func (u *upstream) owner() (*serverCall, doubt) {
	u.mu.Lock()
	defer u.mu.Unlock()
	candidates := slices.DeleteFunc(slices.Clone(u.running), (*runningCall).waits)
	if !slices.ContainsFunc(candidates, func(c *runningCall) bool { return c.ongoing != nil }) {
		return nil, noDoubt
	}
	last := candidates[len(candidates)-1]
	why := noDoubt
	for _, c := range candidates {
		if time.Since(u.canceledBesides(c.caller())) < settleTime {
			why = doubtCanceled
			break
		}
		if c.caller() != last.caller() {
			why = doubtSeveral
		}
	}
	if why != noDoubt {
		u.takeTurns = true
		return nil, why
	}
	return last.ongoing, noDoubt
}

// ownerTime is how long a question waits until only one call is left that can have asked it: that does not end before
// it is answered.
const ownerTime = 30 * time.Second

// awaitOwner is owner, after the others have ended.
func (u *upstream) awaitOwner(ctx context.Context) (*serverCall, doubt) {
	ctx, cancel := context.WithTimeout(ctx, ownerTime)
	defer cancel()
	for {
		u.mu.Lock()
		left := u.left
		u.mu.Unlock()
		owner, why := u.owner()
		if why != doubtSeveral {
			return owner, why
		}
		select {
		case <-left:
		case <-ctx.Done():
			return nil, why
		}
	}
}

func (u *upstream) answer(ctx context.Context, method string, params json.RawMessage) (json.RawMessage,
	*client.RPCError) {
	var owner *serverCall
	var why doubt
	switch method {
	case methodElicit, methodSample:
		owner, why = u.awaitOwner(ctx)
	case methodRoots:
		return roots(u.workdir), nil
	}
	switch {
	case owner != nil:
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(owner.running, cancel)()
		return owner.ask(ctx, method, params)
	case why == doubtSeveral:
		return nil, refusedInDoubt(method, "it does not say which of several calls it is for. Make the call again: from "+
			"now on, callers that may be asked take turns")
	case why == doubtCanceled:
		return nil, refusedInDoubt(method, fmt.Sprintf("a call of another client ended without an answer less than %s "+
			"ago, and the question may be for that one. Make the call again: it begins when that time is over", settleTime))
	}
	return nil, refuseQuestion(method)
}

func refusedInDoubt(method, reason string) *client.RPCError {
	return &client.RPCError{Code: client.CodeInvalidRequest, Message: method + " is refused: " + reason}
}
