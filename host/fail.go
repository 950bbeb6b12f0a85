package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/sdk"
)

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
	b, isBroken := errors.AsType[*sdk.BrokenError](err)
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
func broken(b *sdk.BrokenError) *sdk.Error {
	e := fail(sdk.CodePluginCrashed, "PluginCrashed", "%s", b)
	e.Outcome = sdk.OutcomeNotSent
	if b.Delivered {
		e.Outcome = sdk.OutcomeUnknown
	}
	e.Details = sdk.Details(map[string]any{"delivered": b.Delivered})
	return e
}
