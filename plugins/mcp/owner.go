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
// several callers, calls of callers that answer questions run one at a time.

// A runningCall is one that a question may be for.
type runningCall struct {
	session string   // of the caller
	ongoing *ongoing // nil if the caller answers nothing
}

// settleTime is how long after a call was canceled its questions may still come.
const settleTime = 2 * time.Second

// allTurns is the weight of a call that runs alone.
const allTurns = 1 << 30

// enter waits until a call may run, and notes that it does, until leave is called with its error.
func (u *upstream) enter(ctx context.Context, c *runningCall) (leave func(error), err error) {
	u.mu.Lock()
	weight := int64(1)
	if u.oneByOne && c.ongoing != nil {
		weight = allTurns
	}
	u.mu.Unlock()
	if u.turns.Acquire(ctx, weight) != nil {
		return nil, &client.CallError{Err: context.Cause(ctx)}
	}
	if weight == allTurns {
		u.mu.Lock()
		settles := time.Until(u.canceled.Add(settleTime))
		u.mu.Unlock()
		if !pause(ctx, settles) {
			u.turns.Release(weight)
			return nil, &client.CallError{Err: context.Cause(ctx)}
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running = append(u.running, c)
	return func(err error) {
		u.turns.Release(weight)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.running = slices.DeleteFunc(u.running, func(r *runningCall) bool { return r == c })
		close(u.left)
		u.left = make(chan struct{})
		if _, refused := errors.AsType[*client.RPCError](err); err != nil && !refused {
			u.canceled = time.Now() // the server may still work on it
		}
	}, nil
}

// owner returns the call that a question is for; nil if its caller answers nothing, or it is not known: because of
// several calls, of which others may end, or because of one that was canceled. A call that waits for an answer asks
// nothing else.
func (u *upstream) owner() (owner *ongoing, several, canceled bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	candidates := slices.DeleteFunc(slices.Clone(u.running), func(c *runningCall) bool {
		return c.ongoing != nil && c.ongoing.waits()
	})
	if !slices.ContainsFunc(candidates, func(c *runningCall) bool { return c.ongoing != nil }) {
		return nil, false, false
	}
	if time.Since(u.canceled) < settleTime {
		return nil, false, true
	}
	last := candidates[len(candidates)-1]
	for _, c := range candidates {
		if c.session != last.session || (c.ongoing == nil) != (last.ongoing == nil) {
			u.oneByOne = true
			return nil, true, false
		}
	}
	return last.ongoing, false, false
}

// ownerTime is how long a question waits until only one call is left that can have asked it: that does not end before
// it is answered.
const ownerTime = 30 * time.Second

// awaitOwner is owner, after the others have ended.
func (u *upstream) awaitOwner(ctx context.Context) (owner *ongoing, unknown bool) {
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
	var owner *ongoing
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
			"of several calls it is for. Make the call again: from now on, calls that may ask run one at a time"}
	}
	return nil, refuseQuestion(method)
}
