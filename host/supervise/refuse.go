package supervise

import (
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// This file words why a plugin takes no calls.

func unavailable(o *owner, name string, wait time.Duration, format string, a ...any) *sdk.Error {
	e := &sdk.Error{Code: sdk.CodePluginUnavailable, Name: name, Message: fmt.Sprintf(format, a...), Retryable: wait > 0}
	facts := map[string]any{"plugin": o.p.spec.Name, "state": o.state}
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
	if _, invalid := errors.AsType[*invalidError](err); invalid {
		return unavailable(o, "Invalid", 0, "plugin %q cannot be used: %v", o.p.spec.Name, err)
	}
	e := unavailable(o, "StartFailed", 0, "plugin %q could not be started: %v", o.p.spec.Name, err)
	e.Retryable = true
	return e
}

func closedError(name string) *sdk.Error {
	return &sdk.Error{Code: sdk.CodePluginUnavailable, Name: "Closed", Message: fmt.Sprintf("plugin %q has been closed", name)}
}

// rounded shortens a wait for people, upwards so that it is never too short.
func rounded(d time.Duration) time.Duration {
	step := time.Millisecond
	if d > time.Second {
		step = time.Second
	}
	return (d + step - 1).Truncate(step)
}
