package host

import (
	"context"
	"log/slog"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// audit writes one line a call, also for those that were refused.
func (h *Host) audit(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		started, in := time.Now(), len(c.Arguments)
		result, err := next(ctx, c)
		if h.log.Enabled(ctx, slog.LevelInfo) {
			attempts, generation := c.asked()
			h.log.LogAttrs(ctx, slog.LevelInfo, "call", append(outcome(failure(result, err)),
				slog.String("call_id", c.ID), slog.String("tool", cutText(c.Tool, 100)), slog.String("session_id", c.SessionID),
				slog.Int("arguments_bytes", in), slog.Duration("duration", time.Since(started)),
				slog.Int("attempts", attempts), slog.Int("generation", generation))...)
		}
		return result, err
	}
}

func outcome(e *sdk.Error) []slog.Attr {
	if e == nil {
		return []slog.Attr{slog.String("status", StatusOK)}
	}
	return []slog.Attr{slog.String("status", StatusError), slog.String("code", string(e.Code)), slog.String("name", e.Name)}
}
