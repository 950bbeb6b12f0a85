package host

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/toolhost/toolhost/sdk"
)

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
