package supervise

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// quarantine is how long a plugin with too many crashes is left alone before one start is tried.
const quarantine = 5 * time.Minute

// A history remembers a plugin's crashes and says when it may be started again. It has no clock of its own.
type history struct {
	limits  Restart
	crashes []time.Time
	probing bool // the running start is the one try that a quarantined plugin gets
}

// crash counts one crash of a start that was ready since readyAt (zero: it never was). It gives the time from which on
// the plugin may be started again, and whether that is a quarantine.
func (h *history) crash(now, readyAt time.Time) (retryAt time.Time, quarantined bool) {
	if !readyAt.IsZero() && now.Sub(readyAt) >= h.limits.Window {
		h.crashes, h.probing = nil, false
	}
	h.crashes = append(h.recent(now), now)
	if h.probing || len(h.crashes) > h.limits.MaxCrashes {
		h.probing = true
		return now.Add(quarantine), true
	}
	return now.Add(h.delay(len(h.crashes))), false
}

// recent drops the crashes that are older than the window.
func (h *history) recent(now time.Time) []time.Time {
	var out []time.Time
	for _, c := range h.crashes {
		if now.Sub(c) < h.limits.Window {
			out = append(out, c)
		}
	}
	return out
}

// count gives how many crashes are held against a plugin that is ready since readyAt (zero: it is not).
func (h *history) count(now, readyAt time.Time) int {
	if !readyAt.IsZero() && now.Sub(readyAt) >= h.limits.Window {
		return 0
	}
	return len(h.recent(now))
}

func (h *history) clone() history {
	out := *h
	out.crashes = slices.Clone(h.crashes)
	return out
}

// delay is the wait after the nth crash in a row: none after the first, then doubling, a fifth more or less by chance so
// that many plugins do not come back at once.
func (h *history) delay(n int) time.Duration {
	if n <= 1 {
		return 0
	}
	d := h.limits.Backoff << min(n-2, 20)
	if d > h.limits.BackoffMax || d <= 0 {
		d = h.limits.BackoffMax
	}
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // nobody gains by guessing it
}

// An invalidError says that starting again cannot help.
type invalidError struct{ error }

// isInvalid says whether starting again cannot help: as with a program that others could change.
func isInvalid(err error) bool {
	_, invalid := errors.AsType[*invalidError](err)
	_, open := errors.AsType[*fsutil.OwnershipError](err)
	return invalid || open
}

// failed takes note of a start that came to nothing.
func (o *owner) failed(err error) {
	if e, ok := errors.AsType[*failedStart](err); ok {
		o.stderr = e.stderr
	}
	o.last, o.readyAt = err, time.Time{}
	if isInvalid(err) {
		o.to(Invalid, "it cannot work as it is; it is tried again when its program or its configuration has changed")
		o.p.log.Warn("plugin cannot be used", "error", err)
		return
	}
	o.crashed()
}

// died takes note of the current generation's end, which nobody asked for.
func (o *owner) died() {
	g := o.current
	o.last, o.stderr, o.current, o.replaceAt = errors.New(g.end()), g.child.tail.last(statusLines), nil, nil
	o.drains.Go(g.release)
	o.crashed()
	o.publish()
}

func (o *owner) crashed() {
	retryAt, quarantined := o.history.crash(time.Now(), o.readyAt)
	o.retryAt, o.readyAt = retryAt, time.Time{}
	switch n := len(o.history.crashes); {
	case quarantined:
		o.quarantine()
	case time.Until(retryAt) > 0:
		o.to(Backoff, fmt.Sprintf("it crashed %d times within %s", n, o.history.limits.Window))
	default:
		o.to(Crashed, "it crashed")
	}
	o.arm()
	o.p.log.Warn("plugin crashed", "generation", o.told, "state", string(o.state), "error", o.last)
}

func (o *owner) quarantine() {
	if n := len(o.history.crashes); n > o.history.limits.MaxCrashes {
		o.to(Quarantined, fmt.Sprintf("it crashed %d times within %s", n, o.history.limits.Window))
		return
	}
	o.to(Quarantined, "it crashed in the one try after its quarantine")
}

// arm has an eager plugin come back by itself, as soon as a call might start it.
func (o *owner) arm() {
	if o.p.spec.Load().Eager {
		o.alarm = time.After(time.Until(o.retryAt))
	}
}

func (o *owner) wake() {
	o.alarm = nil
	if o.current == nil && o.attempt == nil && o.mayStart() == nil {
		o.begin("it is eager", *o.p.spec.Load(), nil)
	}
}

// forgive has a plugin that is down started as if for the first time.
func (o *owner) forgive(why string) {
	o.history = history{limits: o.p.spec.Load().Restart}
	if o.current != nil || o.attempt != nil {
		return
	}
	o.retryAt = time.Time{}
	o.to(Known, why)
	o.arm()
}

func (o *owner) reset(taken chan<- struct{}) {
	o.forgive("it was reset")
	o.publish()
	close(taken)
}

// This file words why a plugin takes no calls.

// mayStart gives nil, or why the plugin is not started now.
func (o *owner) mayStart() error {
	wait := time.Until(o.retryAt)
	switch {
	case o.state == Invalid:
		return unusable(o, o.last)
	case o.state == Quarantined && wait > 0:
		return unavailable(o, "Quarantined", wait, "plugin %q crashed %d times and is left alone for another %s; the last time: %v",
			o.p.name, len(o.history.crashes), rounded(wait), o.last)
	case o.state == Backoff && wait > 0:
		return unavailable(o, "Backoff", wait, "plugin %q crashed and is not started again for another %s; the last time: %v",
			o.p.name, rounded(wait), o.last)
	}
	return nil
}

func unavailable(o *owner, name string, wait time.Duration, format string, a ...any) *sdk.Error {
	e := &sdk.Error{Code: sdk.CodePluginUnavailable, Name: name, Message: fmt.Sprintf(format, a...), Retryable: wait > 0}
	facts := map[string]any{"plugin": o.p.name, "state": o.state}
	if wait > 0 {
		e.Suggestion = fmt.Sprintf("Try again in %s.", rounded(wait))
		facts["retry_after_ms"] = wait.Milliseconds()
	}
	e.Details = sdk.Details(facts)
	return e
}

// startError is what those hear who waited for a start that failed.
func startError(o *owner, err error) error {
	if err == nil {
		return nil
	}
	if isInvalid(err) {
		return unusable(o, err)
	}
	e := unavailable(o, "StartFailed", 0, "plugin %q could not be started: %v", o.p.name, err)
	e.Retryable, e.Suggestion = true, "Try again once; then do without its tools, or have the user mend it."
	return e
}

func unusable(o *owner, err error) *sdk.Error {
	e := unavailable(o, "Invalid", 0, "plugin %q cannot be used: %v", o.p.name, err)
	e.Suggestion = "Do without its tools, or have the user mend it."
	return e
}

func closedError(name string) *sdk.Error {
	return &sdk.Error{Code: sdk.CodePluginUnavailable, Name: "Closed", Message: fmt.Sprintf("plugin %q has been closed", name)}
}

// listedOtherwise is for a call that was decided by what its tool is no longer.
func listedOtherwise(plugin, tool string, gone bool) *sdk.Error {
	e := &sdk.Error{Code: sdk.CodePluginUnavailable, Name: client.NameListedOtherwise, Retryable: true,
		Message:    fmt.Sprintf("plugin %q has changed since it was listed, and its tool %q is another now; nothing was run", plugin, tool),
		Suggestion: "Look at the tool's definition again, then make the call that fits.",
		Details:    sdk.Details(map[string]any{"plugin": plugin, "tool": tool})}
	if gone {
		e.Code, e.Retryable, e.Suggestion = sdk.CodeToolNotFound, false, "List the tools again."
		e.Message = fmt.Sprintf("plugin %q has changed since it was listed, and has no tool %q any more; nothing was run", plugin, tool)
	}
	return e
}

// rounded shortens a wait for people, upwards so that it is never too short.
func rounded(d time.Duration) time.Duration {
	step := time.Millisecond
	if d > time.Second {
		step = time.Second
	}
	return (d + step - 1).Truncate(step)
}
