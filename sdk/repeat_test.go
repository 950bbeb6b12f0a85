package sdk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// counting is a server whose tool x counts how often it runs, and waits for release.
func counting(t *testing.T, runs *atomic.Int32, release <-chan struct{}) *server {
	t.Helper()
	p := New("p", "1.0.0")
	p.AddRawTool(Tool{Name: "x", Description: "For tests.", InputSchema: []byte(`{"type":"object"}`)}, func(context.Context, *Request) (*Result, error) {
		runs.Add(1)
		<-release
		return Text("done"), nil
	})
	return &server{plugin: p, base: t.Context()}
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func checkRepeat(t *testing.T, err error) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != CodeProtocol || e.Name != "Repeated" || e.Outcome != OutcomeUnknown || !strings.Contains(e.Message, "repeat") {
		t.Errorf("error is %#v", err)
	}
}

func TestARepeatIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		first, second Request
		runs          int32
	}{
		"the same call":              {Request{CallID: "1"}, Request{CallID: "1"}, 1},
		"a second attempt":           {Request{CallID: "1", Attempt: 1}, Request{CallID: "1", Attempt: 2}, 1},
		"the same run":               {Request{CallID: "1", RunID: "a"}, Request{CallID: "2", RunID: "a"}, 1},
		"another run of the same id": {Request{CallID: "1", RunID: "a"}, Request{CallID: "1", RunID: "b"}, 2},
		"another call":               {Request{CallID: "1"}, Request{CallID: "2"}, 2},
		"no ids":                     {Request{}, Request{}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var runs atomic.Int32
			client := clientOf(t, counting(t, &runs, closed()))
			c.first.Tool, c.second.Tool = "x", "x"
			if r, err := client.Call(t.Context(), &c.first); err != nil || r.Error != nil {
				t.Fatal(r, err)
			}
			_, err := client.Call(t.Context(), &c.second)
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

// The first run goes on undisturbed.
func TestARepeatOfARunningCallIsRefused(t *testing.T) {
	var runs atomic.Int32
	release := make(chan struct{})
	client := clientOf(t, counting(t, &runs, release))
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := client.Call(t.Context(), &Request{CallID: "1", Tool: "x", Events: func(e Event) { close(started) }})
		ended <- err
	}()
	<-started
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := client.Call(ctx, &Request{CallID: "1", Tool: "x"})
	close(release)
	checkRepeat(t, err)
	if err := <-ended; err != nil || runs.Load() != 1 {
		t.Errorf("%d runs, %v", runs.Load(), err)
	}
}

// gRPC brings a call twice when it is told that the first was not looked at, though retries are off.
func TestGRPCBringsACallTwice(t *testing.T) {
	var runs atomic.Int32
	lis := bufconn.Listen(1 << 20)
	g := grpc.NewServer()
	pluginv1.RegisterPluginServiceServer(g, counting(t, &runs, closed()))
	go func() { _ = g.Serve(lis) }()
	t.Cleanup(g.Stop)
	conn, err := grpc.NewClient("passthrough:memory", append(DialOptions(0), grpc.WithContextDialer(refusing(lis)),
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, err = NewClient(conn).Call(t.Context(), &Request{CallID: "1", Tool: "x"})
	checkRepeat(t, err)
	g.GracefulStop() // the first was accepted, and may only be about to run
	if runs.Load() != 1 {
		t.Errorf("%d runs", runs.Load())
	}
}

// refusing connects through a peer that says of the first stream, once the server has begun to answer on it, that it was
// never looked at.
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

// passRefusing passes HTTP/2 frames on. https://www.rfc-editor.org/rfc/rfc9113#section-4.1
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

// What is remembered is bounded; what runs is never forgotten.
func TestMemoryIsBounded(t *testing.T) {
	var m memory
	if !m.begin("running") {
		t.Fatal("a new call is not new")
	}
	for i := range 3 * maxEnded {
		id := fmt.Sprint(i)
		if !m.begin(id) {
			t.Fatalf("call %s is not new", id)
		}
		m.end(id)
	}
	if n := len(m.known); n != maxEnded+1 || len(m.ended) != maxEnded {
		t.Errorf("%d calls are known, want %d", n, maxEnded+1)
	}
	for id, fresh := range map[string]bool{"running": false, "0": true, fmt.Sprint(2 * maxEnded): false, fmt.Sprint(3*maxEnded - 1): false} {
		if m.begin(id) != fresh {
			t.Errorf("call %s is new: %t, want %t", id, !fresh, fresh)
		}
	}
}

// A request that is too large to be sent, or whose ctx has ended, is one that nobody got.
func TestNotSent(t *testing.T) {
	var runs atomic.Int32
	client := clientOf(t, counting(t, &runs, closed()))
	r, err := client.Call(t.Context(), &Request{Tool: "x", Arguments: make([]byte, MaxArguments+1)})
	if err != nil || r.Error == nil || r.Error.Outcome != OutcomeNotSent {
		t.Errorf("arguments too large: %+v, %v", r, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = client.Call(ended, &Request{Tool: "x"})
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeCanceled || e.Outcome != OutcomeNotSent {
		t.Errorf("ctx has ended: %#v", err)
	}
	if runs.Load() != 0 {
		t.Errorf("%d runs", runs.Load())
	}
}
