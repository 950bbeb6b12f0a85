package sdk

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// overdue knows the handlers that run, and which of them still do though their context has ended. The zero value knows none.
type overdue struct {
	mu      sync.Mutex
	running map[*handler]struct{}
}

// A handler is one that runs.
type handler struct {
	ctx   context.Context
	ended time.Time // when its ctx did; zero before it was noticed
}

// watch counts a handler from the end of its ctx until returned is called.
func (o *overdue) watch(ctx context.Context) (returned func()) {
	h := &handler{ctx: ctx}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.running == nil {
		o.running = map[*handler]struct{}{}
	}
	o.running[h] = struct{}{}
	stop := context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		h.notice()
	})
	return func() {
		stop()
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.running, h)
	}
}

func (h *handler) notice() {
	if h.ended.IsZero() {
		h.ended = time.Now()
	}
}

// count gives how many there are, and how many of them have run for grace or longer since their ctx ended. It sees the end of
// a ctx at once: what ran in the background of that may be slower than the next question.
func (o *overdue) count(grace time.Duration) (handlers, late int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for h := range o.running {
		if h.ctx.Err() == nil {
			continue
		}
		h.notice()
		handlers++
		if time.Since(h.ended) >= grace {
			late++
		}
	}
	return handlers, late
}

func (s *server) Overdue(_ context.Context, r *pluginv1.OverdueRequest) (*pluginv1.OverdueResponse, error) {
	grace := min(max(r.GetGraceMs(), 0), math.MaxInt64/int64(time.Millisecond))
	handlers, late := s.overdue.count(time.Duration(grace) * time.Millisecond)
	return &pluginv1.OverdueResponse{Handlers: int64(handlers), Late: int64(late)}, nil
}

// Overdue asks how many handlers of calls and previews still run in the plugin though their context has ended, and how many of
// them are late: it ended grace ago or longer. A plugin that cannot tell gives errors.ErrUnsupported.
func (c *Client) Overdue(ctx context.Context, grace time.Duration) (handlers, late int, err error) {
	r, err := c.wire.Overdue(ctx, &pluginv1.OverdueRequest{GraceMs: grace.Milliseconds()})
	if status.Code(err) == codes.Unimplemented {
		return 0, 0, errors.ErrUnsupported
	}
	if err != nil {
		return 0, 0, broken(ctx, err, true)
	}
	return asCount(r.GetHandlers()), asCount(r.GetLate()), nil
}

// asCount is a number that a plugin gives, as one that can be a count.
func asCount(n int64) int { return int(min(max(n, 0), math.MaxInt32)) }
