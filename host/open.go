package host

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// open lets calls in until Close, which ends those that run.
func (h *Host) open(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if !h.enter() {
			return nil, fail(sdk.CodeCanceled, "HostClosed", "the host is closed; nothing was run")
		}
		defer h.running.Done()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(h.base, cancel)()
		return next(ctx, c)
	}
}

func (h *Host) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.base.Err() != nil {
		return false
	}
	h.running.Add(1)
	return true
}

// patience is how long Close waits for calls whose context has ended.
const patience = 5 * time.Second

// Close lets no more calls in, ends those that run, and then closes all plugins that it has. Calls that do not end within
// five seconds are left to themselves. Closing again does nothing.
func (h *Host) Close() error {
	if h.shut() {
		h.awaitCalls()
		return h.now.Load().registry.close()
	}
	return nil
}

// shut lets no more calls in; it is true the first time.
func (h *Host) shut() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := h.base.Err() == nil
	h.end()
	return first
}

func (h *Host) awaitCalls() {
	ended := make(chan struct{})
	go func() { h.running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(patience):
		h.logger().Warn("closing the host while calls run on, though their context has ended")
	}
}
