package host

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// maxTimeout bounds every call, whatever is asked for.
const maxTimeout = time.Hour

// limit has the call wait for its turn, and gives it its deadline, which begins only then.
func (h *hosting) limit(next CallFunc) CallFunc {
	next = h.timed(next)
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		leave, e := h.turn(ctx, c)
		if e != nil {
			return nil, e
		}
		defer leave()
		together, e := c.besides(ctx)
		if e != nil {
			return nil, e
		}
		defer together()
		if e := h.pace(ctx, c.Definition); e != nil {
			return nil, e
		}
		if h.base.Err() != nil { // Close ends calls one after the other, so a turn may have passed on meanwhile
			return nil, fail(sdk.CodeCanceled, "HostClosed", "the host was closed before the call began; nothing was run")
		}
		if h.replaced() {
			return nil, errReplaced
		}
		if e := c.begin(); e != nil {
			return nil, e
		}
		return next(ctx, c)
	}
}

// turn waits for the call's turn at its plugin, and then at the host: what waits for a busy plugin keeps no other from
// running.
func (h *hosting) turn(ctx context.Context, c *Call) (leave func(), e *sdk.Error) {
	own := func() {}
	if l := h.lines[c.Definition.Plugin]; l != nil {
		t, e := l.enter(ctx, l.pair(c.Definition.Name), c.by())
		if e != nil {
			return nil, e
		}
		own = func() { l.leave(t) }
	}
	t, e := h.all.enter(ctx, h.all.pair(""), c.by())
	if e != nil {
		own()
		return nil, e
	}
	return func() { h.all.leave(t); own() }, nil
}

// timed gives the call its deadline: its timeout, less what its preview took of it.
func (h *hosting) timed(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		d := h.timeout(c)
		limited, cancel := context.WithTimeout(ctx, d-c.looked)
		defer cancel()
		result, err := next(limited, c)
		if e := asError(err); e != nil && e.Code == sdk.CodeTimeout && over(limited) && ctx.Err() == nil {
			err = tookTooLong(limited, c, d)
		}
		return result, err
	}
}

// over says whether the deadline has passed, or is about to: whoever speaks for the plugin may see it a moment before the
// timer here does.
func over(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < 10*time.Millisecond
}

// tookTooLong is what everybody says of a deadline, with its length.
func tookTooLong(ctx context.Context, c *Call, d time.Duration) *sdk.Error {
	e := sdk.EndedError(ctx)
	e.Message = c.Tool + " took longer than its limit of " + d.String() + " and was stopped"
	if c.outcome == sdk.OutcomeNotSent {
		e.Message = c.Tool + " could not begin within its limit of " + d.String() + "; nothing was run"
	}
	e.Details = sdk.Details(map[string]int64{"timeout_ms": d.Milliseconds()})
	return e
}

// timeout is what the caller asks for, else the user's setting, else the tool's own word, else the host's.
func (h *hosting) timeout(c *Call) time.Duration {
	d := firstPositive(c.Timeout, h.options.Tools[c.Tool].Timeout, c.Definition.Timeout, h.options.DefaultTimeout)
	return min(d, maxTimeout)
}
