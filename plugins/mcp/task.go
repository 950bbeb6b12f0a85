package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
	"github.com/toolhost/toolhost/sdk"
)

// Some tools of revision 2025-11-25 run as tasks only: the server returns at once, and has the result later. A call
// waits for it, so that such a tool is one like any other.

// needsTask reports whether a tool can only be called as a task.
func (d *definition) needsTask() bool {
	support, _ := text(memberOf(memberOf(d.Extra, "execution"), "taskSupport"))
	return support == "required"
}

// Times between two questions for a task's state.
const (
	leastPoll = 50 * time.Millisecond
	firstPoll = 500 * time.Millisecond
	mostPoll  = 10 * time.Second
)

// taskTime is how long the server is asked to keep the result.
var taskTime = sdk.Encode(map[string]int64{"ttl": maxCallTime.Milliseconds()})

// A taskState is a task's state as the server reports it.
type taskState struct {
	ID       string  `json:"taskId"`
	Status   string  `json:"status"`
	Message  string  `json:"statusMessage"`
	Interval float64 `json:"pollInterval"` // milliseconds
}

// callTask makes a call as a task, and waits for its result.
func (q *toolRequest) callTask(ctx context.Context, o *client.CallOptions) (json.RawMessage, error) {
	params := slices.Concat(q.params, rawjson.Object{{Name: "task", Value: taskTime}})
	raw, err := q.session.Call(ctx, q.method, params.JSON(), o)
	if err != nil {
		return nil, err
	}
	var state taskState
	_ = json.Unmarshal(memberOf(raw, "task"), &state)
	if state.ID == "" {
		return raw, nil // the server made no task of it
	}
	id := rawjson.Object{{Name: "taskId", Value: sdk.Encode(state.ID)}}.JSON()
	follow := *o
	follow.Headers = nil
	if err := q.followTask(ctx, state, id, &follow); err != nil {
		return nil, delivered(err)
	}
	raw, err = q.session.Call(ctx, "tasks/result", id, &follow)
	return raw, delivered(err)
}

// followTask waits until a task has a result, or asks. A call that ends before cancels the task.
func (q *toolRequest) followTask(ctx context.Context, state taskState, id json.RawMessage,
	o *client.CallOptions) error {
	for state.Status == "working" {
		q.emit(sdk.Event{Type: sdk.EventProgress, Message: state.Message})
		wait := firstPoll
		if state.Interval > 0 {
			wait = time.Duration(min(state.Interval, float64(mostPoll.Milliseconds()))) * time.Millisecond
		}
		if !pause(ctx, max(wait, leastPoll)) {
			q.cancelTask(ctx, id)
			return context.Cause(ctx)
		}
		raw, err := q.session.Call(ctx, "tasks/get", id, o)
		if ctx.Err() != nil {
			q.cancelTask(ctx, id)
		}
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &state); err != nil {
			return err
		}
	}
	return nil
}

// cancelTask cancels a task that nothing waits for any more.
func (q *toolRequest) cancelTask(ctx context.Context, id json.RawMessage) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = q.session.Call(ctx, "tasks/cancel", id, &client.CallOptions{})
}

// delivered marks an error of a request that follows the call itself.
func delivered(err error) error {
	if _, refused := errors.AsType[*client.RPCError](err); err == nil || refused {
		return err
	}
	return &client.CallError{Delivered: true, Err: err}
}
