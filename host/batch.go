package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/toolhost/toolhost/host/internal/arguments"
	"github.com/toolhost/toolhost/host/internal/shelltool"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callback"
	"github.com/toolhost/toolhost/sdk"
)

// BatchOptions configure CallAll. The zero value works.
type BatchOptions struct {
	// Parallel is how many read-only calls run at once; zero is 8.
	Parallel int
	// StopOnRejection cancels, when a person rejects a call, the later ones that have not begun. An Answer with
	// CancelRest does so in any case.
	StopOnRejection bool
	// MaxResultBytes is how much text all results of the batch may have together; zero sets no common limit. Each call
	// gets an equal share of what is left when it begins, so that later calls get more after a short result. Notes
	// about what was cut are not counted.
	MaxResultBytes int64
	// Context returns the context of a call, by its place in the batch, derived from the batch's: with its end the call is
	// canceled, and the others go on. Nil uses the batch's for all, as a nil result does for one call.
	Context func(ctx context.Context, i int) context.Context
	// Ended is called once for each call as it ends, also for one that does not run, with its place in the batch and its
	// result. One call of it has returned before the next begins, and all before CallAll returns; while it runs, calls
	// that wait for this one do not begin.
	Ended func(i int, r *Result)
}

const maxBatch = 128 // the most calls that a batch may have

// CallAll runs the calls that a model made in one turn. It returns one result for each, in the order of the calls.
// Neighboring calls that only read run in parallel: those of tools with the read-only hint, and shell commands whose
// every part is known to only read. Every other call waits until all earlier ones have ended and runs alone; later
// ones wait for it. So a model needs no argument such as wait_for_previous: the order of its calls is enough. If a
// person or a middleware changes a call so that it no longer only reads, it waits until no other call of the batch
// runs, and then runs alone.
// A batch has at most 128 calls; a larger one is refused as a whole (CodeLimit). A call with the id of an earlier one
// of the batch is refused (CodeInvalidArgs). When ctx ends, calls that have not begun are not run.
func (h *Host) CallAll(ctx context.Context, calls []Call, o BatchOptions) []*Result {
	b := &batch{host: h, options: o,
		budget: outputBudget{limited: o.MaxResultBytes > 0, left: o.MaxResultBytes, calls: len(calls)},
		alone:  semaphore.NewWeighted(maxBatch), parallel: make(chan struct{}, min(firstPositive(o.Parallel, 8), maxBatch))}
	seen := map[string]bool{}
	for i, c := range calls {
		c.ID = cmp.Or(c.ID, newID())
		c.copyArguments()
		item := &batchItem{batch: b, index: i, call: c}
		switch {
		case len(calls) > maxBatch:
			item.refusal = advise(fail(sdk.CodeLimit, "BatchTooLarge", "the batch has %d calls, at most %d are allowed; "+
				"nothing was run", len(calls), maxBatch), fmt.Sprintf("Make at most %d calls in one turn.", maxBatch))
			item.refusal.Details = sdk.Details(limitDetails{Setting: "batch", Limit: maxBatch})
		case seen[c.ID]:
			item.refusal = advise(fail(sdk.CodeInvalidArgs, "DuplicateCallID",
				"an earlier call of the batch has the id %.100q too; nothing was run", c.ID), "Give each call an id of its own.")
		}
		seen[c.ID] = true
		b.items = append(b.items, item)
	}
	for _, item := range b.items {
		item.start(ctx)
	}
	b.running.Wait()
	results := make([]*Result, len(calls))
	for i, item := range b.items {
		results[i] = item.result
	}
	return results
}

// CallAll runs a batch as Host.CallAll does, with the tools of the catalog.
func (c *Catalog) CallAll(ctx context.Context, calls []Call, o BatchOptions) []*Result {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].catalog = c
	}
	return c.host.CallAll(ctx, calls, o)
}

type batch struct {
	host     *Host
	options  BatchOptions
	items    []*batchItem
	budget   outputBudget
	parallel chan struct{} // holds a token for each call that runs in parallel
	running  sync.WaitGroup
	alone    *semaphore.Weighted // shared by calls that only read, held exclusively by others

	mu       sync.Mutex
	rejected *batchItem // the first in order, if any

	ending sync.Mutex // held while Ended runs
}

type batchItem struct {
	batch   *batch
	index   int
	call    Call
	refusal *sdk.Error // why the call does not run at all
	share   int64      // of the output, in bytes
	result  *Result

	begun  bool               // the plugin has received it; guarded by the batch's lock
	cancel context.CancelFunc // once started; guarded by the batch's lock
}

// start waits for the call's turn and runs it. A read-only call may still be running when start returns.
func (i *batchItem) start(ctx context.Context) {
	b := i.batch
	if b.options.Context != nil {
		all := ctx
		callback.Run(b.host.logger(), "BatchOptions.Context", func() { ctx = b.options.Context(all, i.index) })
		ctx = cmp.Or(ctx, all)
	}
	if !b.host.current.Load().onlyReads(ctx, i) {
		b.running.Wait()
		i.share = b.budget.take()
		i.run(ctx)
		return
	}
	b.parallel <- struct{}{}
	i.share = b.budget.take()
	b.running.Go(func() {
		defer func() { <-b.parallel }()
		i.run(ctx)
	})
}

// onlyReads reports whether the call, with its original arguments, only reads.
func (h *snapshot) onlyReads(ctx context.Context, i *batchItem) bool {
	if i.tooLate(ctx, nil) != nil {
		return false
	}
	c := h.prepare(i.call)
	look := wrap(func(context.Context, *Call) (*sdk.Result, error) { return nil, nil }, h.recoverPanics, h.accept,
		h.lookup)
	if _, err := look(ctx, c); err != nil {
		return false
	}
	object, malformed := arguments.Read(c.Arguments, c.Definition.arguments())
	if malformed != nil {
		return false
	}
	c.Arguments = object
	return c.onlyReads()
}

// onlyReads uses the tool's hint or, for a shell command, the judgement of each of its parts.
func (c *Call) onlyReads() bool {
	if isTrue(c.Definition.Hints.ReadOnly) {
		return true
	}
	if c.Definition.Category != shelltool.Category {
		return false
	}
	j, err := judgeReading(c.query())
	return err == nil && j.Effect == policy.Allow
}

// awaitBatch waits until the call may run beside the running calls of its batch. Conflicting calls wait until release
// is called.
func (c *Call) awaitBatch(ctx context.Context) (release func(), e *sdk.Error) {
	if c.item == nil {
		return func() {}, nil
	}
	n := int64(maxBatch)
	if c.onlyReads() {
		n = 1
	}
	alone := c.item.batch.alone
	if alone.Acquire(ctx, n) != nil {
		return nil, notBegun(ctx, "while it waited for others of its batch")
	}
	return func() { alone.Release(n) }, nil
}

func (i *batchItem) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := i.batch
	if why := i.tooLate(ctx, cancel); why != nil {
		now := b.host.current.Load()
		c := now.prepare(i.call)
		refuse := wrap(func(context.Context, *Call) (*sdk.Result, error) { return nil, why }, now.telemetry, now.audit,
			now.outcome)
		result, err := refuse(ctx, c)
		i.result = now.finish(c, result, err)
	} else {
		i.result = b.host.call(ctx, i.call, i, nil)
	}
	b.budget.settle(i.share, i.result)
	i.end()
	if b.options.Ended != nil {
		b.ending.Lock()
		defer b.ending.Unlock()
		callback.Run(b.host.logger(), "BatchOptions.Ended", func() { b.options.Ended(i.index, i.result) })
	}
}

// tooLate returns why the call must not run, nil if it may. It stores cancel, with which a rejection of an earlier call
// ends this one; nil while the call is not started.
func (i *batchItem) tooLate(ctx context.Context, cancel context.CancelFunc) *sdk.Error {
	i.batch.mu.Lock()
	defer i.batch.mu.Unlock()
	i.cancel = cancel
	switch why := i.canceled(); {
	case i.refusal != nil:
		return i.refusal
	case why != nil:
		return why
	case ctx.Err() != nil:
		return notBegun(ctx, "before it began")
	}
	return nil
}

// canceled is the error of a call after a rejected one. Callers of canceled and reject hold the lock.
func (i *batchItem) canceled() *sdk.Error {
	r := i.batch.rejected
	if r == nil || i.index <= r.index {
		return nil
	}
	return fail(sdk.CodeCanceled, "Canceled",
		"the call was canceled because call %.100q (%.100s) was rejected; nothing was run", r.call.ID, r.call.Tool)
}

// reject cancels the calls after this one.
func (i *batchItem) reject() {
	b := i.batch
	if b.rejected != nil && b.rejected.index <= i.index {
		return
	}
	b.rejected = i
	for _, later := range b.items[i.index+1:] {
		if later.cancel != nil && !later.begun {
			later.cancel()
		}
	}
}

// begin is called before the plugin receives the call: from then on a rejection of another call does not cancel it.
func (c *Call) begin() *sdk.Error {
	if c.item == nil {
		return nil
	}
	c.item.batch.mu.Lock()
	defer c.item.batch.mu.Unlock()
	if why := c.item.canceled(); why != nil {
		return why
	}
	c.item.begun = true
	return nil
}

// cancelRest is called when a person has rejected the call. If that covers later calls, none of them begins or is
// asked about.
func (c *Call) cancelRest(a Answer) {
	if c.item == nil || !a.CancelRest && !c.item.batch.options.StopOnRejection {
		return
	}
	c.item.batch.mu.Lock()
	defer c.item.batch.mu.Unlock()
	c.item.reject()
}

// end cancels the later calls if the result is a rejection. Only people reject: a call that reached its plugin was
// not rejected, whatever the plugin returns.
func (i *batchItem) end() {
	b, r := i.batch, i.result
	b.mu.Lock()
	defer b.mu.Unlock()
	if why := i.canceled(); why != nil && !i.begun && r.Error != nil && r.Error.Code == sdk.CodeCanceled {
		r.Error = setOutcome(why, "")
	}
	if r.Error == nil || r.Error.Code != sdk.CodeRejected || r.Attempts > 0 {
		return
	}
	var details struct {
		CancelRest bool `json:"cancel_rest"`
	}
	_ = json.Unmarshal(r.Error.Details, &details) // invalid details say nothing
	if b.options.StopOnRejection || details.CancelRest {
		i.reject()
	}
}

// An outputBudget is the number of bytes that the remaining calls of a batch may return.
type outputBudget struct {
	limited bool

	mu    sync.Mutex
	left  int64 // bytes
	calls int   // calls that have not taken their share yet
}

// take returns the next call's share, at least one byte.
func (b *outputBudget) take() int64 {
	if !b.limited {
		return math.MaxInt64
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	share := max(b.left/int64(b.calls), 1)
	b.left -= share
	b.calls--
	return share
}

// settle returns the unused part of a call's share to the budget, or takes the excess from it. A structured result
// that repeats the text counts once.
func (b *outputBudget) settle(share int64, r *Result) {
	if !b.limited {
		return
	}
	var size int64
	for _, c := range r.Content {
		size += int64(len(c.Text) + len(c.Raw) + len(c.Extra))
	}
	if string(r.Structured) != joinTexts(r.Content) {
		size += int64(len(r.Structured))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += share - size
}
