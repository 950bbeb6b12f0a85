package supervise

import (
	"fmt"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

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
	e := &sdk.Error{Code: sdk.CodePluginUnavailable, Name: sdk.NameListedOtherwise, Retryable: true,
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
