package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/host/audit"
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

	preview  *sdk.Preview
	doubted  bool      // the preview itself wants a person to be asked
	approved time.Time // when a person said yes
	answered *audit.Approval
	problem  string       // of the arguments that a person gave last
	cut      string       // the word by which the model's message says that it was cut off in this call
	edits    int          // how often a person changed the arguments
	catalog  *Catalog     // which must have the tool; nil has all
	request  *sdk.Request // once dispatched
	entry    *entry       // of the batch that the call belongs to, if any
	counted  bool         // in the budget of its session, while it is on its way
}

// A CallFunc runs a call, or one part of its route. Its error carries a code: see sdk.CodeOf.
type CallFunc func(ctx context.Context, c *Call) (*sdk.Result, error)

// A Middleware wraps one part of the route around the rest of it.
type Middleware func(next CallFunc) CallFunc

// chain puts the middlewares around f, the first outermost.
func chain(f CallFunc, around ...Middleware) CallFunc {
	for i := len(around) - 1; i >= 0; i-- {
		f = around[i](f)
	}
	return f
}

// dispatch is the end of the route: the plugin.
func (h *Host) dispatch(ctx context.Context, c *Call) (*sdk.Result, error) {
	r, err := c.toRequest()
	if err := errors.Join(err, c.fresh()); err != nil {
		return nil, err
	}
	r.Attempt, r.Events = 1, h.events(ctx, c)
	c.request = r
	c.tell(Calling)
	return c.Definition.plugin.Call(ctx, r)
}

// toRequest is the call as the plugin sees it.
func (c *Call) toRequest() (*sdk.Request, error) {
	if !filepath.IsAbs(c.Workdir) {
		return nil, fail(sdk.CodeInvalidArgs, "BadWorkdir", "the work folder %.100q is not an absolute path; nothing was run", c.Workdir)
	}
	return &sdk.Request{CallID: c.ID, Tool: c.Definition.wire, Arguments: c.Arguments, Workdir: c.Workdir, SessionID: c.SessionID}, nil
}

// tell tells the caller how far the call is.
func (c *Call) tell(s CallStatus) {
	if c.Events != nil {
		c.Events(sdk.Event{Type: sdk.EventStatus, Message: string(s)})
	}
}

// maxLogText is how many characters of a plugin's log line are kept, and as many of its attributes.
const maxLogText = 4000

// events passes a call's events on, and its log lines to the log as well. The level of a plugin's word is at most warn.
func (h *Host) events(ctx context.Context, c *Call) func(sdk.Event) {
	return func(e sdk.Event) {
		if e.Type == sdk.EventLog {
			h.log.LogAttrs(ctx, min(e.Level, slog.LevelWarn), cutText(e.Message, maxLogText), slog.String("call_id", c.ID),
				slog.String("tool", c.Tool), slog.String("attributes", cutText(string(e.Attributes), maxLogText)))
		}
		if c.Events != nil {
			c.Events(e)
		}
	}
}

// answer makes the result of whatever came back along the route.
func (c *Call) answer(r *sdk.Result, err error, took time.Duration) *Result {
	out := &Result{CallID: c.ID, Tool: c.Tool, Status: StatusOK, Error: failure(r, err), Duration: took}
	if out.Error != nil {
		out.Status = StatusError
	}
	if r != nil {
		out.Content, out.Structured, out.Truncated = r.Content, r.Structured, r.Truncated
	}
	if c.Definition != nil {
		out.Plugin = c.Definition.Plugin
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
