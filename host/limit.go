package host

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// maxTimeout bounds every call, whatever is asked for.
const maxTimeout = time.Hour

// shed is admit for tools that are known, before the call has even a context of its own: ten thousand calls that share one
// wait for each other there. Middleware, which sees every call, comes before admit.
func (h *hosting) shed(next CallFunc) CallFunc {
	if len(h.options.Middleware) > 0 {
		return next
	}
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if t := h.listed(c); t != nil {
			if e := h.overLimits(c, t); e != nil {
				c.Definition = t // for result and record
				return nil, e
			}
		}
		return next(ctx, c)
	}
}

// listed finds the tool of a call without asking anybody; nil if that takes more, or the call is refused for another reason.
func (h *hosting) listed(c *Call) *Tool {
	plugin, _, _ := strings.Cut(c.Tool, "__")
	l := h.registry.plugins[plugin]
	if l == nil || c.checkNames() != nil || h.base.Err() != nil {
		return nil
	}
	if t := l.load().tools[c.Tool]; t != nil && c.catalog.allows(t) {
		return t
	}
	return nil
}

// admit refuses a call at once that limit would refuse, before anything is done for it.
func (h *hosting) admit(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if e := h.overLimits(c, c.Definition); e != nil {
			return nil, e
		}
		return next(ctx, c)
	}
}

// overLimits says why a call would be refused that came now. What no wait mends comes first: it is nothing to try again.
func (h *hosting) overLimits(c *Call, t *Tool) (e *sdk.Error) {
	if l := h.lines[t.Plugin]; l != nil {
		e = l.refusal(t.Name, c.by())
	}
	if e == nil {
		e = h.all.refusal(t.Plugin, c.by())
	}
	if e == nil {
		return nil
	}
	return cmp.Or(h.tooExpensive(t), h.spent(c, t), e)
}

// limit has the call wait for its turn.
func (h *hosting) limit(next CallFunc) CallFunc {
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
		return next(ctx, c)
	}
}

// start is the last look before the plugin gets the call.
func (h *hosting) start(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if h.base.Err() != nil { // Close ends calls one after the other, so a turn may have passed on meanwhile
			return nil, fail(sdk.CodeCanceled, "HostClosed", "the host was closed before the call began; nothing was run")
		}
		if h.replaced() {
			return nil, errReplaced
		}
		if ctx.Err() != nil {
			return nil, notBegun(ctx, "before it began")
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
	t, e := h.all.enter(ctx, h.all.pair(c.Definition.Plugin), c.by())
	if e != nil {
		own()
		return nil, e
	}
	return func() { h.all.leave(t); own() }, nil
}

// timed gives the call its deadline, which begins only now: its timeout, less what its preview took of it.
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
