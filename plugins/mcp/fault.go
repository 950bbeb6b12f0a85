package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
	"github.com/toolhost/toolhost/sdk"
)

// maxFault is how much of a server's text an error repeats.
const maxFault = 4 << 10

// unavailable is the error of a call for which there is no connection. Nothing was sent.
func unavailable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		e := sdk.EndedError(ctx)
		e.Message = "the call ended while the MCP server was starting; nothing was run"
		return e
	}
	if e, ok := errors.AsType[*sdk.Error](err); ok {
		e = new(*e)
		e.Message, e.Retryable = textutil.Cut(err.Error(), maxFault)+"; nothing was run", true
		e.Code = sdk.CodePluginUnavailable
		return e
	}
	details := map[string]any{"delivered": false}
	exitDetails(err, details)
	return &sdk.Error{Code: sdk.CodePluginUnavailable, Name: "ServerUnavailable", Retryable: true,
		Message:    textutil.Cut(err.Error(), maxFault) + "; nothing was run",
		Suggestion: "Make the call again later. The operator finds the cause with: toolhost status",
		Details:    sdk.Details(details)}
}

// advice is what to do about an error, as a sentence behind another one; "" where the error does not say it.
func advice(err error) string {
	if e, ok := errors.AsType[*sdk.Error](err); ok && e.Suggestion != "" {
		return ". " + strings.TrimSuffix(e.Suggestion, ".")
	}
	return ""
}

// failure is the result of a request that has no answer, or an error as answer.
func (q *toolRequest) failure(err error) (*sdk.Result, error) {
	if e, ok := errors.AsType[*client.RPCError](err); ok {
		return q.refusal(e)
	}
	delivered := true
	if e, ok := errors.AsType[*client.CallError](err); ok {
		delivered = e.Delivered
	}
	if e, ok := errors.AsType[*client.SizeError](err); ok {
		return nil, &sdk.Error{Name: "ResultTooLarge", Message: fmt.Sprintf(
			"%s sent a result of %d bytes; the limit is %d bytes, so it was not read", q.bridge.who(), e.Size, e.Limit),
			Suggestion: "Ask for less at once.", Outcome: sdk.OutcomeFailed}
	}
	if errors.Is(err, errIdle) {
		return nil, delivery(&sdk.Error{Code: sdk.CodeTimeout, Name: "ServerSilent", Message: fmt.Sprintf(
			"%s showed no sign of the call for %s (idle_timeout), and was asked to cancel it%s", q.bridge.who(),
			q.bridge.idleTimeout, q.session.Junk())}, delivered)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		code := sdk.CodeCanceled
		if errors.Is(err, context.DeadlineExceeded) {
			code = sdk.CodeTimeout
		}
		return nil, delivery(&sdk.Error{Code: code, Name: "CallEnded", Message: fmt.Sprintf(
			"the call of %s ended before the server answered, and the server was asked to cancel it%s", q.bridge.who(),
			q.session.Junk())}, delivered)
	}
	if e, ok := errors.AsType[*sdk.Error](err); ok { // the transport's, which says what to do
		e = new(*e)
		if delivered {
			return nil, delivery(e, true)
		}
		e.Code = cmp.Or(e.Code, sdk.CodePluginUnavailable)
		return nil, e
	}
	details := map[string]any{"delivered": delivered}
	why := textutil.Cut(err.Error(), maxFault)
	e := &sdk.Error{Name: "ServerFailed", Message: fmt.Sprintf("%s failed during the call: %s", q.bridge.who(), why)}
	if exitDetails(err, details) {
		e.Name = "ServerExited"
		e.Message = fmt.Sprintf("%s ended during the call: %s. The next call starts it again", q.bridge.who(), why)
		if !delivered {
			e.Code = sdk.CodePluginUnavailable
		}
	}
	e.Details = sdk.Details(details)
	return nil, delivery(e, delivered)
}

// delivery adds whether the server may have done what it was asked for.
func delivery(e *sdk.Error, delivered bool) *sdk.Error {
	if delivered {
		e.Outcome = sdk.OutcomeUnknown
		e.Suggestion = "The call may have run, or a part of it. Check that before you repeat it."
		return e
	}
	e.Message += "; the server did not get the call, so nothing was run"
	e.Retryable, e.Suggestion = true, cmp.Or(e.Suggestion, "Make the call again.")
	return e
}

// exitDetails adds how the server's process ended, and reports whether it did.
func exitDetails(err error, details map[string]any) bool {
	e, ok := errors.AsType[*client.ExitError](err)
	if !ok {
		return false
	}
	details["exit_code"], details["stderr"] = e.Exit.Code, e.Stderr
	if e.Exit.Signal != 0 {
		details["signal"] = e.Exit.SignalName()
	}
	return true
}

func (q *toolRequest) refusal(e *client.RPCError) (*sdk.Result, error) {
	if asks, ids := q.urlQuestions(e); asks != nil {
		return q.askToVisit(asks, ids)
	}
	details := map[string]any{"jsonrpc_code": e.Code}
	if e.Data != nil && json.Valid(e.Data) {
		details["data"] = e.Data
	}
	why := cmp.Or(strings.TrimSpace(e.Message), string(e.Data), "it does not say why")
	out := &sdk.Error{Name: "MCPError", Details: sdk.Details(details),
		Message: fmt.Sprintf("%s refused the request with JSON-RPC error %d: %s", q.bridge.who(), e.Code,
			textutil.Cut(why, maxFault))}
	if e.Code == client.CodeInvalidParams {
		out.Code, out.Name = sdk.CodeInvalidArgs, "MCPInvalidParams"
	}
	return nil, out
}
