package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// conclude is the border: every failure that leaves it says what became of the call, as a field for programs, and in words
// for the model where that is not known. What is said there comes on top of the limit for error messages.
func (h *Host) conclude(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		result, err := next(ctx, c)
		if e := asError(err); e != nil {
			return result, c.concluded(e)
		}
		if result != nil && result.Error != nil {
			result = new(*result) // the plugin may hold on to its own
			result.Error = c.concluded(result.Error)
		}
		return result, nil
	}
}

// unknown is what the model reads of OutcomeUnknown.
const unknown = "It is not known whether the call has done its work, or a part: check before you repeat it."

// concluded is the error with the outcome of the call: the worst of what the route says and what came of each time that
// the plugin was asked.
func (c *Call) concluded(e *sdk.Error) *sdk.Error { return concluded(e, c.outcome) }

func concluded(e *sdk.Error, of sdk.Outcome) *sdk.Error {
	e = new(*e)
	e.Outcome = worse(cmp.Or(e.Outcome, sdk.OutcomeNotSent), of)
	if e.Outcome == sdk.OutcomeUnknown {
		e.Message = sentence(e.Message) + unknown
	}
	return e
}

// sentence makes room for another one behind the text.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	switch text[len(text)-1] {
	case '.', '!', '?', ')', '\n':
		return text + " "
	}
	return text + ". "
}

// outcomeOf is what came of asking a plugin. Of a plugin that is not supervised, and does not tell, the worst is believed.
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
	return sdk.OutcomeFailed // if the call fails all the same, then by what comes after the plugin
}

// outcomes are in rising order of what they demand of those who would repeat the call.
var outcomes = []sdk.Outcome{"", sdk.OutcomeNotSent, sdk.OutcomeFailed, sdk.OutcomeUnknown}

func worse(a, b sdk.Outcome) sdk.Outcome {
	if slices.Index(outcomes, a) > slices.Index(outcomes, b) {
		return a
	}
	return b
}

// guard turns a panic further in, such as in an embedder's middleware, into an error.
func (h *snapshot) guard(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (result *sdk.Result, err error) {
		defer func() {
			if cause := recover(); cause != nil {
				logPanic(h.log, cause, "call_id", c.id, "tool", cutText(c.called, 100))
				result, err = nil, fail(sdk.CodeInternal, "Panic",
					"the call was stopped by a panic, which is a bug; the host's log tells more under call id %s", c.id)
			}
		}()
		return next(ctx, c)
	}
}

func logPanic(log *slog.Logger, cause any, attrs ...any) {
	log.With(attrs...).Error("a panic was caught", "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
}

// fail makes an error with a code.
func fail(code sdk.Code, name, format string, a ...any) *sdk.Error {
	return &sdk.Error{Code: code, Name: name, Message: fmt.Sprintf(format, a...)}
}

// failure gives what went wrong with a call, or nil: an error of the route, else the tool's own.
func failure(r *sdk.Result, err error) *sdk.Error {
	if e := asError(err); e != nil {
		return e
	}
	if r != nil {
		return r.Error
	}
	return nil
}

// asError makes data of an error of any kind. What was put around an *sdk.Error stays in the message.
func asError(err error) *sdk.Error {
	e, coded := errors.AsType[*sdk.Error](err)
	b, isBroken := errors.AsType[*client.BrokenError](err)
	switch {
	case err == nil || err == error(e): //nolint:errorlint // itself, not inside; a nil *sdk.Error in an error is no failure
		return e
	case coded && e != nil:
		e = new(*e)
		e.Message = err.Error()
		return e
	case isBroken:
		return broken(b)
	case errors.Is(err, context.DeadlineExceeded):
		return fail(sdk.CodeTimeout, "Timeout", "%s", err)
	case errors.Is(err, context.Canceled):
		return fail(sdk.CodeCanceled, "Canceled", "%s", err)
	}
	return fail(sdk.CodeInternal, "Error", "%s", err)
}

// broken is for plugins that nobody supervises, such as one in a test; a supervisor knows more.
func broken(b *client.BrokenError) *sdk.Error {
	e := fail(sdk.CodePluginCrashed, "PluginCrashed", "%s", b)
	e.Outcome = sdk.OutcomeNotSent
	if b.Delivered {
		e.Outcome = sdk.OutcomeUnknown
	}
	e.Details = sdk.Details(map[string]any{"delivered": b.Delivered})
	return e
}
