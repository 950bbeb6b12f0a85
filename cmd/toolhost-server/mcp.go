package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/approvals"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/mcpserver"
)

// mcpClients asks the client of MCP whose call it is, beside the queue. The first answer wins.
type mcpClients struct {
	hooks atomic.Pointer[mcpserver.Hooks] // nil before the first request of a client
	queue *approvals.Queue
}

// mcpClient names a client of MCP to the other approvers.
const mcpClient = "the MCP client"

// Approve asks the client and the approvers of the queue at once.
func (m *mcpClients) Approve(ctx context.Context, r *host.ApprovalRequest) (host.Answer, error) {
	h := m.hooks.Load()
	if h == nil {
		return m.queue.Approve(ctx, r)
	}
	return beside(ctx,
		func(ctx context.Context) (host.Answer, error) { return h.Approver.Approve(ctx, r) },
		func(ctx context.Context) (host.Answer, error) { return m.queue.Approve(ctx, r) },
		func(a host.Answer) error {
			return approvals.Elsewhere(approvals.KindCall, approvals.Answer{By: mcpClient, Call: a})
		})
}

// Capabilities are those of the queue: the client's are in its calls.
func (m *mcpClients) Capabilities() json.RawMessage { return m.queue.Capabilities() }

// AnswerInput asks the client and the approvers of the queue at once.
func (m *mcpClients) AnswerInput(ctx context.Context, r *host.InputRequest) (map[string]json.RawMessage, error) {
	h := m.hooks.Load()
	if h == nil {
		return m.queue.AnswerInput(ctx, r)
	}
	type answers = map[string]json.RawMessage
	return beside(ctx,
		func(ctx context.Context) (answers, error) { return h.Input.AnswerInput(ctx, r) },
		func(ctx context.Context) (answers, error) { return m.queue.AnswerInput(ctx, r) },
		func(answers) error {
			return approvals.Elsewhere(approvals.KindInput, approvals.Answer{By: mcpClient})
		})
}

// beside asks a client and the queue at once. The client's answer ends the question of the queue with answered's error,
// unless the queue has been answered first: then that answer, already confirmed to its author, counts. A client that
// fails leaves the question to the queue, except one that makes its call again with the answer: this call ends.
func beside[T any](ctx context.Context, client, queue func(context.Context) (T, error), answered func(T) error) (T, error) {
	type reply struct {
		answer T
		err    error
	}
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	replied := make(chan reply, 1)
	go func() {
		var r reply
		defer func() {
			if cause := recover(); cause != nil {
				r.err = fmt.Errorf("asking the MCP client panicked: %v", cause)
			}
			replied <- r // before the queue's question ends, so that this is found then
			switch {
			case r.err == nil:
				cancel(answered(r.answer))
			case mcpserver.CallsAgain(r.err):
				cancel(r.err)
			}
		}()
		r.answer, r.err = client(asking)
	}()
	answer, err := queue(asking)
	if err == nil {
		return answer, nil
	}
	var r reply
	select {
	case r = <-replied:
	default:
		select {
		case r = <-replied: // the queue failed, such as when it is full
		case <-ctx.Done():
			return answer, err
		}
	}
	if r.err == nil || mcpserver.CallsAgain(r.err) {
		return r.answer, r.err
	}
	return answer, err
}

// sharedHost is the host of all clients of MCP: it does not end with one of them.
type sharedHost struct{ *bootstrap.Instance }

// Close does nothing.
func (sharedHost) Close() error { return nil }

// openMCP makes the server of MCP on the same host.
func (p *program) openMCP() error {
	o := mcpserver.Options{Version: version, Logger: p.log,
		Open: func(_ context.Context, _ mcpserver.Identity, hooks mcpserver.Hooks) (mcpserver.Backend, error) {
			p.clients.hooks.Store(&hooks)
			return sharedHost{p.instance}, nil
		}}
	var err error
	if o.StateKey, err = bootstrap.MCPStateKey(); err != nil { // then only this server accepts its own states
		p.log.Warn("the key for questions to MCP clients cannot be kept", "error", err)
	}
	p.mcp, err = mcpserver.New(o)
	return err
}

// toolsChanged notifies the clients of MCP.
func (p *program) toolsChanged(plugin string) {
	if h := p.clients.hooks.Load(); h != nil {
		h.ToolsChanged(plugin)
	}
}
