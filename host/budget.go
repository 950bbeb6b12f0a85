package host

import (
	"cmp"
	"container/list"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/internal/queue"
	"github.com/toolhost/toolhost/sdk"
)

// budget refuses calls that cost too much and calls of a session over its limit, before a person is asked. A call
// that in the end does not run is not counted; one whose arguments a person changed is counted once.
func (h *snapshot) budget(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (result *sdk.Result, err error) {
		if e := h.tooExpensive(c.Definition); e != nil {
			return nil, e
		}
		of := h.allowances(c.Definition)
		if of == nil || c.counted {
			return next(ctx, c)
		}
		giveBack, e := h.count(ctx, c.SessionID, of)
		if e != nil {
			return nil, e
		}
		c.counted = true
		earlier := c.request
		defer func() {
			if c.counted = false; c.request == earlier || c.outcome == sdk.OutcomeNotSent {
				giveBack()
			}
		}()
		return next(ctx, c)
	}
}

// tiers are the cost tiers, in rising order.
var tiers = []sdk.CostTier{sdk.Free, sdk.Cheap, sdk.Expensive}

// tier is the tool's cost tier; Cheap if it states none.
func (t *Tool) tier() sdk.CostTier {
	return cmp.Or(t.CostTier, sdk.Cheap)
}

func (t *Tool) costsMore(limit sdk.CostTier) bool {
	return slices.Index(tiers, t.tier()) > slices.Index(tiers, limit)
}

func (h *snapshot) tooExpensive(t *Tool) *sdk.Error {
	limit := h.options.MaxCostTier
	if limit == "" || !t.costsMore(limit) {
		return nil
	}
	cost := "is " + string(t.CostTier)
	if t.CostTier == "" {
		cost = "has no cost tier, and so counts as " + string(t.tier())
	}
	e := advise(fail(sdk.CodeLimit, "TooExpensive", "%s %s; calls may be %s at most (max_cost_tier); nothing was run",
		t.Name, cost, limit), "Use a tool that costs less, or ask the user to raise the limit.")
	e.Details = sdk.Details(limitDetails{Setting: "max_cost_tier", Limit: limit})
	return e
}

type allowance struct {
	of   string // a tool or a plugin, as errors name it
	most int
}

func (h *snapshot) allowances(t *Tool) (all []allowance) {
	if n := h.options.Tools[t.Name].MaxCalls; n > 0 {
		all = append(all, allowance{fmt.Sprintf("tool %q", t.Name), n})
	}
	if n := h.options.Plugins[t.Plugin].MaxCalls; n > 0 {
		all = append(all, allowance{fmt.Sprintf("plugin %q", t.Plugin), n})
	}
	return all
}

func (a allowance) spent() *sdk.Error {
	return limitError("BudgetSpent", limitDetails{Setting: "max_calls", Of: a.of, Limit: a.most},
		fmt.Sprintf("a session may make %d calls, and this one has", a.most),
		"Go on without it, or ask the user to raise the limit.")
}

// spent refuses a call whose session has used up its calls, without counting it.
func (h *snapshot) spent(c *Call, t *Tool) *sdk.Error {
	of := h.allowances(t)
	if len(of) == 0 || c.counted {
		return nil
	}
	h.sessions.mu.Lock()
	defer h.sessions.mu.Unlock()
	e := h.sessions.byID[sha256.Sum256([]byte(c.SessionID))]
	for _, a := range of {
		if e != nil && e.Value.(*session).calls[a.of] >= a.most {
			return a.spent()
		}
	}
	return nil
}

// count counts one call against the allowances of its session. If one is used up, it returns an error and counts
// nothing.
func (h *snapshot) count(ctx context.Context, session string, of []allowance) (giveBack func(), e *sdk.Error) {
	counter := h.options.Counter
	if counter == nil {
		counter = &h.sessions
	}
	failed := counter.Change(ctx, session, func(c *Counted) error {
		for _, a := range of {
			if c.Calls[a.of] >= a.most {
				return a.spent()
			}
		}
		if c.Calls == nil {
			c.Calls = map[string]int{}
		}
		for _, a := range of {
			c.Calls[a.of]++
		}
		return nil
	})
	if failed != nil {
		return nil, notCounted(ctx, failed)
	}
	return func() {
		err := counter.Change(context.WithoutCancel(ctx), session, func(c *Counted) error {
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

const maxSessions = 10_000 // the most sessions whose calls are counted

// sessions count calls per session. Over the limit, the session that has not called for longest is forgotten.
type sessions struct {
	mu     sync.Mutex
	byID   map[sessionID]*list.Element
	recent list.List // of *session, the most recent caller first
}

// A sessionID is a hash: callers' ids may be long.
type sessionID [sha256.Size]byte

type session struct {
	id    sessionID
	calls map[string]int // by allowance
}

// Change is that of a Counter for the time of the host, without rates: the queues have them.
func (s *sessions) Change(_ context.Context, id string, change func(*Counted) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return change(&Counted{Calls: s.find(sha256.Sum256([]byte(id))).calls})
}

// find returns the session and marks it as the most recent one.
func (s *sessions) find(id sessionID) *session {
	if e := s.byID[id]; e != nil {
		s.recent.MoveToFront(e)
		return e.Value.(*session)
	}
	if last := s.recent.Back(); len(s.byID) >= maxSessions {
		delete(s.byID, s.recent.Remove(last).(*session).id)
	}
	caller := &session{id: id, calls: map[string]int{}}
	s.byID[id] = s.recent.PushFront(caller)
	return caller
}

// A Counter persists the counts of limits between hosts that each make one call. Change calls change
// with the stored counts of a session, which no other host changes meanwhile, and stores the result unless change
// failed. A Counter that cannot store counts returns an error, and the call is refused.
type Counter interface {
	Change(ctx context.Context, session string, change func(*Counted) error) error
}

// Counted is the content of a Counter. Its keys name the limits' subjects, such as `tool "shell__exec"`.
type Counted struct {
	// Calls is the number of calls that the session has made.
	Calls map[string]int
	// Rates are the tokens of each rate limit, shared by all sessions.
	Rates map[string]Tokens
}

// Tokens are the calls that a rate allowed at a point in time; more accrue later.
type Tokens struct {
	Left float64
	At   time.Time
}

// at returns the tokens at a later time. A clock that was set back adds none.
func (t Tokens) at(now time.Time, l queue.Limits) float64 {
	if t.At.IsZero() {
		return float64(l.Burst)
	}
	return min(t.Left+max(now.Sub(t.At).Seconds(), 0)*l.Rate, float64(l.Burst))
}

// pace refuses a call that exceeds a rate, counting calls of earlier hosts too.
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
	return notCounted(ctx, h.options.Counter.Change(ctx, "", func(c *Counted) error {
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

// notCounted is the error of a call that is over a limit, or not known to be within it; nil if err is.
func notCounted(ctx context.Context, err error) *sdk.Error {
	e := asError(err)
	switch {
	case err == nil:
		return nil
	case e != nil && e.Code == sdk.CodeLimit:
		return e
	case ctx.Err() != nil:
		return notBegun(ctx, "before it could be counted")
	}
	return advise(fail(sdk.CodeLimit, "NotCounted",
		"the calls of this tool are limited, and they cannot be counted: %s; nothing was run", err),
		"The user must make the file writable, or remove it if it is broken.")
}
