package sdk_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
)

// counting is a plugin whose tool x counts its runs, and waits for release.
func counting(runs *atomic.Int32, release <-chan struct{}) *sdk.Plugin {
	return with(func(context.Context, *sdk.Request) (*sdk.Result, error) {
		runs.Add(1)
		<-release
		return sdk.Text("done"), nil
	})
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func checkRepeat(t *testing.T, err error) {
	t.Helper()
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok || e.Code != sdk.CodeProtocol || e.Name != "Repeated" || e.Outcome != sdk.OutcomeUnknown ||
		!strings.Contains(e.Message, "repeat") || e.Suggestion == "" {
		t.Errorf("error is %#v", err)
	}
}

func TestRepeatIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		first, second sdk.Request
		runs          int32
	}{
		"the same call":              {sdk.Request{CallID: "1"}, sdk.Request{CallID: "1"}, 1},
		"a second attempt":           {sdk.Request{CallID: "1", Attempt: 1}, sdk.Request{CallID: "1", Attempt: 2}, 1},
		"the same run":               {sdk.Request{CallID: "1", RunID: "a"}, sdk.Request{CallID: "2", RunID: "a"}, 1},
		"another run of the same id": {sdk.Request{CallID: "1", RunID: "a"}, sdk.Request{CallID: "1", RunID: "b"}, 2},
		"another call":               {sdk.Request{CallID: "1"}, sdk.Request{CallID: "2"}, 2},
		"no ids":                     {sdk.Request{}, sdk.Request{}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var runs atomic.Int32
			p := sdktest.Start(t, counting(&runs, closed()))
			c.first.Tool, c.second.Tool = "x", "x"
			if r, err := p.Call(t.Context(), &c.first); err != nil || r.Error != nil {
				t.Fatal(r, err)
			}
			_, err := p.Call(t.Context(), &c.second)
			if runs.Load() != c.runs {
				t.Errorf("%d runs, want %d", runs.Load(), c.runs)
			}
			if c.runs == 1 {
				checkRepeat(t, err)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// The first run continues undisturbed.
func TestRepeatOfARunningCallIsRefused(t *testing.T) {
	var runs atomic.Int32
	release := make(chan struct{})
	p := sdktest.Start(t, counting(&runs, release))
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := p.Call(t.Context(), &sdk.Request{CallID: "1", Tool: "x", Events: func(e sdk.Event) { close(started) }})
		ended <- err
	}()
	<-started
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := p.Call(ctx, &sdk.Request{CallID: "1", Tool: "x"})
	close(release)
	checkRepeat(t, err)
	if err := <-ended; err != nil || runs.Load() != 1 {
		t.Errorf("%d runs, %v", runs.Load(), err)
	}
}

// gRPC sends a call twice when the peer says that it did not process the first one, even without retries.
func TestGRPCBringsACallTwice(t *testing.T) {
	var runs atomic.Int32
	lis, ended := bufconn.Listen(1<<20), make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { ended <- sdktest.ServeListener(ctx, counting(&runs, closed()), lis) }()
	conn, err := grpc.NewClient("passthrough:memory", append(wire.DialOptions(0), grpc.WithContextDialer(refusing(lis)),
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, err = client.New(conn).Call(t.Context(), &sdk.Request{CallID: "1", Tool: "x"})
	checkRepeat(t, err)
	stop() // the first was accepted, and may be about to run
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if runs.Load() != 1 {
		t.Errorf("%d runs", runs.Load())
	}
}

// refusing connects through a proxy that reports the first stream as not processed, once the server has begun to
// answer on it.
func refusing(lis *bufconn.Listener) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, _ string) (net.Conn, error) {
		server, err := lis.DialContext(ctx)
		if err != nil {
			return nil, err
		}
		client, peer := net.Pipe()
		go func() { _, _ = io.Copy(server, peer); _ = server.Close() }()
		go func() { _ = passRefusing(peer, server); _ = peer.Close() }()
		return client, nil
	}
}

// passRefusing forwards HTTP/2 frames. https://www.rfc-editor.org/rfc/rfc9113#section-4.1
func passRefusing(to io.Writer, from io.Reader) error {
	const headers, rstStream, refusedStream = 1, 3, 7
	for refused := false; ; {
		var head [9]byte
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return err
		}
		if head[3] == headers && !refused {
			refused = true
			frame := append([]byte{0, 0, 4, rstStream, 0}, head[5:]...)
			if _, err := to.Write(binary.BigEndian.AppendUint32(frame, refusedStream)); err != nil {
				return err
			}
		}
		if _, err := to.Write(head[:]); err != nil {
			return err
		}
		size := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(to, from, size); err != nil {
			return err
		}
	}
}

// A request that is too large to send, or whose ctx has ended, is not sent.
func TestNotSent(t *testing.T) {
	var runs atomic.Int32
	p := sdktest.Start(t, counting(&runs, closed()))
	r, err := p.Call(t.Context(), &sdk.Request{Tool: "x", Arguments: make([]byte, sdk.MaxArguments+1)})
	if err != nil || r.Error == nil || r.Error.Outcome != sdk.OutcomeNotSent {
		t.Errorf("arguments too large: %+v, %v", r, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Call(ended, &sdk.Request{Tool: "x"})
	if e, ok := errors.AsType[*sdk.Error](err); !ok || e.Code != sdk.CodeCanceled || e.Outcome != sdk.OutcomeNotSent {
		t.Errorf("ctx has ended: %#v", err)
	}
	if runs.Load() != 0 {
		t.Errorf("%d runs", runs.Load())
	}
}

// lingering is a plugin with a call and a preview that ignore the end of their ctx until they are released.
func lingering() (p *sdk.Plugin, begun, release chan struct{}) {
	begun, release = make(chan struct{}), make(chan struct{})
	linger := func() { begun <- struct{}{}; <-release }
	p = sdk.New("p", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "x", Description: "For tests."}, func(context.Context, *sdk.Request,
		struct{}) (*sdk.Result, error) {
		linger()
		return sdk.Text("late"), nil
	})
	sdk.AddPreview(p, "x", func(context.Context, *sdk.Request, struct{}) (*sdk.Preview, error) {
		linger()
		return &sdk.Preview{}, nil
	})
	return p, begun, release
}

func checkOverdue(t *testing.T, c *client.Client, grace time.Duration, handlers, late int) {
	t.Helper()
	if h, l, err := c.Overdue(t.Context(), grace); h != handlers || l != late || err != nil {
		t.Errorf("after %s %d handlers are overdue and %d late, %v; want %d and %d", grace, h, l, err, handlers, late)
	}
}

// Handlers count as overdue from the end of their ctx, for whatever reason, until they return.
func TestOverdue(t *testing.T) {
	for name, c := range map[string]struct {
		end func(giveUp func())
		run func(ctx context.Context, c *client.Client) error
	}{
		"a call that is canceled": {func(giveUp func()) { giveUp() }, func(ctx context.Context, c *client.Client) error {
			_, err := c.Call(ctx, &sdk.Request{Tool: "x"})
			return err
		}},
		"a preview that is canceled": {func(giveUp func()) { giveUp() }, func(ctx context.Context, c *client.Client) error {
			_, err := c.Preview(ctx, &sdk.Request{Tool: "x"})
			return err
		}},
		"a call whose deadline passes": {func(func()) {}, func(ctx context.Context, c *client.Client) error {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			_, err := c.Call(ctx, &sdk.Request{Tool: "x"})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, begun, release := lingering()
				serving, stop := context.WithCancel(t.Context())
				plugin, _, served := listening(t, serving, p)
				defer func() {
					stop()
					if err := <-served; err != nil {
						t.Error(err)
					}
				}()
				ctx, giveUp := context.WithCancel(t.Context())
				defer giveUp()
				ended := make(chan error, 3)
				for range 3 {
					go func() { ended <- c.run(ctx, plugin) }()
					<-begun
				}
				checkOverdue(t, plugin, 0, 0, 0)
				c.end(giveUp)
				for range 3 {
					if sdk.CodeOf(<-ended) == "" {
						t.Error("a call has a result")
					}
				}
				checkOverdue(t, plugin, 0, 3, 3)
				synctest.Wait()
				time.Sleep(time.Hour - time.Nanosecond)
				checkOverdue(t, plugin, time.Hour, 3, 0)
				time.Sleep(time.Millisecond)
				checkOverdue(t, plugin, time.Hour, 3, 3)
				release <- struct{}{}
				synctest.Wait()
				checkOverdue(t, plugin, time.Hour, 2, 2)
				close(release)
				synctest.Wait()
				checkOverdue(t, plugin, 0, 0, 0)
			})
		})
	}
}

// A plugin of this sdk drops events over its limits itself, and reports it.
func TestPluginDropsEventsOverTheLimit(t *testing.T) {
	p := sdk.New("p", "1")
	p.AddRawTool(sdk.Tool{Name: "x", Description: "floods", InputSchema: json.RawMessage(`{}`)},
		func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
			r.Output("stdout", make([]byte, 256<<20))
			return sdk.Text("done"), nil
		})
	output, reported := 0, 0
	result, err := sdktest.Start(t, p).Call(t.Context(), &sdk.Request{Tool: "x", Events: func(e sdk.Event) {
		output += len(e.Data)
		if strings.Contains(e.Message, "has too many events") {
			reported++
		}
	}})
	if err != nil || result.Error != nil {
		t.Fatal(result, err)
	}
	if output < 8<<20-wire.MaxEventData || reported != 1 {
		t.Errorf("%d bytes of output came, and %d last words", output, reported)
	}
}

// A plugin enforces the limits of requests even if the host does not.
func TestPluginRefusesRequestsOverTheLimit(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	lis, ended := bufconn.Listen(1<<20), make(chan error, 1)
	go func() { ended <- sdktest.ServeListener(ctx, sdk.New("p", "1.0.0"), lis) }()
	conn := must(grpc.NewClient("passthrough:memory", grpc.WithContextDialer(func(ctx context.Context,
		_ string) (net.Conn, error) {
		return lis.DialContext(ctx)
	}),
		grpc.WithTransportCredentials(insecure.NewCredentials())))
	defer func() {
		_ = conn.Close()
		stop()
		<-ended
	}()
	stream := must(pluginv1.NewPluginServiceClient(conn).Call(t.Context(),
		&pluginv1.CallRequest{Tool: "x", Arguments: make([]byte, sdk.MaxArguments+1)}))
	for {
		e, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if r := e.GetResult(); r != nil {
			if r.GetError().GetName() != "ArgumentsTooLarge" {
				t.Errorf("the plugin returns %v", r)
			}
			return
		}
	}
}

// In a test, the author of a result over the limits gets the host's error.
func TestResultsOverTheLimit(t *testing.T) {
	for name, r := range map[string]*sdk.Result{
		"text":      sdk.Text(strings.Repeat("x", sdk.MaxResult+1)),
		"MIME type": {Content: []sdk.Content{sdk.ImageContent(nil, strings.Repeat("x", 256))}},
		"parts":     {Content: make([]sdk.Content, 4001)},
	} {
		got, err := sdktest.Start(t, with(returns(r, nil))).Call(t.Context(), &sdk.Request{Tool: "x"})
		if err != nil || got.Error == nil || got.Error.Code != sdk.CodeResultTooLarge {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
