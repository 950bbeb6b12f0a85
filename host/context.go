package host

import (
	"context"
	"sync"
	"time"
)

// A callContext is the context of a call, which Close cancels. It costs nothing until something waits for its end: most
// calls run without waiting, and then their limited context is derived from the caller's at once. A context of its own
// between the two took a tenth of what a call allocates.
type callContext struct {
	context.Context // the caller's

	mu       sync.Mutex
	canceled bool
	own      context.Context // made by the first Done
	end      context.CancelFunc
	limited  context.CancelFunc // of the last context with a timeout
}

func (c *callContext) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.canceled = true
	if c.end != nil {
		c.end()
	}
	if c.limited != nil {
		c.limited()
	}
}

// Done implements context.Context.
func (c *callContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own == nil {
		c.own, c.end = context.WithCancel(c.Context)
		if c.canceled {
			c.end()
		}
	}
	return c.own.Done()
}

// Err implements context.Context.
func (c *callContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.own != nil:
		return c.own.Err()
	case c.canceled:
		return context.Canceled
	}
	return c.Context.Err()
}

// Value implements context.Context. Contexts that are derived from this one find its own by it.
func (c *callContext) Value(key any) any {
	c.mu.Lock()
	own := c.own
	c.mu.Unlock()
	if own != nil {
		return own.Value(key)
	}
	return c.Context.Value(key)
}

// withTimeout is context.WithTimeout.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	c, is := ctx.(*callContext)
	if !is { // it is an embedder's, derived from ours
		return context.WithTimeout(ctx, d)
	}
	limited, cancel := context.WithTimeout(c.Context, d)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limited = cancel
	if c.canceled {
		cancel()
	}
	return limited, cancel
}
