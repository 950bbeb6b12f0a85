package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/approvals"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/mcpserver"
)

// mcpClients asks the client of MCP whose call it is, and whoever else can be asked. The first answer wins.
type mcpClients struct {
	hooks atomic.Pointer[mcpserver.Hooks] // nil before the first request of a client
	next  host.Approver                   // or nil
	input host.InputHandler               // or nil
}

// Approve asks the client and the others at once.
func (m *mcpClients) Approve(ctx context.Context, r *host.ApprovalRequest) (host.Answer, error) {
	var asked []host.Approver
	if h := m.hooks.Load(); h != nil {
		asked = append(asked, h.Approver)
	}
	if m.next != nil {
		asked = append(asked, m.next)
	}
	return first(ctx, asked, func(ctx context.Context, a host.Approver) (host.Answer, error) { return a.Approve(ctx, r) },
		func(a host.Answer) error {
			return approvals.Elsewhere(approvals.KindCall, approvals.Answer{By: mcpClient, Call: a})
		})
}

// mcpClient names a client of MCP to the other approvers.
const mcpClient = "the MCP client"

// Capabilities are those of the others: the client's are in its calls.
func (m *mcpClients) Capabilities() json.RawMessage {
	if m.input == nil {
		return nil
	}
	return m.input.Capabilities()
}

// AnswerInput asks the client and the others at once.
func (m *mcpClients) AnswerInput(ctx context.Context, r *host.InputRequest) (map[string]json.RawMessage, error) {
	var asked []host.InputHandler
	if h := m.hooks.Load(); h != nil {
		asked = append(asked, h.Input)
	}
	if m.input != nil {
		asked = append(asked, m.input)
	}
	return first(ctx, asked, func(ctx context.Context, h host.InputHandler) (map[string]json.RawMessage, error) {
		return h.AnswerInput(ctx, r)
	}, func(map[string]json.RawMessage) error {
		return approvals.Elsewhere(approvals.KindInput, approvals.Answer{By: mcpClient})
	})
}

// first asks all at once, and returns the first answer. The others' contexts end then, with cause's error. One that
// fails, such as a client that has gone, leaves the question to the others; the error is that of the last to fail that
// could reach a person.
func first[A, T any](ctx context.Context, all []A, ask func(context.Context, A) (T, error), cause func(T) error) (
	answer T, err error) {
	type reply struct {
		answer T
		err    error
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	replies := make(chan reply, len(all))
	for _, a := range all {
		go func() {
			answer, err := ask(ctx, a)
			replies <- reply{answer, err}
		}()
	}
	err = host.ErrNoApprover
	for range all {
		r := <-replies
		if r.err == nil {
			cancel(cause(r.answer))
			return r.answer, nil
		}
		if !errors.Is(r.err, host.ErrNoApprover) || errors.Is(err, host.ErrNoApprover) {
			err = r.err
		}
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

// toolsChanged tells the clients of MCP.
func (p *program) toolsChanged(plugin string) {
	if h := p.clients.hooks.Load(); h != nil {
		h.ToolsChanged(plugin)
	}
}
