package sdk

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Whenever a handler looks at its context, it sees what context.WithDeadline would show.
func TestCallContext(t *testing.T) {
	closed := func(ctx context.Context) bool {
		select {
		case <-ctx.Done():
			return true
		default:
			return false
		}
	}
	type how = func(c *callContext, stop context.CancelFunc)
	nothing := func(*callContext, context.CancelFunc) {}
	for name, c := range map[string]struct {
		timeout time.Duration
		how     how
		want    error
	}{
		"runs":                    {0, nothing, nil},
		"runs within a deadline":  {time.Hour, nothing, nil},
		"ends":                    {time.Hour, func(c *callContext, _ context.CancelFunc) { c.end() }, context.Canceled},
		"ends without a deadline": {0, func(c *callContext, _ context.CancelFunc) { c.end() }, context.Canceled},
		"the session ends":        {time.Hour, func(_ *callContext, stop context.CancelFunc) { stop() }, context.Canceled},
		"the deadline passes": {time.Second, func(*callContext, context.CancelFunc) { time.Sleep(2 * time.Second) },
			context.DeadlineExceeded},
	} {
		for _, looked := range []string{"never", "at Err", "at Done", "through a child"} {
			t.Run(name+"/"+looked, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, stop := context.WithCancel(t.Context())
					defer stop()
					ctx := &callContext{parent: parent}
					if c.timeout > 0 {
						ctx.deadline = time.Now().Add(c.timeout)
					}
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
					ctx.end()
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
