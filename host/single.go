package host

import (
	"context"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host/internal/queue"
	"github.com/toolhost/toolhost/sdk"
)

// A Counter keeps what limits count where the next host finds it, for hosts that make one call and end. Change calls change
// with what is kept of a session, which no other host changes meanwhile, and keeps what change left there unless that
// failed. A Counter that cannot keep counts is an error, and the call that should be counted is refused.
type Counter interface {
	Change(ctx context.Context, session string, change func(*Counted) error) error
}

// Counted is what is kept. The names are those of what a limit is set for, such as `tool "shell__exec"`.
type Counted struct {
	// Calls are how many calls the session has made.
	Calls map[string]int
	// Rates say how many calls may follow at once, those of all sessions together.
	Rates map[string]Tokens
}

// Tokens are how many calls a rate let through at a time; there are more of them later.
type Tokens struct {
	Left float64
	At   time.Time
}

// offered refuses tools that a host which makes one call cannot offer.
func (r *registry) offered(t *Tool) *sdk.Error {
	if !r.single || !t.Stateful {
		return nil
	}
	e := fail(sdk.CodeNotInCatalog, "NeedsLastingHost", "%s works with what earlier calls left in its plugin's process, and this host ends after one call, so there is nothing that it could work with; nothing was run", t.Name)
	e.Suggestion = "Reach the goal another way. Only a host that goes on, such as that of an agent, has this tool."
	return e
}

// count counts one call against the allowances of its session, or says which is used up and counts nothing.
func (h *snapshot) count(ctx context.Context, session string, of []allowance) (giveBack func(), e *sdk.Error) {
	if h.options.Counter == nil {
		s, e := h.sessions.count(session, of)
		return func() { h.sessions.giveBack(s, of) }, e
	}
	failed := h.options.Counter.Change(ctx, session, func(c *Counted) error {
		for _, a := range of {
			if c.Calls[a.of] >= a.most {
				return a.spent()
			}
		}
		for _, a := range of {
			if c.Calls == nil {
				c.Calls = map[string]int{}
			}
			c.Calls[a.of]++
		}
		return nil
	})
	if failed != nil {
		return nil, uncounted(ctx, failed)
	}
	return func() {
		err := h.options.Counter.Change(context.WithoutCancel(ctx), session, func(c *Counted) error {
			for _, a := range of {
				if c.Calls[a.of] > 0 {
					c.Calls[a.of]--
				}
			}
			return nil
		})
		if err != nil {
			h.log.Warn("a call that was not made stays counted", "error", err)
		}
	}, nil
}

// pace refuses a call that comes before the rates allow it, those of calls of earlier hosts counted.
func (h *snapshot) pace(ctx context.Context, t *Tool) *sdk.Error {
	if h.options.Counter == nil {
		return nil
	}
	var limited []*queue.Refusal // one for each rate, if that refuses the call
	for _, r := range []*queue.Refusal{
		{Of: fmt.Sprintf("tool %q", t.Name), Limits: h.options.Tools[t.Name].queueLimits().Normalize()},
		{Of: fmt.Sprintf("plugin %q", t.Plugin), Limits: h.options.Plugins[t.Plugin].queueLimits().Normalize()},
	} {
		if r.Rate > 0 {
			limited = append(limited, r)
		}
	}
	if len(limited) == 0 {
		return nil
	}
	return uncounted(ctx, h.options.Counter.Change(ctx, "", func(c *Counted) error {
		now, left := time.Now(), map[string]float64{}
		for _, r := range limited {
			left[r.Of] = c.Rates[r.Of].at(now, r.Limits)
			if pause := (1 - left[r.Of]) / r.Rate; pause > 0 {
				r.RetryAfter = time.Duration(pause * float64(time.Second))
				return overLimit(r)
			}
		}
		if c.Rates == nil {
			c.Rates = map[string]Tokens{}
		}
		for of, n := range left {
			c.Rates[of] = Tokens{n - 1, now}
		}
		return nil
	}))
}

// at gives the tokens that there are by now. A clock that was set back gives none.
func (t Tokens) at(now time.Time, l queue.Limits) float64 {
	if t.At.IsZero() {
		return float64(l.Burst)
	}
	return min(t.Left+max(now.Sub(t.At).Seconds(), 0)*l.Rate, float64(l.Burst))
}

// uncounted is the error of a call that could not be counted: over the limit, or not known to be within it.
func uncounted(ctx context.Context, err error) *sdk.Error {
	e := asError(err)
	switch {
	case err == nil:
		return nil
	case e != nil && e.Code == sdk.CodeLimit:
		return e
	case ctx.Err() != nil:
		return notBegun(ctx, "before it could be counted")
	}
	e = fail(sdk.CodeLimit, "NotCounted", "the calls of this tool are limited, and they cannot be counted: %s; nothing was run", err)
	e.Suggestion = "The user must make the file writable, or remove it if it is broken."
	return e
}
