package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
)

// A question of a server with a handshake names no call. This file finds the call that it is for, so that it reaches the
// one who made that. Calls run side by side as long as that is possible; once a question could have been for several
// callers, those of callers that answer questions run one at a time.

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
		if _, refused := errors.AsType[*client.RPCError](err); err != nil && !refused {
			u.canceled = time.Now() // the server may still work on it
		}
	}, nil
}

// owner returns the call that a question is for; nil if that is not known, or its caller answers nothing. A call that
// waits for an answer asks nothing else.
func (u *upstream) owner() (owner *ongoing, ambiguous bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	candidates := slices.DeleteFunc(slices.Clone(u.running), func(c *runningCall) bool {
		return c.ongoing != nil && c.ongoing.waits()
	})
	if !slices.ContainsFunc(candidates, func(c *runningCall) bool { return c.ongoing != nil }) {
		return nil, false
	}
	last := candidates[len(candidates)-1]
	for _, c := range candidates {
		if c.session != last.session || (c.ongoing == nil) != (last.ongoing == nil) {
			ambiguous = true
		}
	}
	if ambiguous || time.Since(u.canceled) < settleTime {
		return nil, true
	}
	return last.ongoing, false
}

// answer answers a question of the server that the connection could not give to a call.
func (u *upstream) answer(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *client.RPCError) {
	owner, ambiguous := u.owner()
	switch {
	case owner != nil:
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(owner.running, cancel)()
		return owner.ask(ctx, method, params)
	case method == methodRoots:
		return roots(u.workdir), nil
	case ambiguous && (method == methodElicit || method == methodSample):
		u.mu.Lock()
		u.oneByOne = true
		u.mu.Unlock()
		return nil, &client.RPCError{Code: client.CodeInvalidRequest, Message: method + " is refused: it does not say which " +
			"of several calls it is for. From now on, calls run one at a time; make this one again"}
	}
	return nil, refuseQuestion(method)
}
