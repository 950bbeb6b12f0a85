package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"syscall"
)

// An Error is a failure as data that a model can act on. A handler sets Name and Message at least; the host sets Code.
type Error struct {
	// Code is one of the Code constants. Handlers leave it empty, which means CodeTool, or set CodeInvalidArgs,
	// CodeTimeout, CodeCanceled, or CodePluginUnavailable when what the plugin needs, such as a server, cannot be used and
	// nothing was run; only hosts set the others.
	Code Code `json:"code"`
	// Name identifies the failure in one CamelCase word, such as MatchNotFound.
	Name string `json:"name,omitempty"`
	// Message says what happened, and where.
	Message string `json:"message"`
	// Suggestion says what to do next.
	Suggestion string `json:"suggestion,omitempty"`
	// HelpURL links to more information.
	HelpURL string `json:"help_url,omitempty"`
	// Retryable is true when the same call may work later.
	Retryable bool `json:"retryable"`
	// Outcome reports whether the call ran. The host sets it; a handler may set OutcomeUnknown when it does not know
	// how far the work came. The model is then asked to check before it repeats the call.
	Outcome Outcome `json:"outcome,omitempty"`
	// Details is a JSON object for programs, or nil.
	Details json.RawMessage `json:"details,omitempty"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Code is the kind of a failure. Callers decide by code and show the message.
type Code string

// The codes.
const (
	CodeTool                Code = "E_TOOL"                 // the handler failed; Name says how
	CodeToolNotFound        Code = "E_TOOL_NOT_FOUND"       // no such tool
	CodeInvalidArgs         Code = "E_TOOL_INVALID_ARGS"    // not JSON, or not what the schema asks; nothing was run
	CodeNotInCatalog        Code = "E_TOOL_NOT_IN_CATALOG"  // the tool exists, but not for this caller
	CodeDenied              Code = "E_DENIED"               // by a rule, a pinned definition, or no record could be kept
	CodeRejected            Code = "E_REJECTED"             // a person rejected the call
	CodeApprovalTimeout     Code = "E_APPROVAL_TIMEOUT"     // no one answered
	CodeApprovalUnavailable Code = "E_APPROVAL_UNAVAILABLE" // no one can be asked here
	CodeLimit               Code = "E_LIMIT"                // rate, concurrency, queue or call budget
	CodeTimeout             Code = "E_TIMEOUT"              // the deadline passed
	CodeCanceled            Code = "E_CANCELED"             // the call was canceled
	CodePluginCrashed       Code = "E_PLUGIN_CRASHED"       // the plugin died during the call
	CodePluginUnavailable   Code = "E_PLUGIN_UNAVAILABLE"   // the plugin, or what it needs, cannot be used now
	CodeProtocol            Code = "E_PROTOCOL"             // the plugin violated the protocol
	CodeResultTooLarge      Code = "E_RESULT_TOO_LARGE"     // the result is over the hard limit
	CodeInternal            Code = "E_INTERNAL"             // a bug in the host
)

// An Outcome says whether a failed call may have had effects, and so whether it is safe to repeat.
type Outcome string

// The outcomes.
const (
	// OutcomeNotSent: the plugin did not receive the call, so nothing was run.
	OutcomeNotSent Outcome = "not_sent"
	// OutcomeFailed: the call ran to its end and the plugin answered, possibly with a result that is too large to be used.
	OutcomeFailed Outcome = "failed"
	// OutcomeUnknown: the call may have done nothing, a part, or all. The plugin received the call and did not answer:
	// it died, its connection broke, the deadline passed, or the call was canceled. Or its tool said so (see Error).
	OutcomeUnknown Outcome = "outcome_unknown"
)

// CodeOf returns the code of the *Error in err, "" for nil, and CodeInternal for an error without one.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// Details returns the JSON of v for Error.Details; when v has no JSON form, an object whose member error says why.
// Hosts drop details over 32 KiB.
func Details(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		out, _ = json.Marshal(map[string]string{"error": "the details have no JSON form: " + err.Error()})
	}
	return out
}

// asError converts the error of a handler. The text of errors that wrap an *Error stays in the message.
func asError(err error) *Error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok:
		return plainError(err)
	case e == nil || err == error(e): //nolint:errorlint // itself, not wrapped; a nil *Error in an error is no failure
		return e
	}
	e = new(*e)
	e.Message = err.Error()
	return e
}

// plainError names common errors of the standard library.
func plainError(err error) *Error {
	e := &Error{Name: "Error", Message: err.Error()}
	switch {
	case err == context.Canceled, err == context.DeadlineExceeded: //nolint:errorlint // not wrapped: its text says nothing
		return endedError(err)
	case errors.Is(err, context.Canceled):
		e.Code, e.Name = CodeCanceled, "Canceled"
	case errors.Is(err, context.DeadlineExceeded):
		e.Code, e.Name = CodeTimeout, "Timeout"
	case errors.Is(err, fs.ErrNotExist):
		e.Name = "NotFound"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Name = "PermissionDenied"
	}
	return e
}

// EndedError returns the error of a call whose ctx ended: CodeCanceled when it was canceled, otherwise CodeTimeout.
// It has no Outcome, which depends on when ctx ended.
func EndedError(ctx context.Context) *Error { return endedError(ctx.Err()) }

func endedError(err error) *Error {
	if errors.Is(err, context.Canceled) {
		return &Error{Code: CodeCanceled, Name: "Canceled", Message: "the call was canceled"}
	}
	return &Error{Code: CodeTimeout, Name: "Timeout", Message: "the call took longer than it may",
		Suggestion: "Ask for less at once, or for a longer timeout."}
}
