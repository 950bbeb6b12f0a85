package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/internal/queue"
	"github.com/toolhost/toolhost/sdk"
)

// slots are a call's waiters in the queues: its plugin's, if that has limits, and the host's. The call joins at its
// first check, so that a call over a limit is refused before any work is done. It leaves on every return, and before
// anything slow, such as a preview or a question to a person; it joins again at the step limit.
type slots struct{ plugin, host *queue.Waiter }

// leaveQueues gives up the call's places; calling it again does nothing.
func (c *Call) leaveQueues() {
	if c.slots.host != nil {
		c.slots.host.Leave()
	}
	if c.slots.plugin != nil {
		c.slots.plugin.Leave()
	}
	c.slots = slots{}
}

func (c *Call) queueCaller() queue.Caller { return queue.Caller{Name: c.Caller, Session: c.SessionID} }

// join adds the call to the queues, unless it is in them. It does not wait.
func (h *snapshot) join(c *Call, t *Tool) *sdk.Error {
	if c.slots != (slots{}) {
		return nil
	}
	refusal := h.joinQueues(c, t)
	if p := c.slots.plugin; refusal == nil && p != nil && !p.Immediate() && c.waitsForItself(t.Plugin) {
		c.leaveQueues()
		return waitsForItself(c, t)
	}
	if refusal == nil {
		return nil
	}
	c.leaveQueues()
	return cmp.Or(h.tooExpensive(t), h.spent(c, t), overLimit(refusal)) // first the checks that a retry cannot pass
}

func (h *snapshot) joinQueues(c *Call, t *Tool) (refusal *queue.Refusal) {
	if q := h.queues[t.Plugin]; q != nil {
		if c.slots.plugin, refusal = q.Join(t.Name, c.queueCaller()); refusal != nil {
			return refusal
		}
		if !c.slots.plugin.Immediate() { // a call that waits for its plugin takes no slot of the host
			return h.callQueue.Check(t.Plugin, c.queueCaller())
		}
	}
	if c.nested != nil { // the slot of the host is that of the call that it is part of
		return nil
	}
	c.slots.host, refusal = h.callQueue.Join(t.Plugin, c.queueCaller())
	return refusal
}

// Queued is how many calls wait in the queues of the host and of plugins for a slot.
func (h *Host) Queued() int {
	_, queued := h.callQueue.Counts()
	for _, q := range h.current.Load().queues {
		_, waiting := q.Counts()
		queued += waiting
	}
	return queued
}

// admitEarly does the work of admit for listed tools before the call gets its own context: ten thousand calls
// that share one context contend for its lock. When there is middleware, which sees every call, only admit does it.
func (h *snapshot) admitEarly(next CallFunc) CallFunc {
	if len(h.options.Middleware) > 0 {
		return next
	}
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if t := h.knownTool(c); t != nil {
			if e := h.join(c, t); e != nil {
				c.Definition = t // for result and record
				return nil, e
			}
			defer c.leaveQueues()
		}
		return next(ctx, c)
	}
}

// knownTool returns the tool of a call without asking its plugin; nil if the plugin must be asked, or the call is
// refused for another reason.
func (h *snapshot) knownTool(c *Call) *Tool {
	plugin, _, _ := strings.Cut(c.Tool, "__")
	l := h.registry.plugins[plugin]
	if l == nil || c.check() != nil || h.base.Err() != nil {
		return nil
	}
	if t := l.load().tools[c.Tool]; t != nil && c.catalog.allows(t) {
		return t
	}
	return nil
}

// admit refuses a call over a limit before anything is done for it.
func (h *snapshot) admit(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if e := h.join(c, c.Definition); e != nil {
			return nil, e
		}
		defer c.leaveQueues()
		return next(ctx, c)
	}
}

// limit makes the call wait for its slots.
func (h *snapshot) limit(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		defer c.leaveQueues()
		if e := h.wait(ctx, c); e != nil {
			return nil, e
		}
		releaseBatch, e := c.awaitBatch(ctx)
		if e != nil {
			return nil, e
		}
		defer releaseBatch()
		if e := h.pace(ctx, c.Definition); e != nil {
			return nil, e
		}
		return next(ctx, c)
	}
}

// wait waits for a slot of the call's plugin and then of the host.
func (h *snapshot) wait(ctx context.Context, c *Call) (e *sdk.Error) {
	if e := h.join(c, c.Definition); e != nil {
		return e
	}
	if p, q := c.slots.plugin, c.slots.host; p != nil && !p.Immediate() || q != nil && !q.Immediate() {
		var waiting stageRun
		ctx, waiting = c.enter(ctx, stageQueue)
		defer func() { waiting.end(e, 0) }()
	}
	if p := c.slots.plugin; p != nil {
		if err := p.Wait(ctx); err != nil {
			return notGranted(ctx, err)
		}
	}
	if c.nested != nil {
		return nil
	}
	if c.slots.host == nil {
		var refusal *queue.Refusal
		if c.slots.host, refusal = h.callQueue.Join(c.Definition.Plugin, c.queueCaller()); refusal != nil {
			return overLimit(refusal)
		}
	}
	if err := c.slots.host.Wait(ctx); err != nil {
		return notGranted(ctx, err)
	}
	return nil
}

func waitsForItself(c *Call, t *Tool) *sdk.Error {
	return advise(fail(sdk.CodeLimit, "WaitsForItself", "%s is called by a call of plugin %q, which has reached its "+
		"limit of calls at once, so that each would wait for the other; nothing was run", c.Tool, t.Plugin),
		"The user can raise the plugin's or the tool's concurrency.")
}

func notGranted(ctx context.Context, err error) *sdk.Error {
	if refusal, ok := errors.AsType[*queue.Refusal](err); ok {
		return overLimit(refusal)
	}
	return notBegun(ctx, "while it waited in the queue")
}

type limitDetails struct {
	Setting string `json:"setting"`      // by its name in config.hcl
	Of      string `json:"of,omitempty"` // the tool, plugin or host that has it
	Limit   any    `json:"limit"`
	// RetryAfter is when a retry makes sense, in milliseconds; exact for a rate, an estimate for a queue.
	RetryAfter int64 `json:"retry_after_ms,omitempty"`
}

// limitError is the error of a call over a limit: it names the setting, the reason, and what to do.
func limitError(name string, d limitDetails, why, suggestion string) *sdk.Error {
	e := advise(fail(sdk.CodeLimit, name, "%s (%s of %s); nothing was run", why, d.Setting, d.Of), suggestion)
	e.Details = sdk.Details(d)
	return e
}

// rateText writes a rate in calls a second with the unit that a person would use, so that 1/h is not 0.000277778.
func rateText(rate float64) string {
	n, unit := rate, "a second"
	switch least := 1 - 1e-9; {
	case n >= least:
	case n*60 >= least:
		n, unit = n*60, "a minute"
	default:
		n, unit = n*3600, "an hour"
	}
	text := fmt.Sprintf("%.6g", n)
	if text == "1" {
		return "1 call " + unit
	}
	return text + " calls " + unit
}

func overLimit(r *queue.Refusal) *sdk.Error {
	retry := int64(math.Ceil(float64(r.RetryAfter) / float64(time.Millisecond)))
	const later = "Try again when the running calls have ended."
	var e *sdk.Error
	switch r.Reason {
	case queue.RateLimited:
		e = limitError("RateLimited", limitDetails{"rate", r.Of, r.Rate, retry},
			fmt.Sprintf("there may be %s, %d at once, and there were as many", rateText(r.Rate), r.Burst),
			fmt.Sprintf("Call again in %s.", time.Duration(retry)*time.Millisecond))
	case queue.Full:
		places := "none"
		if r.Queue > 0 {
			places = fmt.Sprint(r.Queue)
		}
		e = limitError("QueueFull", limitDetails{"queue", r.Of, r.Queue, retry},
			fmt.Sprintf("the queue is full: at most %d calls run at once and %s wait", r.Concurrency, places), later)
	default:
		e = limitError("WaitedTooLong", limitDetails{"concurrency", r.Of, r.Concurrency, retry},
			fmt.Sprintf("the call waited %s in the queue; at most %d may run at once", queue.MaxWait, r.Concurrency), later)
	}
	e.Retryable = true
	return e
}

// notBegun is the error of a call whose context ended before the plugin received the call.
func notBegun(ctx context.Context, when string) *sdk.Error {
	e := sdk.EndedError(ctx)
	what := "the call was canceled"
	if e.Code == sdk.CodeTimeout {
		what, e.Retryable, e.Suggestion = "the caller's deadline passed", true, "Call again with more time."
	}
	e.Message = what + " " + when + "; nothing was run"
	return e
}

func (l Limits) queueLimits() queue.Limits {
	return queue.Limits{Concurrency: l.Concurrency, Queue: l.Queue, Rate: l.Rate, Burst: l.Burst}
}

// limitHost limits all calls together, and each plugin to three quarters of that, so that a flood of calls to one
// plugin does not block others. Below 16 calls there is no such reserve.
func (h *snapshot) limitHost() {
	all := queue.Limits{Concurrency: h.options.MaxConcurrency, Queue: 4 * min(h.options.MaxConcurrency, math.MaxInt/4)}
	var each map[string]queue.Limits
	if all.Concurrency >= 16 {
		each = map[string]queue.Limits{}
		for name := range h.registry.plugins {
			each[name] = queue.Limits{Concurrency: all.Concurrency - all.Concurrency/4, Queue: all.Queue - all.Queue/4}
		}
	}
	h.callQueue.SetLimits(all, each)
}

// limitPlugins makes a queue for each plugin with limits of its own or of a tool. Existing queues continue under the
// new limits, or without limits while there are calls in them.
func (h *snapshot) limitPlugins(before map[string]*queue.Queue) {
	tools := map[string]map[string]queue.Limits{} // by plugin and by full name
	for name, t := range h.options.Tools {
		plugin, _, _ := strings.Cut(name, "__")
		if t.Limits == (Limits{}) {
			continue
		}
		if tools[plugin] == nil {
			tools[plugin] = map[string]queue.Limits{}
		}
		tools[plugin][name] = t.queueLimits()
	}
	h.queues = map[string]*queue.Queue{}
	names := slices.AppendSeq(slices.Collect(maps.Keys(h.registry.plugins)), maps.Keys(before))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		q, limits := before[name], h.options.Plugins[name].Limits
		limited := limits != (Limits{}) || tools[name] != nil
		if q == nil && limited {
			q = queue.New(fmt.Sprintf("plugin %q", name), "tool")
		}
		if q == nil {
			continue
		}
		q.SetLimits(limits.queueLimits(), tools[name])
		if limited || q.Busy() { // its calls count when there are limits again
			h.queues[name] = q
		}
	}
}
