package host

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// A Call is one use of a tool.
type Call struct {
	// ID names the call; one is made when it is empty.
	ID string
	// Tool is the full name, PLUGIN__TOOL.
	Tool string
	// Arguments is a JSON object; blank stands for {}.
	Arguments json.RawMessage
	// TextArguments says that the model wrote each argument as text: Host.Call converts them to the types that the tool's
	// input schema asks for.
	TextArguments bool
	// Truncated is why the model's message ended inside this call, such as "max_tokens". Host.Call refuses such a call, even
	// if its arguments look complete. It is empty for a complete call.
	Truncated string
	// Caller says on whose behalf it is made, for rules that name callers; it may be empty.
	Caller string
	// SessionID tells sessions apart; it may be empty.
	SessionID string
	// Workdir is the folder to work in, absolute; "" is the host's.
	Workdir string
	// Timeout is how long the tool may take, an hour at most; zero leaves it to the user's settings and the tool.
	Timeout time.Duration
	// Events receives what happens while the call runs; nil drops it. It must not block.
	Events func(sdk.Event)

	// Definition is the tool that Tool names, once the route has looked it up.
	Definition *Tool
	// Decision is what the policy said of it, once the route has come to that.
	Decision policy.Decision

	catalog *Catalog // which must have the tool; nil has all

	slots slots // what it takes up of the limits

	*life // once the host has it
}

// A CallFunc runs a call, or one part of its route. Its error carries a code: see sdk.CodeOf.
type CallFunc func(ctx context.Context, c *Call) (*sdk.Result, error)

// A Middleware wraps one part of the route around the rest of it. Those of Options see every call, also of tools that there
// are not, whose Definition is nil, and with arguments that cannot be read. What one sets before it goes on holds: another
// Tool is looked up, and catalog, rules and limits hold for that one; Arguments are checked. It may not set ID, Definition
// or Decision, nor pass on another Call: such a call is refused. What it sets after that changes neither the result nor the
// record, which are about what ran.
type Middleware func(next CallFunc) CallFunc

// chain puts the middlewares around f, the first outermost.
func chain(f CallFunc, around ...Middleware) CallFunc {
	for i := len(around) - 1; i >= 0; i-- {
		f = around[i](f)
	}
	return f
}

// dispatch is the end of the route: the plugin.
func (h *snapshot) dispatch(ctx context.Context, c *Call) (*sdk.Result, error) {
	r, err := h.toRequest(c)
	if err := errors.Join(err, c.fresh()); err != nil {
		return nil, err
	}
	r.RunID, r.Attempt, r.Events = newID(), 1, h.events(ctx, c)
	c.request = r
	c.tell(Calling)
	before := c.outcome
	c.outcome = sdk.OutcomeUnknown // if the plugin's side panics
	if isBuiltIn(c.Definition.plugin) {
		ctx = context.WithValue(ctx, catalogKey{}, c.catalog)
	}
	result, err := c.Definition.plugin.Call(ctx, r)
	h.heed(c, err)
	c.outcome = worse(before, outcomeOf(result, err))
	return c.checkOutput(checkResult(result, err))
}

// heed has a plugin listed anew that says that what was listed of it holds no more: the word of a change may be on its way
// still, or was told before anybody watched.
func (h *snapshot) heed(c *Call, err error) {
	e := asError(err)
	if e == nil || e.Name != sdk.NameListedOtherwise {
		return
	}
	if l := h.now.Load().listing(c.Definition.Plugin); l != nil && l.load().tools[c.Tool] == c.Definition {
		l.forget()
		h.tellChanged(l.name)
	}
}

// toRequest is the call as the plugin sees it, with arguments of its own.
func (h *snapshot) toRequest(c *Call) (*sdk.Request, error) {
	if !filepath.IsAbs(c.Workdir) {
		return nil, fail(sdk.CodeInvalidArgs, "BadWorkdir", "the work folder %.100q is not an absolute path; nothing was run", c.Workdir)
	}
	return &sdk.Request{CallID: c.ID, Tool: c.Definition.said.Name, Arguments: bytes.Clone(c.Arguments), Workdir: c.Workdir, SessionID: c.SessionID,
		SingleCall: h.options.SingleCall, LeaveOut: c.leaveOut, Roots: c.roots, Listed: c.Definition.said}, nil
}

// Limits of what names a call, in bytes. The wire has the same.
const (
	maxCallName = 256
	maxWorkdir  = 4096
)

// checkNames refuses names that nobody means: they would be kept, logged and sent.
func (c *Call) checkNames() *sdk.Error {
	for _, n := range []struct {
		what, name string
		most       int
	}{{"call id", c.ID, maxCallName}, {"session id", c.SessionID, maxCallName}, {"caller", c.Caller, maxCallName}, {"work folder", c.Workdir, maxWorkdir}} {
		if len(n.name) > n.most {
			return fail(sdk.CodeInvalidArgs, "NameTooLong", "the %s has %d bytes, at most %d are allowed; nothing was run", n.what, len(n.name), n.most)
		}
	}
	return nil
}

// maxLogText is how many characters of a plugin's log line are kept, and as many of its attributes.
const maxLogText = 4000

// events passes a call's events on, and its log lines to the log as well. The level of a plugin's word is at most warn.
func (h *snapshot) events(ctx context.Context, c *Call) func(sdk.Event) {
	return func(e sdk.Event) {
		if e.Type == sdk.EventLog {
			h.log.LogAttrs(ctx, min(e.Level, slog.LevelWarn), cutText(e.Message, maxLogText), slog.String("call_id", c.ID),
				slog.String("tool", c.Tool), slog.String("attributes", cutText(string(e.Attributes), maxLogText)))
		}
		c.pass(e)
	}
}

// answer makes the result of whatever came back along the route.
func (c *Call) answer(r *sdk.Result, err error, took time.Duration) *Result {
	out := &Result{CallID: c.id, Tool: c.called, Status: StatusOK, Error: failure(r, err), Duration: took}
	if out.Error != nil {
		out.Status = StatusError
	}
	if r != nil {
		out.Content, out.Structured, out.Truncated = r.Content, r.Structured, r.Truncated
	}
	if t := c.recorded().Definition; t != nil {
		out.Plugin = t.Plugin
	}
	out.Attempts, out.Generation = c.asked()
	return out
}

// asked gives how often the plugin was asked, and which of its starts was asked last.
func (c *Call) asked() (attempts, generation int) {
	if c.request == nil {
		return 0, 0
	}
	return c.request.Attempt, c.request.Generation
}

func newID() string { return rand.Text() }

// firstPositive gives the first value above zero: settings below it are taken for absent.
func firstPositive[T cmp.Ordered](values ...T) T {
	var zero T
	for _, v := range values {
		if v > zero {
			return v
		}
	}
	return zero
}
