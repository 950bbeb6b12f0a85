package callctx

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Whenever a handler looks at its context, it sees what context.WithDeadline would show.
func TestContext(t *testing.T) {
	closed := func(ctx context.Context) bool {
		select {
		case <-ctx.Done():
			return true
		default:
			return false
		}
	}
	type how = func(c *Context, stop context.CancelFunc)
	nothing := func(*Context, context.CancelFunc) {}
	for name, c := range map[string]struct {
		timeout time.Duration
		how     how
		want    error
	}{
		"runs":                    {0, nothing, nil},
		"runs within a deadline":  {time.Hour, nothing, nil},
		"ends":                    {time.Hour, func(c *Context, _ context.CancelFunc) { c.Cancel() }, context.Canceled},
		"ends without a deadline": {0, func(c *Context, _ context.CancelFunc) { c.Cancel() }, context.Canceled},
		"the session ends":        {time.Hour, func(_ *Context, stop context.CancelFunc) { stop() }, context.Canceled},
		"the deadline passes": {time.Second, func(*Context, context.CancelFunc) { time.Sleep(2 * time.Second) },
			context.DeadlineExceeded},
	} {
		for _, looked := range []string{"never", "at Err", "at Done", "through a child"} {
			t.Run(name+"/"+looked, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, stop := context.WithCancel(t.Context())
					defer stop()
					ctx, deadline := &Context{}, time.Time{}
					if c.timeout > 0 {
						deadline = time.Now().Add(c.timeout)
					}
					ctx.Init(parent, deadline)
					if _, has := ctx.Deadline(); has != (c.timeout > 0) {
						t.Errorf("a deadline: %v", has)
					}
					var watched context.Context = ctx
					switch looked {
					case "at Err":
						_ = ctx.Err()
					case "at Done":
						_ = ctx.Done()
					case "through a child":
						child, cancel := context.WithCancel(ctx)
						defer cancel()
						watched = child
					}
					c.how(ctx, stop)
					synctest.Wait()
					for range 2 {
						if err := watched.Err(); !errors.Is(err, c.want) {
							t.Errorf("Err is %v, want %v", err, c.want)
						}
						if closed(watched) != (c.want != nil) {
							t.Errorf("Done is closed: %v", closed(watched))
						}
						if cause := context.Cause(watched); !errors.Is(cause, c.want) {
							t.Errorf("the cause is %v, want %v", cause, c.want)
						}
					}
					first := ctx.Err()
					ctx.Cancel()
					if first != nil && !errors.Is(ctx.Err(), first) {
						t.Errorf("after the end Err is %v, and was %v", ctx.Err(), first)
					}
					if !closed(ctx) {
						t.Error("after the end Done is open")
					}
				})
			})
		}
	}
}

type key struct{}

func TestDeadlineAndValueOfTheParent(t *testing.T) {
	parent, stop := context.WithTimeout(context.WithValue(t.Context(), key{}, "value"), time.Hour)
	defer stop()
	early, _ := parent.Deadline()
	for _, deadline := range []time.Time{{}, early.Add(time.Hour)} {
		var c Context
		c.Init(parent, deadline)
		if got, ok := c.Deadline(); !ok || !got.Equal(early) {
			t.Errorf("the deadline is %v, want the parent's", got)
		}
		for range 2 {
			if c.Value(key{}) != "value" {
				t.Error("the parent's value is lost")
			}
			c.Cancel()
		}
	}
}

// Watch looks through a context that adds values alone: the contexts below stay without a timer and a channel.
func TestWatchLooksThroughValues(t *testing.T) {
	var outer, inner Context
	outer.Init(t.Context(), time.Time{})
	spans := func(ctx context.Context, name string) context.Context {
		return WithValues(ctx, context.WithValue(ctx, key{}, name))
	}
	inner.Init(spans(&outer, "call"), time.Now().Add(time.Hour))
	ctx := spans(spans(&inner, "stage"), "part")
	w := make(waiter, 9)
	Watch(ctx, w)
	if outer.whole != nil || inner.whole != nil {
		t.Error("there are contexts of the standard library")
	}
	if ctx.Value(key{}) != "part" || inner.Value(key{}) != "call" {
		t.Errorf("the values are %v and %v", ctx.Value(key{}), inner.Value(key{}))
	}
	Unwatch(ctx, w)
	outer.Cancel()
	if len(w) > 0 {
		t.Error("woken though no longer watching")
	}
	child, stop := context.WithCancel(ctx)
	defer stop()
	if ctx.Err() == nil || child.Err() == nil {
		t.Error("it has not ended")
	}
}

type waiter chan struct{}

func (w waiter) Wake() { w <- struct{}{} }

// A waiter learns of the end of any of the contexts that its own is derived from.
func TestWatch(t *testing.T) {
	for name, c := range map[string]struct {
		end           func(base context.CancelFunc, outer, inner *Context)
		woken, closed int
	}{
		"inner":   {func(_ context.CancelFunc, _, inner *Context) { inner.Cancel() }, 1, 0},
		"outer":   {func(_ context.CancelFunc, outer, _ *Context) { outer.Cancel() }, 1, 0},
		"base":    {func(base context.CancelFunc, _, _ *Context) { base() }, 0, 1},
		"nothing": {func(context.CancelFunc, *Context, *Context) {}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			base, end := context.WithCancel(t.Context())
			defer end()
			var outer, inner Context
			outer.Init(base, time.Time{})
			inner.Init(&outer, time.Now().Add(time.Hour))
			w := make(waiter, 9)
			ended := Watch(&inner, w)
			c.end(end, &outer, &inner)
			closed := 0
			select {
			case <-ended:
				closed = 1
			default:
			}
			if len(w) != c.woken || closed != c.closed {
				t.Errorf("woken %d times and closed %d times", len(w), closed)
			}
			if ends := inner.Err() != nil; ends != (name != "nothing") {
				t.Errorf("Err is %v", inner.Err())
			}
			Unwatch(&inner, w)
			outer.Cancel()
			inner.Cancel()
			if len(w) != c.woken {
				t.Error("woken though no longer watching")
			}
		})
	}
}

// A second watcher, and one that comes late, have a channel instead.
func TestWatchByChannel(t *testing.T) {
	var c Context
	c.Init(t.Context(), time.Time{})
	first, second := make(waiter, 9), make(waiter, 9)
	_ = Watch(&c, first)
	ended := Watch(&c, second)
	Unwatch(&c, second)
	c.Cancel()
	<-ended
	if len(first) != 1 || len(second) != 0 {
		t.Errorf("woken %d and %d times", len(first), len(second))
	}
	<-Watch(&c, second)
	other, cancel := context.WithCancel(t.Context())
	cancel()
	<-Watch(other, second)
	Unwatch(other, second)
}
