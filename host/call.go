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
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/wire/client"
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
	if e == nil || e.Name != client.NameListedOtherwise {
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

// A CallStatus says how far a call has come in its life.
type CallStatus string

// The statuses, in the order in which a call may take them. The last three are ends.
const (
	Generating       CallStatus = "generating"        // the model is still writing it
	Generated        CallStatus = "generated"         // it is complete
	AwaitingApproval CallStatus = "awaiting_approval" // a person is asked
	Calling          CallStatus = "calling"           // the tool runs
	Done             CallStatus = "done"              // the tool has answered
	Errored          CallStatus = "errored"           // it cannot be run, or failed
	Canceled         CallStatus = "canceled"          // the caller gave up
)

// ending is the last status of a call.
func ending(e *sdk.Error) CallStatus {
	switch {
	case e == nil:
		return Done
	case e.Code == sdk.CodeCanceled:
		return Canceled
	}
	return Errored
}

// A life is what the host itself knows of one call, from its entry to its result. Copies of a Call share it, so what an
// embedder does to a Call changes nothing here.
type life struct {
	leaveOut []string // paths that the tool must not show
	roots    []string // folders outside of the work folder that it may read in
	id       string   // as the caller gave it
	called   string   // the name that the caller used
	entry    *entry   // of the batch that the call belongs to, if any

	preview  *sdk.Preview
	looked   time.Duration // how long the preview took, which counts against the call's timeout
	doubted  bool          // the preview itself wants a person to be asked
	approved time.Time     // when a person said yes
	consent  consent       // the question that this was the answer to
	answered *audit.Approval
	problem  string       // of the arguments that a person gave last
	edits    int          // how often a person changed the arguments
	request  *sdk.Request // once dispatched
	outcome  sdk.Outcome  // of what was dispatched so far; "" before
	counted  bool         // in the budget of its session, while it is on its way

	ran      *Call           // behind the middleware: what was judged, and run; nil before, and without middleware
	shown    *Tool           // the Definition that middleware was given last
	decision policy.Decision // likewise
	unlisted unlisted        // what a first lookup, for the middleware, has come to

	telling sync.Mutex // held while the caller receives an event
	rank    int        // of the last status word
	ended   bool       // no event follows
}

// ranks are the status words in the order of a call's life.
var ranks = map[CallStatus]int{Generating: 1, Generated: 2, AwaitingApproval: 3, Calling: 4, Done: 5, Errored: 5, Canceled: 5}

// tell gives the caller a status word. Words come in the order of a call's life: one that would go back, as when a
// middleware runs the call a second time, is left out, and so is Calling twice. Several questions are AwaitingApproval each.
func (c *Call) tell(s CallStatus) {
	c.telling.Lock()
	defer c.telling.Unlock()
	r := ranks[s]
	if c.ended || r < c.rank || r == c.rank && s != AwaitingApproval {
		return
	}
	c.rank, c.ended = r, r == ranks[Done]
	if c.Events != nil {
		c.Events(sdk.Event{Type: sdk.EventStatus, Message: string(s)})
	}
}

// pass gives the caller an event of the plugin. Status words are the host's alone, and nothing follows the last of them.
func (c *Call) pass(e sdk.Event) {
	c.telling.Lock()
	defer c.telling.Unlock()
	if c.Events != nil && !c.ended && e.Type != sdk.EventStatus {
		c.Events(e)
	}
}

// tellEnd gives the caller the last word. A receiver that panics has it all the same, and costs nobody the result.
func (c *Call) tellEnd(log *slog.Logger, e *sdk.Error) {
	defer func() {
		if cause := recover(); cause != nil {
			logPanic(log, cause, "call_id", c.id, "tool", cutText(c.called, 100))
		}
	}()
	c.tell(ending(e))
}

// recorded is the call that records, logs and results are about: what was judged and run, whatever a middleware has made of
// its own Call since.
func (c *Call) recorded() *Call {
	if c.ran != nil {
		return c.ran
	}
	return c
}

// keepArguments makes the call's arguments its own. Those that are too large to be looked at are not copied.
func (c *Call) keepArguments() {
	if len(c.Arguments) <= sdk.MaxArguments {
		c.Arguments = bytes.Clone(c.Arguments)
	}
}
