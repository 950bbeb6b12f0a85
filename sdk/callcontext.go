package sdk

import (
	"context"
	"sync"
	"time"
)

// A callContext is the context of a call of a session. Most handlers end before they look whether it has, so the timer
// and the registration with the session's context are made when the handler first waits for its end: they are a tenth
// of the plugin's work for a small call.
type callContext struct {
	parent   context.Context // without a deadline
	deadline time.Time       // zero: none

	mu     sync.Mutex
	whole  context.Context // nil until it is made
	cancel context.CancelFunc
}

var canceledContext = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// Deadline is part of context.Context, as the methods that follow.
func (c *callContext) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

func (c *callContext) Done() <-chan struct{} { return c.make().Done() }

func (c *callContext) Value(key any) any { return c.make().Value(key) }

func (c *callContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.whole == nil && c.parent.Err() == nil && !c.late() {
		return nil
	}
	return c.makeLocked().Err()
}

func (c *callContext) late() bool { return !c.deadline.IsZero() && !time.Now().Before(c.deadline) }

func (c *callContext) make() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.makeLocked()
}

func (c *callContext) makeLocked() context.Context {
	switch {
	case c.whole != nil:
	case c.deadline.IsZero():
		c.whole, c.cancel = context.WithCancel(c.parent)
	default:
		c.whole, c.cancel = context.WithDeadline(c.parent, c.deadline)
	}
	return c.whole
}

// end cancels the context, which keeps the error of an earlier end.
func (c *callContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.cancel != nil:
		c.cancel()
	case c.whole == nil:
		c.whole = canceledContext
	}
}
