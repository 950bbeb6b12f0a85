package host

import (
	"bytes"
	"log/slog"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

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
