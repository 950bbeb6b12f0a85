package client

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
)

// A foreignPlugin is written with some other kit, and may break every rule.
type foreignPlugin struct {
	pluginv1.UnimplementedPluginServiceServer
	call func(send func(*pluginv1.CallEvent) error) error
}

func (s *foreignPlugin) Call(_ *pluginv1.CallRequest, stream grpc.ServerStreamingServer[pluginv1.CallEvent]) error {
	return s.call(stream.Send)
}

// An oversizedPlugin is a foreignPlugin that has more of everything than fits.
type oversizedPlugin struct{ *foreignPlugin }

func (oversizedPlugin) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	return &pluginv1.DescribeResponse{Tools: emptyTools(1 << 17)}, nil
}

func (oversizedPlugin) Preview(context.Context, *pluginv1.PreviewRequest) (*pluginv1.PreviewResponse, error) {
	return &pluginv1.PreviewResponse{Content: emptyContents(1 << 17)}, nil
}

// A longNamesPlugin is a foreignPlugin whose words for itself are as long as it likes.
type longNamesPlugin struct {
	*foreignPlugin
	word string
}

func (b longNamesPlugin) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	return &pluginv1.DescribeResponse{Name: b.word, Version: b.word, Sdk: b.word}, nil
}

// clientOf connects to a server in memory, with no limit on what that may send.
func clientOf(t *testing.T, s pluginv1.PluginServiceServer) *Client {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	var sessions sync.WaitGroup
	g := grpc.NewServer(grpc.WaitForHandlers(true), grpc.Creds(wire.WithSessions(insecure.NewCredentials(), "",
		func(f *wire.Frames) {
			sessions.Go(func() {
				defer f.Close()
				if s, able := s.(interface{ session(s sessionStream) error }); able {
					_ = s.session(sessionStream{f})
				}
			})
		})))
	pluginv1.RegisterPluginServiceServer(g, s)
	served := make(chan error, 1)
	go func() { served <- g.Serve(lis) }()
	conn := dialMemory(t, lis)
	c := New(conn)
	c.UseSessions(lis.DialContext, "")
	t.Cleanup(func() {
		_ = conn.Close()
		c.Close()
		g.Stop()
		sessions.Wait()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) { // stopped before it began
			t.Error(err)
		}
	})
	return c
}

// dialMemory connects as a host does.
func dialMemory(t *testing.T, lis *bufconn.Listener) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:memory", append(wire.DialOptions(0),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// script sends events in order and ends the call with err.
func script(err error, events ...*pluginv1.CallEvent) *foreignPlugin {
	return &foreignPlugin{call: func(send func(*pluginv1.CallEvent) error) error {
		for _, e := range events {
			if err := send(e); err != nil {
				return err
			}
		}
		return err
	}}
}

// endless sends one event again and again.
func endless(e *pluginv1.CallEvent) *foreignPlugin {
	return &foreignPlugin{call: func(send func(*pluginv1.CallEvent) error) error {
		for {
			if err := send(e); err != nil {
				return err
			}
		}
	}}
}

func xs(n int) string { return strings.Repeat("x", n) }

func emptyContents(n int) []*pluginv1.Content {
	out := make([]*pluginv1.Content, n)
	for i := range out {
		out[i] = &pluginv1.Content{}
	}
	return out
}

func emptyTools(n int) []*pluginv1.Tool {
	out := make([]*pluginv1.Tool, n)
	for i := range out {
		out[i] = &pluginv1.Tool{}
	}
	return out
}

func part(c *pluginv1.Content, size int64) *pluginv1.CallEvent {
	return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Part{Part: &pluginv1.Part{Content: c, Size: size}}}
}

func textPart(text string, size int64) *pluginv1.CallEvent {
	return part(&pluginv1.Content{Type: "text", Text: []byte(text)}, size)
}

func piece(data string) *pluginv1.CallEvent {
	return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_More{More: &pluginv1.More{Data: []byte(data)}}}
}

func last(r *pluginv1.Result) *pluginv1.CallEvent {
	return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Result{Result: r}}
}

func progressEvent(done float64) *pluginv1.CallEvent {
	return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Progress{Progress: &pluginv1.Progress{Done: done}}}
}

func logEvent(message string, attributes []byte) *pluginv1.CallEvent {
	return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Log{Log: &pluginv1.Log{Level: "error", Message: message,
		Attributes: attributes}}}
}

func outputEvent(stream string, data []byte) *pluginv1.CallEvent {
	return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Output{Output: &pluginv1.Output{Stream: stream, Data: data}}}
}

var startedEvent = &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Started{Started: &pluginv1.Started{}}}

// overBoth runs a test of a foreignPlugin over streams of Call and over a session.
func overBoth(t *testing.T, name string, s *foreignPlugin, test func(t *testing.T, c *Client)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Run("call", func(t *testing.T) { test(t, clientOf(t, s)) })
		t.Run("session", func(t *testing.T) { test(t, sessionClientOf(t, sessioned{s})) })
	})
}

// sessionClientOf is clientOf for a plugin that has sessions, and has said so.
func sessionClientOf(t *testing.T, s pluginv1.PluginServiceServer) *Client {
	t.Helper()
	c := clientOf(t, s)
	if _, err := c.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// A sessioned foreignPlugin makes its calls over sessions too.
type sessioned struct{ *foreignPlugin }

func (sessioned) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	return &pluginv1.DescribeResponse{Sessions: true}, nil
}

// A sessionStream is a plugin's end of a session.
type sessionStream struct{ frames *wire.Frames }

func (s sessionStream) Send(m *pluginv1.SessionEvent) error {
	return s.frames.Send(context.Background(), nil, wire.Proto{Message: m}, false)
}

func (s sessionStream) Recv() (*pluginv1.SessionRequest, error) {
	frame, err := s.frames.Next()
	if err != nil {
		return nil, err
	}
	var m pluginv1.SessionRequest
	return &m, proto.Unmarshal(frame, &m)
}

func (s sessioned) session(stream sessionStream) error {
	var calls sync.WaitGroup
	defer calls.Wait()
	all, end := context.WithCancel(context.Background())
	defer end()
	running := map[uint64]context.CancelFunc{}
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		if m.GetCall() == nil {
			running[m.GetId()]()
			continue
		}
		ctx, cancel := context.WithCancel(all)
		running[m.GetId()] = cancel
		calls.Go(func() {
			defer cancel()
			err := s.call(func(e *pluginv1.CallEvent) error {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return stream.Send(&pluginv1.SessionEvent{Id: m.GetId(), Events: []*pluginv1.CallEvent{e}})
			})
			st := status.Convert(err)
			_ = stream.Send(&pluginv1.SessionEvent{Id: m.GetId(), // the session may have ended
				Status: &pluginv1.Status{Code: int32(st.Code()), Message: st.Message()}})
		})
	}
}
