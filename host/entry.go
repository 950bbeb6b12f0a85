package host

import (
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/sdk"
)

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
