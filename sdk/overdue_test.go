package sdk

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// lingering is a plugin with a call and a preview that ignore the end of their ctx until they are released.
func lingering() (p *Plugin, begun, release chan struct{}) {
	begun, release = make(chan struct{}), make(chan struct{})
	linger := func() { begun <- struct{}{}; <-release }
	p = New("p", "1.0.0")
	AddTool(p, Tool{Name: "x", Description: "For tests."}, func(context.Context, *Request, struct{}) (*Result, error) {
		linger()
		return Text("late"), nil
	})
	AddPreview(p, "x", func(context.Context, *Request, struct{}) (*Preview, error) {
		linger()
		return &Preview{}, nil
	})
	return p, begun, release
}

// memoryClient serves p in memory until the test ends.
func memoryClient(t *testing.T, p *Plugin) *Client {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	lis, ended := bufconn.Listen(1<<20), make(chan error, 1)
	go func() { ended <- ServeListener(ctx, p, lis) }()
	conn := dialMemory(t, lis)
	t.Cleanup(func() {
		stop()
		_ = conn.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return NewClient(conn)
}

func checkOverdue(t *testing.T, c *Client, grace time.Duration, handlers, late int) {
	t.Helper()
	if h, l, err := c.Overdue(t.Context(), grace); h != handlers || l != late || err != nil {
		t.Errorf("after %s %d handlers are overdue and %d late, %v; want %d and %d", grace, h, l, err, handlers, late)
	}
}

// Handlers count from the moment when their ctx ends, however that ends, until they return.
func TestOverdue(t *testing.T) {
	for name, c := range map[string]struct {
		end func(giveUp func())
		run func(ctx context.Context, c *Client) error
	}{
		"a call that is canceled": {func(giveUp func()) { giveUp() }, func(ctx context.Context, c *Client) error {
			_, err := c.Call(ctx, &Request{Tool: "x"})
			return err
		}},
		"a preview that is canceled": {func(giveUp func()) { giveUp() }, func(ctx context.Context, c *Client) error {
			_, err := c.Preview(ctx, &Request{Tool: "x"})
			return err
		}},
		"a call whose deadline passes": {func(func()) {}, func(ctx context.Context, c *Client) error {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			_, err := c.Call(ctx, &Request{Tool: "x"})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, begun, release := lingering()
				client := memoryClient(t, p)
				ctx, giveUp := context.WithCancel(t.Context())
				defer giveUp()
				ended := make(chan error, 3)
				for range 3 {
					go func() { ended <- c.run(ctx, client) }()
					<-begun
				}
				checkOverdue(t, client, 0, 0, 0)
				c.end(giveUp)
				for range 3 {
					if CodeOf(<-ended) == "" {
						t.Error("a call has a result")
					}
				}
				checkOverdue(t, client, 0, 3, 3)
				synctest.Wait()
				time.Sleep(time.Hour - time.Nanosecond)
				checkOverdue(t, client, time.Hour, 3, 0)
				time.Sleep(time.Millisecond)
				checkOverdue(t, client, time.Hour, 3, 3)
				release <- struct{}{}
				synctest.Wait()
				checkOverdue(t, client, time.Hour, 2, 2)
				close(release)
				synctest.Wait()
				checkOverdue(t, client, 0, 0, 0)
			})
		})
	}
}

// Strange questions and answers are numbers that make sense, and a plugin that cannot tell is known.
func TestOverdueOfStrangers(t *testing.T) {
	if _, _, err := clientOf(t, pluginv1.UnimplementedPluginServiceServer{}).Overdue(t.Context(), 0); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a plugin that cannot tell gives %v", err)
	}
	h, l, err := clientOf(t, miscounting{&stranger{}}).Overdue(t.Context(), 0)
	if h != 0 || l != math.MaxInt32 || err != nil {
		t.Errorf("it tells of %d and %d, %v", h, l, err)
	}
	s := &server{}
	ctx, cancel := context.WithCancel(t.Context())
	defer s.overdue.watch(ctx)()
	cancel()
	for grace, late := range map[int64]int64{math.MinInt64: 1, -1: 1, 0: 1, math.MaxInt64: 0} {
		if r, err := s.Overdue(t.Context(), &pluginv1.OverdueRequest{GraceMs: grace}); r.GetHandlers() != 1 || r.GetLate() != late || err != nil {
			t.Errorf("a grace of %d gives %v, %v", grace, r, err)
		}
	}
}

// A miscounting plugin counts as nobody can.
type miscounting struct{ *stranger }

func (miscounting) Overdue(context.Context, *pluginv1.OverdueRequest) (*pluginv1.OverdueResponse, error) {
	return &pluginv1.OverdueResponse{Handlers: -1, Late: math.MaxInt64}, nil
}
