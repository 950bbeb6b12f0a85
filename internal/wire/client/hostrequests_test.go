package client

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"github.com/toolhost/toolhost/sdk"
)

// servicesFunc are Services that answer calls of tools.
type servicesFunc func(ctx context.Context, tool string, arguments json.RawMessage) (*sdk.Result, error)

func (servicesFunc) Ask(context.Context, json.RawMessage) (json.RawMessage, error) {
	return nil, errors.New("no")
}

func (f servicesFunc) CallTool(ctx context.Context, tool string, arguments json.RawMessage) (*sdk.Result, error) {
	return f(ctx, tool, arguments)
}

func toolCall(id uint64, tool string) *pluginv1.CallEvent {
	return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Request{Request: &pluginv1.HostRequest{Id: id,
		Request: &pluginv1.HostRequest_Call{Call: &pluginv1.ToolCall{Tool: tool}}}}}
}

// replying is a plugin that keeps the replies that it gets.
type replying struct {
	*foreignPlugin
	replies chan *pluginv1.ReplyRequest
}

func (r replying) Reply(_ context.Context, m *pluginv1.ReplyRequest) (*pluginv1.ReplyResponse, error) {
	r.replies <- m
	return &pluginv1.ReplyResponse{}, nil
}

func TestRequestsThatBreakRules(t *testing.T) {
	for name, c := range map[string]struct {
		requests []*pluginv1.CallEvent
		want     string
	}{
		"two with one id": {[]*pluginv1.CallEvent{toolCall(7, "x"), toolCall(7, "y")},
			"two requests to the host have the id 7"},
		"a flood": {func() (all []*pluginv1.CallEvent) {
			for i := range 1000 {
				all = append(all, toolCall(uint64(i), "x"))
			}
			return all
		}(), "more than 64 requests to the host open at once"},
	} {
		var running, most int
		var mu sync.Mutex
		host := servicesFunc(func(ctx context.Context, _ string, _ json.RawMessage) (*sdk.Result, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			<-ctx.Done()
			return nil, sdk.EndedError(ctx)
		})
		plugin := script(nil, append(c.requests, last(&pluginv1.Result{}))...)
		overBoth(t, name, plugin, func(t *testing.T, client *Client) {
			_, err := client.Call(t.Context(), &sdk.Request{Tool: "x", Services: host})
			if b, ok := errors.AsType[*BrokenError](err); !ok || !strings.Contains(b.Error(), c.want) {
				t.Errorf("the call gives %v, want %s", err, c.want)
			}
			mu.Lock()
			defer mu.Unlock()
			if most > 2*maxRequests { // of two calls
				t.Errorf("%d requests ran", most)
			}
		})
	}
}

// Whatever the host has to say to a request, the plugin gets a reply.
func TestEveryRequestGetsAReply(t *testing.T) {
	big := strings.Repeat("x", 5<<20)
	for name, c := range map[string]struct {
		services sdk.Services
		want     string
	}{
		"no services": {nil, "NoHostServices"},
		"a panic": {servicesFunc(func(context.Context, string, json.RawMessage) (*sdk.Result, error) { panic("no") }),
			"Panic"},
		"nothing": {servicesFunc(func(context.Context, string, json.RawMessage) (*sdk.Result, error) { return nil, nil }),
			"NoResult"},
		"an error": {servicesFunc(func(context.Context, string, json.RawMessage) (*sdk.Result, error) {
			return nil, errors.New("odd")
		}), "NoResult"},
		"too large": {servicesFunc(func(context.Context, string, json.RawMessage) (*sdk.Result, error) {
			return sdk.Text(big), nil
		}), "ResultTooLarge"},
		"no UTF-8": {servicesFunc(func(context.Context, string, json.RawMessage) (*sdk.Result, error) {
			return &sdk.Result{Error: &sdk.Error{Name: "Odd\xff", Message: "\xff"}}, nil
		}), "Odd\uFFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := replying{&foreignPlugin{}, make(chan *pluginv1.ReplyRequest, 1)}
			p.call = func(send func(*pluginv1.CallEvent) error) error {
				if err := send(toolCall(3, "x")); err != nil {
					return err
				}
				reply := <-p.replies
				return send(last(&pluginv1.Result{Error: &pluginv1.Error{Name: reply.GetResult().GetError().GetName()}}))
			}
			r, err := clientOf(t, p).Call(t.Context(), &sdk.Request{Tool: "x", Services: c.services})
			if err != nil || r.Error == nil || r.Error.Name != c.want {
				t.Errorf("the plugin got %+v, %v, want %s", r, err, c.want)
			}
		})
	}
}

// A request that this version does not know gets a reply, and an event that the other end does not know is ignored.
func TestRequestsOfALaterTime(t *testing.T) {
	p := replying{&foreignPlugin{}, make(chan *pluginv1.ReplyRequest, 1)}
	p.call = func(send func(*pluginv1.CallEvent) error) error {
		unknown := &pluginv1.HostRequest{Id: 1}
		unknown.ProtoReflect().SetUnknown([]byte{0xfa, 0x01, 0x00}) // field 31
		if err := send(&pluginv1.CallEvent{Event: &pluginv1.CallEvent_Request{Request: unknown}}); err != nil {
			return err
		}
		reply := <-p.replies
		return send(last(&pluginv1.Result{Error: reply.GetResult().GetError()}))
	}
	host := servicesFunc(func(context.Context, string, json.RawMessage) (*sdk.Result, error) {
		return sdk.Text("done"),
			nil
	})
	r, err := clientOf(t, p).Call(t.Context(), &sdk.Request{Tool: "x", Services: host})
	if err != nil || r.Error == nil || r.Error.Name != "UnknownRequest" {
		t.Errorf("%+v, %v", r, err)
	}
	// What a host from before there were requests reads of one.
	raw, err := proto.Marshal(toolCall(1, "x"))
	if err != nil {
		t.Fatal(err)
	}
	var old pluginv1.Started
	if err := proto.Unmarshal(raw, &old); err != nil {
		t.Errorf("it is not a message for an old host: %v", err)
	}
}

// What comes after the result begins nothing.
func TestRequestAfterTheResult(t *testing.T) {
	calls := make(chan struct{}, 10)
	host := servicesFunc(func(context.Context, string, json.RawMessage) (*sdk.Result, error) {
		calls <- struct{}{}
		return sdk.Text("done"), nil
	})
	plugin := script(nil, last(&pluginv1.Result{}), toolCall(1, "x"))
	overBoth(t, "after the result", plugin, func(t *testing.T, c *Client) {
		for range 3 {
			if _, err := c.Call(t.Context(), &sdk.Request{Tool: "x", Services: host}); err != nil {
				t.Error(err)
			}
		}
		if len(calls) > 0 {
			t.Error("a request after the result was answered")
		}
	})
}

// The sdk keeps to the limit of open requests: more wait.
func TestSenderHoldsRequestsBack(t *testing.T) {
	sent := make(chan *pluginv1.CallEvent, 100)
	s := wire.NewSender(streamFunc(func(e *pluginv1.CallEvent) error { sent <- e; return nil }))
	for i := range wire.MaxRequests {
		if err := s.Request(t.Context(), &pluginv1.HostRequest{Id: uint64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Request(ctx, &pluginv1.HostRequest{Id: 99}); !errors.Is(err, context.Canceled) {
		t.Errorf("one more gives %v", err)
	}
	s.Answered()
	if err := s.Request(t.Context(), &pluginv1.HostRequest{Id: 100}); err != nil {
		t.Error(err)
	}
	if len(sent) != wire.MaxRequests+1 {
		t.Errorf("%d were sent", len(sent))
	}
}

type streamFunc func(*pluginv1.CallEvent) error

func (f streamFunc) Send(e *pluginv1.CallEvent) error { return f(e) }

// A request over the limits of events is an error for who asks: it would wait for an answer that never comes.
func TestSenderReportsRequestsOverTheLimits(t *testing.T) {
	s := wire.NewSender(streamFunc(func(*pluginv1.CallEvent) error { return nil }))
	for i := range 20_000 {
		err := s.Request(t.Context(), &pluginv1.HostRequest{Id: uint64(i)})
		if err == nil {
			s.Answered()
			continue
		}
		if !strings.Contains(err.Error(), "more than its host accepts") {
			t.Errorf("request %d: %v", i, err)
		}
		return
	}
	t.Error("20,000 requests at once are sent")
}
