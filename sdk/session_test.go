package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// sessions is a client of p in memory that makes its calls over a session.
func sessions(t *testing.T, p *sdk.Plugin) *client.Client {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	c, lis, ended := listening(t, ctx, p)
	c.UseSessions(lis.DialContext, "")
	t.Cleanup(func() { stop(); <-ended })
	if _, err := c.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// Concurrent calls each get their own events, in order, and their own result, small or large.
func TestCallsOfASessionDoNotMix(t *testing.T) {
	c := sessions(t, with(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		var in struct{ N, Size int }
		if err := json.Unmarshal(r.Arguments, &in); err != nil {
			return nil, err
		}
		for i := range in.N % 7 {
			r.Progress(float64(i), 0, "%d", in.N)
		}
		return sdk.Text(strings.Repeat(fmt.Sprint(in.N%10), in.Size)), nil
	}))
	var all sync.WaitGroup
	for i := range 300 {
		all.Go(func() {
			size, seen := []int{0, 1, 1000, 300 << 10, 3 << 20}[i%5*(i%11/10)], 0
			r, err := c.Call(t.Context(), &sdk.Request{Tool: "x", RunID: fmt.Sprint("run", i),
				Arguments: json.RawMessage(fmt.Sprintf(`{"N":%d,"Size":%d}`, i, size)), Events: func(e sdk.Event) {
					if e.Type != sdk.EventProgress {
						return
					}
					if e.Done != float64(seen) || e.Message != fmt.Sprint(i) {
						t.Errorf("call %d got the event %+v", i, e)
					}
					seen++
				}})
			switch {
			case err != nil:
				t.Errorf("call %d: %v", i, err)
			case r.Content[0].Text != strings.Repeat(fmt.Sprint(i%10), size) || seen != i%7:
				t.Errorf("call %d: %d events, and a text of %d bytes", i, seen, len(r.Content[0].Text))
			}
		})
	}
	all.Wait()
}

// Canceling a call ends the context of its handler, and of no other.
func TestCancelInASession(t *testing.T) {
	begun, canceled := make(chan struct{}, 2), make(chan string, 2)
	c := sessions(t, with(func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		begun <- struct{}{}
		<-ctx.Done()
		canceled <- r.CallID
		return nil, ctx.Err()
	}))
	other, end := context.WithCancel(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { _, err := c.Call(other, &sdk.Request{Tool: "x", CallID: "other"}); ended <- err }()
	go func() { _, err := c.Call(ctx, &sdk.Request{Tool: "x", CallID: "mine"}); ended <- err }()
	<-begun
	<-begun
	cancel()
	if err := <-ended; sdk.CodeOf(err) != sdk.CodeCanceled {
		t.Error(err)
	}
	if id := <-canceled; id != "mine" {
		t.Errorf("the context of %q ended", id)
	}
	end()
	if id := <-canceled; id != "other" {
		t.Errorf("the context of %q ended", id)
	}
	<-ended
}

func TestRepeatInASession(t *testing.T) {
	c := sessions(t, with(func(context.Context, *sdk.Request) (*sdk.Result, error) { return sdk.Text("ran"), nil }))
	r := &sdk.Request{Tool: "x", RunID: "one"}
	if _, err := c.Call(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	_, err := c.Call(t.Context(), r)
	if e, _ := errors.AsType[*sdk.Error](err); e == nil || e.Name != "Repeated" {
		t.Errorf("error %v", err)
	}
}

// A handler has the same deadline as its caller.
func TestDeadlineInASession(t *testing.T) {
	left := make(chan bool, 1)
	c := sessions(t, with(func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) {
		_, has := ctx.Deadline()
		left <- has
		return sdk.Text(""), nil
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 1e12)
	defer cancel()
	for want, ctx := range map[bool]context.Context{true: ctx, false: t.Context()} {
		if _, err := c.Call(ctx, &sdk.Request{Tool: "x"}); err != nil {
			t.Error(err)
		}
		if got := <-left; got != want {
			t.Errorf("a deadline: %v, want %v", got, want)
		}
	}
}

// A long call reports that it has begun before it ends.
func TestStartedInASession(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	c := sessions(t, with(func(context.Context, *sdk.Request) (*sdk.Result, error) {
		<-release
		return sdk.Text(""),
			nil
	}))
	ended := make(chan error, 1)
	go func() {
		_, err := c.Call(t.Context(), &sdk.Request{Tool: "x", Events: func(e sdk.Event) {
			if e.Type == sdk.EventStarted {
				close(started)
			}
		}})
		ended <- err
	}()
	<-started
	close(release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Compare the two: what a session saves on a call of 100 bytes.
func BenchmarkStreams(b *testing.B) {
	for _, callers := range []int{1, 16} {
		for _, how := range []string{"call", "session"} {
			b.Run(fmt.Sprintf("%s/callers=%d", how, callers), func(b *testing.B) {
				ctx, stop := context.WithCancel(context.Background())
				c, lis, ended := listening(b, ctx, with(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
					return sdk.Text(string(r.Arguments)), nil
				}))
				defer func() { stop(); <-ended }()
				if how == "session" {
					c.UseSessions(lis.DialContext, "")
					if _, err := c.Describe(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				arguments := json.RawMessage(`{"x":"` + strings.Repeat("x", 90) + `"}`)
				b.ReportAllocs()
				b.SetParallelism(callers)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if _, err := c.Call(b.Context(), &sdk.Request{Tool: "x", Arguments: arguments}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}

// A small call of a session costs what it allocates, at both ends together. The limit has a quarter of room.
func TestAllocationsInASession(t *testing.T) {
	c := sessions(t, with(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		return sdk.Text(string(r.Arguments)), nil
	}))
	arguments := json.RawMessage(`{"x":"` + strings.Repeat("x", 90) + `"}`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	n := testing.AllocsPerRun(300, func() {
		if _, err := c.Call(ctx, &sdk.Request{Tool: "x", Arguments: arguments}); err != nil {
			t.Fatal(err)
		}
	})
	if n > 26 {
		t.Errorf("%v allocations a call", n)
	}
}

// A result may have as many parts in a session as in a call of its own.
func TestSessionWithManyParts(t *testing.T) {
	c := sessions(t, with(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		return &sdk.Result{Content: slices.Repeat([]sdk.Content{{Type: "x", Raw: json.RawMessage(`{"type":"x"}`)}}, len(r.Arguments)*1000)}, nil
	}))
	for arguments, want := range map[string]string{`{  }`: "", `{   }`: "E_RESULT_TOO_LARGE"} {
		result, err := c.Call(t.Context(), &sdk.Request{CallID: arguments, Tool: "x", Arguments: json.RawMessage(arguments)})
		switch {
		case err != nil:
			t.Fatalf("%d thousand parts: %v", len(arguments), err)
		case want == "" && (result.Error != nil || len(result.Content) != 4000):
			t.Errorf("%d parts, %v", len(result.Content), result.Error)
		case want != "" && (result.Error == nil || string(result.Error.Code) != want):
			t.Errorf("%+v", result.Error)
		}
	}
}
