package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/internal/callback"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// outcome is where errors leave the chain: it sets the outcome of each, in a field for programs, and in its message
// where it is unknown. That sentence is not cut by the limit for error messages.
func (h *Host) outcome(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		result, err := next(ctx, c)
		if e := asError(err); e != nil {
			return result, setOutcome(e, c.outcome)
		}
		if result != nil && result.Error != nil {
			result = new(*result) // the plugin may keep a reference to its own
			result.Error = setOutcome(result.Error, c.outcome)
		}
		return result, nil
	}
}

// unknown is the text of OutcomeUnknown for models.
const unknown = "It is not known whether the call has done its work, or a part: check before you repeat it."

// setOutcome returns the error with the worst outcome: its own, or that of all attempts to call the plugin.
func setOutcome(e *sdk.Error, of sdk.Outcome) *sdk.Error {
	e = new(*e)
	e.Outcome = moreRestrictive(cmp.Or(e.Outcome, sdk.OutcomeNotSent), of)
	if e.Outcome != sdk.OutcomeUnknown {
		return e
	}
	if n := len(e.Message); n > 0 {
		switch e.Message[n-1] {
		case '.', '!', '?', '\n':
			e.Message += " "
		default:
			e.Message += ". "
		}
	}
	e.Message += unknown
	return e
}

// outcomeOf is the outcome of calling a plugin. For a plugin that is not supervised and states none, the worst is
// assumed.
func outcomeOf(r *sdk.Result, err error) sdk.Outcome {
	e := asError(err)
	switch {
	case e != nil && e.Outcome == "" && e.Code == sdk.CodePluginUnavailable:
		return sdk.OutcomeNotSent
	case e != nil:
		return cmp.Or(e.Outcome, sdk.OutcomeUnknown)
	case r != nil && r.Error != nil:
		return cmp.Or(r.Error.Outcome, sdk.OutcomeFailed)
	}
	return sdk.OutcomeFailed // if the call fails nevertheless, a step after the plugin failed
}

// outcomes are sorted by how much they restrict a repetition of the call.
var outcomes = []sdk.Outcome{"", sdk.OutcomeNotSent, sdk.OutcomeFailed, sdk.OutcomeUnknown}

func moreRestrictive(a, b sdk.Outcome) sdk.Outcome {
	if slices.Index(outcomes, a) > slices.Index(outcomes, b) {
		return a
	}
	return b
}

// recoverPanics turns a panic of an inner step, such as an embedder's middleware, into an error.
func (h *snapshot) recoverPanics(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (result *sdk.Result, err error) {
		defer func() {
			if cause := recover(); cause != nil {
				logPanic(h.log, cause, "call_id", c.id, "tool", cutText(c.called, 100))
				result, err = nil, fail(sdk.CodeInternal, "Panic",
					"the call was stopped by a panic, which is a bug; see the host's log for call id %s", c.id)
			}
		}()
		return next(ctx, c)
	}
}

var logPanic = callback.LogPanic

func fail(code sdk.Code, name, format string, a ...any) *sdk.Error {
	return &sdk.Error{Code: code, Name: name, Message: fmt.Sprintf(format, a...)}
}

// advise adds to an error what to do.
func advise(e *sdk.Error, suggestion string) *sdk.Error {
	e.Suggestion = suggestion
	return e
}

// failure returns why a call failed, or nil: an error of the chain, otherwise the tool's own.
func failure(r *sdk.Result, err error) *sdk.Error {
	if e := asError(err); e != nil {
		return e
	}
	if r != nil {
		return r.Error
	}
	return nil
}

// asError converts any error. Text that wraps an *sdk.Error stays in the message.
func asError(err error) *sdk.Error {
	e, coded := errors.AsType[*sdk.Error](err)
	broken, isBroken := errors.AsType[*client.BrokenError](err)
	switch {
	case err == nil || err == error(e): //nolint:errorlint // itself, not inside; a nil *sdk.Error in an error is no failure
		return e
	case coded && e != nil:
		e = new(*e)
		e.Message = err.Error()
		return e
	case isBroken: // of a plugin without a supervisor, which would know more
		e := fail(sdk.CodePluginCrashed, "PluginCrashed", "%s", broken)
		e.Outcome = sdk.OutcomeNotSent
		if broken.Delivered {
			e.Outcome = sdk.OutcomeUnknown
		}
		e.Details = sdk.Details(map[string]any{"delivered": broken.Delivered})
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return fail(sdk.CodeTimeout, "Timeout", "%s", err)
	case errors.Is(err, context.Canceled):
		return fail(sdk.CodeCanceled, "Canceled", "%s", err)
	}
	return fail(sdk.CodeInternal, "Error", "%s", err)
}
