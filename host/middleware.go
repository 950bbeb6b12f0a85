package host

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/internal/arguments"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/sdk"
)

// beforeMiddleware gives middleware its own Call before the tool is looked up: with its tool if it is known, and
// arguments without the wrappers that models add. Unknown names, and arguments that are not JSON, are left to later
// steps.
func (h *snapshot) beforeMiddleware(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if e := c.check(); e != nil {
			return nil, e
		}
		given := *c
		given.Definition = h.findForMiddleware(ctx, c)
		if object, e := arguments.Read(c.Arguments, nil); e == nil {
			given.Arguments = object
		}
		given.Arguments = bytes.Clone(given.Arguments)
		c.shown, c.passes.turn = given.Definition, make(chan struct{}, 1)
		defer c.passes.end()
		return next(context.WithValue(ctx, stateKey{}, c.callState), &given)
	}
}

type stateKey struct{}

// A failedLookup is why the lookup for middleware found no tool, so that the lookup step does not list the plugin
// again.
type failedLookup struct {
	by   *snapshot
	tool string
	err  error
}

func (h *snapshot) findForMiddleware(ctx context.Context, c *Call) *Tool {
	plugin, _, _ := strings.Cut(c.Tool, "__")
	l := h.registry.plugins[plugin]
	if l == nil || !c.catalog.allowsName(c.Tool) {
		return nil
	}
	own, err := h.registry.toolsFor(ctx, c, l)
	if err != nil {
		c.failedLookup = failedLookup{h, c.Tool, err}
		return nil
	}
	if t := own.tools[c.Tool]; t != nil && c.catalog.allows(t) {
		return t
	}
	return nil
}

// afterMiddleware gives the later steps a Call that no middleware can change after its checks. Changes by
// middleware take effect, except those that would make the record untrue.
func (h *snapshot) afterMiddleware(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if given, known := ctx.Value(stateKey{}).(*callState); c.callState == nil || known && given != c.callState {
			return nil, errOtherCall()
		}
		pass, e := c.passes.begin(ctx)
		if e != nil {
			return nil, e
		}
		defer func() { <-c.passes.turn }()
		defer pass.Cancel()
		if e := h.checkMiddleware(pass, c); e != nil {
			return nil, e
		}
		own := *c
		own.Definition, own.Decision = nil, policy.Decision{}
		c.forgetEarlierRun()
		own.copyArguments()
		h.fillIn(&own)
		defer func() {
			c.ran, c.shown, c.decision = &own, own.Definition, own.Decision
			c.Definition, c.Decision, c.Arguments = own.Definition, own.Decision, bytes.Clone(own.Arguments)
		}()
		return next(pass, &own)
	}
}

// forgetEarlierRun drops what belongs to the call as a middleware has passed it on before. An approval lets it run
// once: if a plugin may have received it, the person is asked again.
func (c *Call) forgetEarlierRun() {
	c.approval, c.problem = nil, ""
	if c.outcome != "" && c.outcome != sdk.OutcomeNotSent {
		c.question = nil
	}
}

// passes are the runs of what is behind the middleware: one at a time, and none after the middleware has returned. It
// may call next in a goroutine that it does not wait for.
type passes struct {
	turn chan struct{} // holds a token while one runs

	mu      sync.Mutex
	over    bool
	running *callctx.Context // of the last one
}

// begin waits for the end of another pass. The caller takes the token back.
func (p *passes) begin(ctx context.Context) (*callctx.Context, *sdk.Error) {
	select {
	case p.turn <- struct{}{}:
	default:
		select {
		case p.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, notBegun(ctx, "while an earlier next of its middleware ran")
		}
	}
	own := &callctx.Context{}
	own.Init(ctx, time.Time{})
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		<-p.turn
		return nil, errOtherCall()
	}
	p.running = own
	return own, nil
}

// end cancels the running pass, and waits for it.
func (p *passes) end() {
	p.mu.Lock()
	p.over = true
	if p.running != nil {
		p.running.Cancel()
	}
	p.mu.Unlock()
	p.turn <- struct{}{}
	<-p.turn
}

func badMiddleware(what, suggestion string) *sdk.Error {
	return advise(fail(sdk.CodeInternal, "BadMiddleware",
		"a middleware of this host (Options.Middleware) %s; nothing was run", what), suggestion)
}

func errOtherCall() *sdk.Error {
	return badMiddleware("passed on another Call than it was given, or one that has ended",
		"Change the fields of the Call that it is given.")
}

// checkMiddleware refuses changes that a middleware may not make.
func (h *snapshot) checkMiddleware(ctx context.Context, c *Call) *sdk.Error {
	switch {
	case c.ID != c.id:
		return badMiddleware("changed the ID of a call, by which its caller knows the result", "Do not change ID.")
	case !reflect.DeepEqual(c.Decision, c.decision):
		return badMiddleware("set the Decision of a call, which is the policy's",
			"Return an error to refuse a call; to allow one, add a rule.")
	case c.Definition != nil && c.Definition != c.shown && c.Definition != h.findForMiddleware(ctx, c):
		return badMiddleware("set the Definition of a call", "Set Tool: the host looks it up.")
	}
	return nil
}
