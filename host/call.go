package host

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/sdk"
)

// MaxTimeout is the longest time that a call may take; longer timeouts are cut to it.
const MaxTimeout = time.Hour

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
	// StopReason is why the model's message ended inside this call, such as "max_tokens". Host.Call refuses such a call,
	// even if its arguments look complete. It is empty for a complete call.
	StopReason string
	// Caller says on whose behalf it is made, for rules that name callers; it may be empty.
	Caller string
	// SessionID distinguishes sessions; it may be empty.
	SessionID string
	// Workdir is the folder to work in, absolute; "" is the host's.
	Workdir string
	// Timeout is how long the tool may take, MaxTimeout at most; zero leaves it to the user's settings and the tool. Below
	// zero the call is refused.
	Timeout time.Duration
	// Waited is the part of the timeout that has passed already, such as while the caller looked for the tool.
	Waited time.Duration
	// Events receives what happens while the call runs; nil drops it. It must not block.
	Events func(sdk.Event)
	// Meta is the caller's _meta of MCP, a JSON object, for tools that pass it on; nil when there is none.
	Meta json.RawMessage
	// Capabilities are the kinds of questions of a tool that the caller answers, as MCP's client capabilities, a JSON
	// object; nil stands for those of Options.Input.
	Capabilities json.RawMessage
	// ReturnInput returns the questions of a tool in Result.InputRequired instead of asking Options.Input. The caller
	// makes the call again with its answers in InputResponses, by the keys of the questions, and with the State of the
	// questions in RequestState. Both calls are checked, decided and recorded.
	ReturnInput    bool
	InputResponses map[string]json.RawMessage
	RequestState   string

	// Definition is the tool that Tool names, set by the lookup step.
	Definition *Tool
	// Decision is the policy's, set by the enforce step.
	Decision policy.Decision

	catalog *Catalog // restricts the tools of the call; nil allows all
	slots   slots    // its places in the queues
	asked   *Call    // whose questions InputResponses answer, once the step input has asked them

	*callState // set by the host
}

// A callState is the host's own data about one call, from its entry to its result. Copies of a Call share it, so an
// embedder's changes to a Call change nothing here.
type callState struct {
	snapshot *snapshot  // that began the call
	id       string     // as the caller gave it
	called   string     // the name that the caller used
	item     *batchItem // of the call's batch, if any
	nested   *nesting   // of a nested call
	tree     *callTree  // of a top-level call with nested calls; guarded by the mutex events
	leaveOut []string   // paths that the tool must not show
	roots    []string   // folders outside the work folder that the tool may read in

	began   time.Time       // when the host received the call
	took    time.Duration   // until its record
	traced  bool            // its span is kept
	running callctx.Context // what the host cancels; see accept
	hashed  struct {
		arguments json.RawMessage // of which hash is
		hash      string
	}

	// of preview, approve and budget
	preview     *sdk.Preview
	previewTime time.Duration // counts against the call's timeout
	previewAsks bool          // the preview requests approval
	approved    time.Time     // when a person approved it
	question    *question     // that was approved
	approval    *audit.Approval
	problem     string // with the arguments that a person last gave
	edits       int    // how often a person changed the arguments
	counted     bool   // against the budget of its session, while it runs

	// of dispatch and truncate
	request   *sdk.Request // once dispatched
	outcome   sdk.Outcome  // the worst of all attempts; "" before the first
	keptFiles []string     // with the parts of the result that were cut
	wasLarge  bool         // some went to files as they came

	// the call as decided on and run, after middleware; nil before that, and without middleware
	ran          *Call
	shown        *Tool           // the Definition last given to middleware
	decision     policy.Decision // the Decision last given to middleware
	failedLookup failedLookup    // of the lookup for middleware
	passes       passes

	events    sync.Mutex // held while the caller receives an event
	progress  int        // of the last status
	ended     bool       // no event follows
	logSecond time.Time  // when logged began
	logged    int        // bytes of log lines in a second
}

// recorded is the call that records, logs and results describe: the one that was decided on and run, whatever a
// middleware has changed in its own Call since.
func (c *Call) recorded() *Call {
	return cmp.Or(c.ran, c)
}

// copyArguments gives the call its own copy of the arguments. Arguments over the limit are refused and not copied.
func (c *Call) copyArguments() {
	if len(c.Arguments) <= sdk.MaxArguments {
		c.Arguments = bytes.Clone(c.Arguments)
	}
}

// attempts returns how often the plugin was called, and the last generation that was called.
func (c *Call) attempts() (attempts, generation int) {
	if c.request == nil {
		return 0, 0
	}
	return c.request.Attempt, c.request.Generation
}

func newID() string { return rand.Text() }

// A CallStatus is the progress of a call.
type CallStatus string

// The statuses, in the order in which a call may pass them. The last three are final.
const (
	Generating       CallStatus = "generating"        // the model is still writing the call
	Generated        CallStatus = "generated"         // the call is complete
	AwaitingApproval CallStatus = "awaiting_approval" // a person is asked
	Calling          CallStatus = "calling"           // the tool runs
	Done             CallStatus = "done"              // the tool has answered
	Errored          CallStatus = "errored"           // it could not run, or it failed
	Canceled         CallStatus = "canceled"          // the caller canceled it
)

// passing are the statuses before the final ones, in their order.
var passing = []CallStatus{"", Generating, Generated, AwaitingApproval, Calling}

// setStatus reports a status to the caller. Statuses never go back, such as when a middleware runs the call a second
// time, and none is reported twice except AwaitingApproval, once per question.
func (c *Call) setStatus(s CallStatus) {
	c.events.Lock()
	defer c.events.Unlock()
	n := slices.Index(passing, s)
	final := n < 0
	if final {
		n = len(passing)
	}
	if c.ended || n < c.progress || n == c.progress && s != AwaitingApproval {
		return
	}
	c.progress, c.ended = n, final
	if c.Events != nil {
		c.Events(sdk.Event{Type: sdk.EventStatus, Message: string(s)})
	}
}

// setFinalStatus recovers from a receiver that panics, so that the result is returned anyway.
func (c *Call) setFinalStatus(log *slog.Logger, e *sdk.Error) {
	defer func() {
		if cause := recover(); cause != nil {
			logPanic(log, cause, "call_id", c.id, "tool", cutText(c.called, 100))
		}
	}()
	switch {
	case e == nil:
		c.setStatus(Done)
	case e.Code == sdk.CodeCanceled:
		c.setStatus(Canceled)
	default:
		c.setStatus(Errored)
	}
}

// countLogged adds the bytes of a line of the log, and returns those of this second.
func (c *Call) countLogged(size int) int {
	c.events.Lock()
	defer c.events.Unlock()
	if now := time.Now(); now.Sub(c.logSecond) >= time.Second {
		c.logSecond, c.logged = now, 0
	}
	c.logged += size
	return c.logged
}

// forward passes an event of the plugin on. Only the host reports statuses, and no event follows the final one.
func (c *Call) forward(e sdk.Event) {
	c.events.Lock()
	defer c.events.Unlock()
	if c.Events != nil && !c.ended && e.Type != sdk.EventStatus {
		c.Events(e)
	}
}
