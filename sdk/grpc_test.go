package sdk_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// listening serves p in memory and returns a client, and what ServeListener returns.
func listening(t testing.TB, ctx context.Context, p *sdk.Plugin) (*client.Client, *bufconn.Listener, <-chan error) {
	t.Helper()
	lis, ended := bufconn.Listen(1<<20), make(chan error, 1)
	go func() { ended <- sdktest.ServeListener(ctx, p, lis) }()
	conn := must(grpc.NewClient("passthrough:memory", append(wire.DialOptions(0),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))...))
	t.Cleanup(func() { _ = conn.Close() })
	return client.New(conn), lis, ended
}

// waiting is a plugin whose handler waits for its ctx, reports that, and then waits for leave.
func waiting() (p *sdk.Plugin, reported, leave chan struct{}) {
	reported, leave = make(chan struct{}), make(chan struct{})
	return with(func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		r.Progress(0, 0, "it runs")
		<-ctx.Done()
		close(reported)
		<-leave
		return sdk.Text("cleaned up"), nil
	}), reported, leave
}

// call makes a call in the background and returns when the handler runs.
func call(t *testing.T, c *client.Client) <-chan *sdk.Result {
	t.Helper()
	running, out := make(chan struct{}), make(chan *sdk.Result, 1)
	go func() {
		result, _ := c.Call(t.Context(), &sdk.Request{Tool: "x", Events: func(e sdk.Event) {
			if e.Type == sdk.EventProgress {
				close(running)
			}
		}})
		out <- result
	}()
	<-running
	return out
}

// However serving ends, ServeListener cancels the handlers and returns after them.
func TestServeListenerWaitsForCalls(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(stop context.CancelFunc, lis net.Listener)
		fails bool
	}{
		"when its ctx ends":         {func(stop context.CancelFunc, _ net.Listener) { stop() }, false},
		"when its listener is gone": {func(_ context.CancelFunc, lis net.Listener) { _ = lis.Close() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				p, reported, leave := waiting()
				client, lis, ended := listening(t, ctx, p)
				result := call(t, client)
				c.end(stop, lis)
				<-reported
				synctest.Wait()
				if len(ended) > 0 {
					t.Error("it returned while a call ran")
				}
				close(leave)
				if err := <-ended; (err != nil) != c.fails {
					t.Errorf("it returns %v", err)
				}
				if r := <-result; (r == nil) != c.fails {
					t.Errorf("the call gives %+v", r)
				}
			})
		})
	}
}

func TestServeListenerThatNeverBegins(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, lis, ended := listening(t, ctx, sdk.New("p", "1.0.0"))
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := lis.Accept(); err == nil {
		t.Error("the listener is still open")
	}
}

func TestWatchEndsWithThePlugin(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	c, _, ended := listening(t, ctx, sdk.New("p", "1.0.0"))
	err := c.Watch(t.Context(), stop)
	if _, ok := errors.AsType[*client.BrokenError](err); !ok {
		t.Errorf("Watch ends with %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
