// Package callctx has the contexts of calls. Creating one allocates almost nothing until something waits for its end.
// Most calls end before that, and a timer, a channel and a place among the children of another context were a tenth of
// what a small call takes, in the host and in the plugin.
package callctx

import (
	"context"
	"sync"
	"time"
)

// A Context is a context that can be canceled, and may have a deadline. Init comes first.
type Context struct {
	parent   context.Context
	deadline time.Time // zero: none
	own      bool      // it is not the parent's, which keeps that itself

	mu     sync.Mutex
	whole  context.Context // nil until something waits for the end
	cancel context.CancelFunc
	waiter Waiter
}

// A Waiter waits for the end of a context without its channel.
type Waiter interface {
	// Wake returns at once. It may be called when nothing has happened.
	Wake()
}

var canceled = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// Init derives the context from another one. A zero deadline is the parent's.
func (c *Context) Init(parent context.Context, deadline time.Time) {
	c.parent, c.deadline, c.own = parent, deadline, !deadline.IsZero()
	if d, ok := parent.Deadline(); ok && (!c.own || !deadline.Before(d)) {
		c.deadline, c.own = d, false
	}
}

// Deadline implements context.Context.
func (c *Context) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

// Done implements context.Context.
func (c *Context) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.make().Done()
}

// Value implements context.Context. Contexts that are derived from this one find its own by it.
func (c *Context) Value(key any) any {
	c.mu.Lock()
	whole := c.whole
	c.mu.Unlock()
	if whole == nil || whole == canceled {
		return c.parent.Value(key)
	}
	return whole.Value(key)
}

// Err implements context.Context.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.whole == nil && c.parent.Err() == nil && (!c.own || time.Now().Before(c.deadline)) {
		return nil
	}
	return c.make().Err()
}

// make returns what the standard library has for the same. The lock is held.
func (c *Context) make() context.Context {
	switch {
	case c.whole != nil:
	case !c.own:
		c.whole, c.cancel = context.WithCancel(c.parent)
	default:
		c.whole, c.cancel = context.WithDeadline(c.parent, c.deadline)
	}
	return c.whole
}

// Cancel ends the context.
func (c *Context) Cancel() {
	c.mu.Lock()
	switch {
	case c.cancel != nil:
		c.cancel()
	case c.whole == nil:
		c.whole = canceled
	}
	w := c.waiter
	c.mu.Unlock()
	if w != nil {
		w.Wake()
	}
}

// WithValues returns a context that ends when ctx does, with the values of another one: a span's, which is derived from
// ctx by values alone. Watch looks through it, and cannot look through a context of the standard library's.
func WithValues(ctx, values context.Context) context.Context {
	switch ctx.(type) {
	case *Context, *valued:
		return &valued{ctx, values}
	}
	return values
}

type valued struct {
	context.Context
	values context.Context
}

// Value implements context.Context.
func (v *valued) Value(key any) any { return v.values.Value(key) }

// Watch wakes w when ctx is canceled, until Unwatch. It returns a channel that closes when what ctx was derived
// from ends; nil if that never ends. The deadline is the caller's to watch. For any other context, and one that is
// watched already, it is the channel that closes at its end.
func Watch(ctx context.Context, w Waiter) (ended <-chan struct{}) {
	if v, is := ctx.(*valued); is {
		return Watch(v.Context, w)
	}
	c, is := ctx.(*Context)
	if !is {
		return ctx.Done()
	}
	c.mu.Lock()
	if c.whole != nil || c.waiter != nil {
		defer c.mu.Unlock()
		return c.make().Done()
	}
	c.waiter = w
	c.mu.Unlock()
	return Watch(c.parent, w)
}

// Unwatch ends Watch.
func Unwatch(ctx context.Context, w Waiter) {
	if v, is := ctx.(*valued); is {
		Unwatch(v.Context, w)
	}
	c, is := ctx.(*Context)
	if !is {
		return
	}
	c.mu.Lock()
	if c.waiter == w {
		c.waiter = nil
	}
	c.mu.Unlock()
	Unwatch(c.parent, w)
}

// DeadlinePassed reports whether the deadline of ctx has passed. It tolerates a plugin that notices it a moment before
// the host's timer does.
func DeadlinePassed(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < 10*time.Millisecond
}
