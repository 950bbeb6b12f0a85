package host

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/toolhost/toolhost/host/internal/arguments"
	"github.com/toolhost/toolhost/host/internal/shelltool"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// BatchOptions say how CallAll runs a batch. The zero value works.
type BatchOptions struct {
	// Parallel is how many calls that only read run at once; zero is 8.
	Parallel int
	// StopOnRejection cancels, when a person says no to a call, those after it that have not begun. An Answer with
	// CancelRest does so in any case.
	StopOnRejection bool
	// MaxResultBytes is how much text the results of the batch keep together; zero leaves it to the calls. Each call gets
	// an equal share of what is left when it begins, so that those after a short result get more. What is said about a
	// cut comes on top.
	MaxResultBytes int64
}

// maxBatch is how many calls a batch may have.
const maxBatch = 128

// CallAll runs the calls that a model made in one turn. There is one result for each, in the order of the calls.
//
// Calls that only read run in parallel with their neighbors that do so too: those of tools that say that they are
// read-only, and shell commands of which the host knows that each part only reads. Every other call waits until all before
// it have ended, and runs alone; none after it begins earlier. So a model needs no argument such as wait_for_previous: it
// writes calls down in the order that it means. A call that a person or a middleware makes another, which does not only
// read, waits until none of the batch runs, and then runs alone.
//
// A batch has at most 128 calls; a larger one is refused as a whole (CodeLimit). A call with the id of an earlier one of
// the batch is refused (CodeInvalidArgs). When ctx ends, calls that have not begun are not run.
func (h *Host) CallAll(ctx context.Context, calls []Call, o BatchOptions) []*Result {
	b := h.newBatch(calls, o)
	for _, e := range b.entries {
		b.start(ctx, e)
	}
	b.running.Wait()
	results := make([]*Result, len(calls))
	for i, e := range b.entries {
		results[i] = e.result
	}
	return results
}

// CallAll is Host.CallAll for tools of the catalog.
func (c *Catalog) CallAll(ctx context.Context, calls []Call, o BatchOptions) []*Result {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].catalog = c
	}
	return c.host.CallAll(ctx, calls, o)
}

// A batch is calls that are run together.
type batch struct {
	host    *Host
	options BatchOptions
	entries []*entry
	output  purse
	slots   chan struct{} // holds a token for each call that runs in parallel
	running sync.WaitGroup
	alone   *semaphore.Weighted // held in part by calls that only read, in whole by others

	mu       sync.Mutex
	rejected *entry // the first in order, once there is one
}

func (h *Host) newBatch(calls []Call, o BatchOptions) *batch {
	b := &batch{host: h, options: o, output: purse{limited: o.MaxResultBytes > 0, left: o.MaxResultBytes, calls: len(calls)}}
	b.alone = semaphore.NewWeighted(maxBatch)
	b.slots = make(chan struct{}, min(firstPositive(o.Parallel, 8), maxBatch))
	seen := map[string]bool{}
	for i, c := range calls {
		c.ID = cmp.Or(c.ID, newID())
		c.keepArguments()
		e := &entry{batch: b, index: i, call: c}
		switch {
		case len(calls) > maxBatch:
			e.wrong = batchTooLarge(len(calls))
		case seen[c.ID]:
			e.wrong = sameID(c.ID)
		}
		seen[c.ID] = true
		b.entries = append(b.entries, e)
	}
	return b
}

func batchTooLarge(n int) *sdk.Error {
	e := fail(sdk.CodeLimit, "BatchTooLarge", "the batch has %d calls, at most %d are allowed; nothing was run", n, maxBatch)
	e.Suggestion = "Make fewer calls at once."
	e.Details = sdk.Details(limitDetails{Setting: "batch", Limit: maxBatch})
	return e
}

func sameID(id string) *sdk.Error {
	e := fail(sdk.CodeInvalidArgs, "DuplicateCallID", "an earlier call of the batch has the id %.100q too; nothing was run", id)
	e.Suggestion = "Give each call an id of its own."
	return e
}

// start runs the call when it is its turn; it may still run when start returns, if it only reads.
func (b *batch) start(ctx context.Context, e *entry) {
	if !b.host.now.Load().readsOnly(ctx, e) {
		b.running.Wait()
		e.share = b.output.take()
		e.run(ctx)
		return
	}
	b.slots <- struct{}{}
	e.share = b.output.take()
	b.running.Go(func() {
		defer func() { <-b.slots }()
		e.run(ctx)
	})
}

// readsOnly says whether the call, as its caller gave it, only reads.
func (h *snapshot) readsOnly(ctx context.Context, e *entry) bool {
	if e.tooLate(ctx, nil) != nil {
		return false
	}
	c := e.call
	h.prepare(&c)
	look := chain(func(context.Context, *Call) (*sdk.Result, error) { return nil, nil }, h.guard, h.open, h.lookup)
	if _, err := look(ctx, &c); err != nil {
		return false
	}
	object, malformed := arguments.Read(c.Arguments, c.Definition.arguments())
	if malformed != nil {
		return false
	}
	c.Arguments = object
	return c.reads()
}

// reads says whether the call only reads: by its tool's word, or, of a shell command, by what the host makes of each part.
func (c *Call) reads() bool {
	if isYes(c.Definition.Hints.ReadOnly) {
		return true
	}
	if c.Definition.Category != shelltool.Category {
		return false
	}
	j, err := commandsThatRead(c.query())
	return err == nil && j.Effect == policy.Allow
}

// besides waits until the call may run beside those of its batch that run, and keeps others waiting until leave.
func (c *Call) besides(ctx context.Context) (leave func(), e *sdk.Error) {
	if c.entry == nil {
		return func() {}, nil
	}
	n := int64(maxBatch)
	if c.reads() {
		n = 1
	}
	alone := c.entry.batch.alone
	if alone.Acquire(ctx, n) != nil {
		return nil, notBegun(ctx, "while it waited for others of its batch")
	}
	return func() { alone.Release(n) }, nil
}

// notRun answers a call that does not get as far as the route.
func (h *snapshot) notRun(ctx context.Context, c *Call, why *sdk.Error) *Result {
	refused := chain(func(context.Context, *Call) (*sdk.Result, error) { return nil, why }, h.audit, h.conclude)
	result, err := refused(ctx, h.prepare(c))
	return h.answered(c, result, err, 0)
}

// An entry is one call of a batch.
type entry struct {
	batch  *batch
	index  int
	call   Call
	wrong  *sdk.Error // why it is not run at all
	share  int64      // of the output
	result *Result

	begun  bool               // it was not too late; guarded by the batch's lock
	cancel context.CancelFunc // once started; guarded too
}

func (e *entry) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := e.batch
	if why := e.tooLate(ctx, cancel); why != nil {
		e.result = b.host.now.Load().notRun(ctx, &e.call, why)
	} else {
		e.result = b.host.call(ctx, e.call, e)
	}
	b.output.settle(e.share, e.result)
	e.end()
}

// tooLate says why the call is not to be run any more, or not at all. If it is to be, cancel is for those who reject it
// later; nil while it is not started.
func (e *entry) tooLate(ctx context.Context, cancel context.CancelFunc) *sdk.Error {
	e.batch.mu.Lock()
	defer e.batch.mu.Unlock()
	e.cancel = cancel
	switch why := e.dropped(); {
	case e.wrong != nil:
		return e.wrong
	case why != nil:
		return why
	case ctx.Err() != nil:
		return notBegun(ctx, "before it began")
	}
	return nil
}

// dropped is for those who hold the lock.
func (e *entry) dropped() *sdk.Error {
	r := e.batch.rejected
	if r == nil || e.index <= r.index {
		return nil
	}
	return fail(sdk.CodeCanceled, "Canceled", "the call was canceled because call %.100q (%.100s) was rejected; nothing was run",
		r.call.ID, r.call.Tool)
}

// begin is the last moment before the plugin gets the call. From then on nobody else's rejection matters to it.
func (c *Call) begin() *sdk.Error {
	if c.entry == nil {
		return nil
	}
	c.entry.batch.mu.Lock()
	defer c.entry.batch.mu.Unlock()
	if why := c.entry.dropped(); why != nil {
		return why
	}
	c.entry.begun = true
	return nil
}

// end tells the calls after this one when they are not to run.
func (e *entry) end() {
	b := e.batch
	b.mu.Lock()
	defer b.mu.Unlock()
	if why := e.dropped(); why != nil && !e.begun && e.result.Error != nil && e.result.Error.Code == sdk.CodeCanceled {
		e.result.Error = concluded(why, "")
	}
	if b.stops(e.result) {
		e.reject()
	}
}

// reject is for a call that a person has just said no to: if that is for the calls after it too, none of them begins, or
// is asked about, any more.
func (c *Call) reject(a Answer) {
	if c.entry == nil || !a.CancelRest && !c.entry.batch.options.StopOnRejection {
		return
	}
	c.entry.batch.mu.Lock()
	defer c.entry.batch.mu.Unlock()
	c.entry.reject()
}

// reject cancels the calls after this one. It is for those who hold the lock.
func (e *entry) reject() {
	b := e.batch
	if b.rejected != nil && b.rejected.index <= e.index {
		return
	}
	b.rejected = e
	for _, later := range b.entries[e.index+1:] {
		if later.cancel != nil && !later.begun {
			later.cancel()
		}
	}
}

// stops says whether a person's no is for the calls after it too. A plugin cannot say no in a person's name: it was not
// asked yet.
func (b *batch) stops(r *Result) bool {
	if r.Error == nil || r.Error.Code != sdk.CodeRejected || r.Attempts > 0 {
		return false
	}
	var details struct {
		CancelRest bool `json:"cancel_rest"`
	}
	_ = json.Unmarshal(r.Error.Details, &details) // else nothing is told
	return b.options.StopOnRejection || details.CancelRest
}

// A purse holds what the calls of a batch may still put out.
type purse struct {
	limited bool

	mu    sync.Mutex
	left  int64 // bytes
	calls int   // that have not taken their share yet
}

// take gives the next call its share. It is never zero.
func (p *purse) take() int64 {
	if !p.limited {
		return math.MaxInt64
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	share := max(p.left/int64(p.calls), 1)
	p.left -= share
	p.calls--
	return share
}

// settle takes back what a call has left over of its share, or what it has put out above it.
func (p *purse) settle(share int64, r *Result) {
	if !p.limited {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left += share - size(r)
}

// size counts what a model reads of a result, in bytes. Structured often is the text once more, and counts once.
func size(r *Result) (n int64) {
	for _, c := range r.Content {
		n += int64(len(c.Text) + len(c.Raw))
	}
	if string(r.Structured) != allText(r.Content) {
		n += int64(len(r.Structured))
	}
	return n
}

// share is how much of a result the call's batch leaves it.
func (c *Call) share() int64 {
	if c.entry == nil {
		return sdk.MaxResult
	}
	return c.entry.share
}
