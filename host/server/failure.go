package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/sdk"
)

// Fail returns the error of an RPC with an ErrorDetail. The code is one of sdk's, or empty.
func Fail(rpc connect.Code, code sdk.Code, message, hint string) *connect.Error {
	e := connect.NewError(rpc, errors.New(convert.Text(message)))
	detail := &apiv1.ErrorDetail{Code: string(code), Message: convert.Text(message), Hint: convert.Text(hint)}
	if d, err := connect.NewErrorDetail(detail); err == nil { // it cannot fail for a message of ours
		e.AddDetail(d)
	}
	return e
}

// coded returns the RPC error for an error of the host.
func coded(err error) *connect.Error {
	e, is := errors.AsType[*sdk.Error](err)
	if !is {
		return Fail(connect.CodeInternal, sdk.CodeInternal, err.Error(), "")
	}
	rpc := connect.CodeInternal
	switch e.Code {
	case sdk.CodeToolNotFound, sdk.CodeNotInCatalog:
		rpc = connect.CodeNotFound
	case sdk.CodeInvalidArgs:
		rpc = connect.CodeInvalidArgument
	case sdk.CodePluginUnavailable, sdk.CodePluginCrashed:
		rpc = connect.CodeUnavailable
	case sdk.CodeTimeout:
		rpc = connect.CodeDeadlineExceeded
	case sdk.CodeCanceled:
		rpc = connect.CodeCanceled
	}
	return Fail(rpc, e.Code, e.Message, e.Suggestion)
}

// failures gives each error of a handler a detail, and hides none.
type failures struct{ server *Server }

func (f failures) detailed(ctx context.Context, err error, procedure string) error {
	if err == nil {
		return nil
	}
	if errors.Is(context.Cause(ctx), errRevoked) {
		return Fail(connect.CodeUnauthenticated, "", errRevoked.Error(), "Use one that is; `toolhost serve --show-token` "+
			"prints the user's own.")
	}
	e, is := errors.AsType[*connect.Error](err)
	if watches[procedure] && f.server.stopping.Err() != nil {
		return Fail(connect.CodeUnavailable, "", "the host is stopping", "Reconnect in a moment.")
	}
	if is && len(e.Details()) > 0 {
		return err
	}
	rpc, message := connect.CodeOf(err), err.Error()
	switch {
	case errors.Is(err, context.Canceled):
		rpc = connect.CodeCanceled
	case errors.Is(err, context.DeadlineExceeded):
		rpc = connect.CodeDeadlineExceeded
	}
	hint := ""
	if is {
		message, hint = plainly(e.Message())
	}
	if rpc == connect.CodeUnimplemented {
		message = "this host has no such part: " + procedure
	}
	return Fail(rpc, "", message, hint)
}

// WrapUnary adds details.
func (f failures) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		response, err := next(ctx, r)
		return response, f.detailed(ctx, err, r.Spec().Procedure)
	}
}

// WrapStreamingHandler adds details.
func (f failures) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, c connect.StreamingHandlerConn) error {
		return f.detailed(ctx, next(ctx, c), c.Spec().Procedure)
	}
}

// WrapStreamingClient changes nothing.
func (failures) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// recovered is the error of a handler that panicked: the server goes on.
func (s *Server) recovered(_ context.Context, spec connect.Spec, _ http.Header, cause any) error {
	s.options.Logger.Error("a panic was caught", "procedure", spec.Procedure, "panic", fmt.Sprint(cause), "stack",
		string(debug.Stack()))
	return Fail(connect.CodeInternal, sdk.CodeInternal, "the request was stopped by a panic, which is a bug; the log of "+
		"the host has more", "")
}
