package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"github.com/toolhost/toolhost/sdk"
)

// A raw plugin has a session of its own, which may break every rule.
type raw struct {
	sessioned
	serve func(stream sessionStream) error
}

func (r raw) session(stream sessionStream) error { return r.serve(stream) }

func result(id uint64, text string) *pluginv1.SessionEvent {
	return &pluginv1.SessionEvent{Id: id, Events: []*pluginv1.CallEvent{last(&pluginv1.Result{
		Content: []*pluginv1.Content{{Type: "text", Text: []byte(text)}}})}}
}

func TestSessionsThatBreakRules(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(stream sessionStream, id uint64) error
		want   string // of the result, or of the error
	}{
		"for another call": {func(s sessionStream, id uint64) error {
			return errors.Join(s.Send(result(id+1, "other")), s.Send(result(0, "none")), s.Send(result(id, "mine")))
		}, "mine"},
		"twice": {func(s sessionStream, id uint64) error {
			return errors.Join(s.Send(result(id, "mine")), s.Send(result(id, "again")))
		}, "mine"},
		"nothing": {func(s sessionStream, id uint64) error {
			return errors.Join(s.Send(&pluginv1.SessionEvent{}), s.Send(&pluginv1.SessionEvent{Id: id}),
				s.Send(&pluginv1.SessionEvent{Id: id, Events: make([]*pluginv1.CallEvent, 3)}), s.Send(result(id, "mine")))
		}, "mine"},
		"a status that is none": {func(s sessionStream, id uint64) error {
			return s.Send(&pluginv1.SessionEvent{Id: id, Status: &pluginv1.Status{}})
		}, "the plugin ended the call without a result"},
		"an odd status": {func(s sessionStream, id uint64) error {
			return s.Send(&pluginv1.SessionEvent{Id: id, Status: &pluginv1.Status{Code: -1, Message: "odd"}})
		}, "odd"},
		"the end of the session": {func(sessionStream, uint64) error { return io.EOF }, "broke: the connection of the session ended: it was closed"},
		"too many events at once": {func(s sessionStream, id uint64) error {
			return s.Send(&pluginv1.SessionEvent{Id: id, Events: make([]*pluginv1.CallEvent, 4001)})
		}, "4001 elements"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plugin := sessionClientOf(t, raw{sessioned: sessioned{&foreignPlugin{}}, serve: func(stream sessionStream) error {
				for {
					m, err := stream.Recv()
					if err != nil {
						return err
					}
					if m.GetCall() == nil {
						continue
					}
					if err := c.answer(stream, m.GetId()); errors.Is(err, io.EOF) {
						return nil
					} else if err != nil {
						return err
					}
				}
			}})
			for range 2 { // what breaks a session breaks the calls in it, and no later one
				r, err := plugin.Call(t.Context(), &sdk.Request{Tool: "x"})
				got := fmt.Sprint(err)
				if err == nil {
					got = r.Content[0].Text
				}
				if !strings.Contains(got, c.want) {
					t.Errorf("got %q, want %q", got, c.want)
				}
				if b, ok := errors.AsType[*BrokenError](err); ok && !b.Delivered {
					t.Error("it was delivered")
				}
			}
		})
	}
}

// A plugin that sends without end to calls that have ended loses the session, and the host learns it.
func TestFloodAfterTheEndOfACall(t *testing.T) {
	for name, m := range map[string]*pluginv1.SessionEvent{
		"results": result(1, "again"),
		"events":  {Id: 1, Events: []*pluginv1.CallEvent{{Event: &pluginv1.CallEvent_Started{Started: &pluginv1.Started{}}}}},
		"pieces": {Id: 1, Events: []*pluginv1.CallEvent{{Event: &pluginv1.CallEvent_More{
			More: &pluginv1.More{Data: make([]byte, 64<<10)}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused, flooded := make(chan error, 1), make(chan struct{})
			plugin := sessionClientOf(t, raw{sessioned: sessioned{&foreignPlugin{}}, serve: func(stream sessionStream) error {
				asked, err := stream.Recv()
				if err == nil {
					err = stream.Send(result(asked.GetId(), "mine"))
				}
				for sent := 0; err == nil && sent < 4*maxStrays; sent += strayCost {
					err = stream.Send(m)
				}
				refused <- err
				return nil
			}})
			plugin.OnFlood = sync.OnceFunc(func() { close(flooded) })
			if r, err := plugin.Call(t.Context(), &sdk.Request{Tool: "x"}); err != nil || r.Content[0].Text != "mine" {
				t.Fatal(r, err)
			}
			<-flooded
			if <-refused == nil {
				t.Error("all of it was read")
			}
		})
	}
}

// The large results of calls whose callers have gone are no flood, however many come at once.
func TestLargeResultsOfCanceledCallsAreNoFlood(t *testing.T) {
	const calls, large = 3, 40 << 20
	received, answers := make(chan struct{}, calls), atomic.Bool{}
	plugin := sessionClientOf(t, raw{sessioned: sessioned{&foreignPlugin{}}, serve: func(stream sessionStream) error {
		for canceled := []uint64{}; ; {
			m, err := stream.Recv()
			switch {
			case err != nil:
				return err
			case m.GetCancel() != nil:
				if canceled = append(canceled, m.GetId()); len(canceled) < calls {
					continue
				}
				for _, id := range canceled {
					piece := &pluginv1.CallEvent{Event: &pluginv1.CallEvent_More{More: &pluginv1.More{Data: make([]byte, 60<<10)}}}
					for sent := 0; err == nil && sent < large; sent += 60 << 10 {
						err = stream.Send(&pluginv1.SessionEvent{Id: id, Events: []*pluginv1.CallEvent{piece}})
					}
				}
				answers.Store(true)
			case answers.Load():
				err = stream.Send(result(m.GetId(), "mine"))
			default:
				received <- struct{}{}
			}
			if err != nil {
				return err
			}
		}
	}})
	plugin.OnFlood = func() { t.Error("a flood") }
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range calls {
		running.Go(func() {
			if _, err := plugin.Call(ctx, &sdk.Request{Tool: "x", MaxLarge: large}); err == nil {
				t.Error("the canceled call has a result")
			}
		})
	}
	for range calls {
		<-received
	}
	cancel()
	running.Wait()
	if r, err := plugin.Call(t.Context(), &sdk.Request{Tool: "x"}); err != nil || r.Content[0].Text != "mine" {
		t.Error(r, err)
	}
}

// Whatever a plugin's status is and says, the error is a line of bounded length.
func TestStatusesThatPluginsSend(t *testing.T) {
	const message = "odd \x1b[2J\n\u202e"
	for code := range int32(18) {
		plugin := sessionClientOf(t, raw{sessioned: sessioned{&foreignPlugin{}}, serve: func(stream sessionStream) error {
			m, err := stream.Recv()
			if err != nil {
				return err
			}
			_ = stream.Send(&pluginv1.SessionEvent{Id: m.GetId(), Status: &pluginv1.Status{Code: code,
				Message: message + xs(1<<20)}})
			_, err = stream.Recv() // the end
			return err
		}})
		_, err := plugin.Call(t.Context(), &sdk.Request{Tool: "x"})
		if err == nil || len(err.Error()) > 2*maxStatus || strings.ContainsAny(err.Error(), "\x1b\n\u202e") {
			t.Errorf("status %d: %.100q", code, fmt.Sprint(err))
		}
	}
}

// While a plugin does not read, callers still give up in time, and what was not sent counts as not sent.
func TestSessionOfAPluginThatDoesNotRead(t *testing.T) {
	release := make(chan struct{})
	plugin := sessionClientOf(t, raw{sessioned: sessioned{&foreignPlugin{}}, serve: func(stream sessionStream) error {
		<-release
		for {
			if _, err := stream.Recv(); err != nil {
				return err
			}
		}
	}})
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	outcomes := make(chan sdk.Outcome)
	const calls = 400 // of 100 KiB: more than flow control lets through
	for range calls {
		go func() {
			_, err := plugin.Call(ctx, &sdk.Request{Tool: "x", Arguments: []byte(`"` + xs(100<<10) + `"`)})
			e, _ := errors.AsType[*sdk.Error](err)
			if e == nil || e.Code != sdk.CodeTimeout {
				t.Errorf("error %v", err)
				e = &sdk.Error{}
			}
			outcomes <- e.Outcome
		}()
	}
	got := map[sdk.Outcome]int{}
	for range calls {
		got[<-outcomes]++
	}
	if got[sdk.OutcomeNotSent] == 0 || got[sdk.OutcomeUnknown] == 0 {
		t.Errorf("outcomes %v, want some of both", got)
	}
}

// A caller that is slow to take events holds no other call of the session back.
func TestSlowCallerDelaysNoOther(t *testing.T) {
	plugin := sessionClientOf(t, sessioned{&foreignPlugin{call: func(send func(*pluginv1.CallEvent) error) error {
		for i := range 200 {
			if err := send(progressEvent(float64(i))); err != nil {
				return err
			}
		}
		return send(last(&pluginv1.Result{}))
	}}})
	stuck, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		_, err := plugin.Call(t.Context(), &sdk.Request{Tool: "x", Events: func(sdk.Event) {
			once.Do(func() { close(stuck) })
			<-release
		}})
		ended <- err
	}()
	<-stuck
	for range 20 {
		if _, err := plugin.Call(t.Context(), &sdk.Request{Tool: "x"}); err != nil {
			t.Error(err)
		}
	}
	close(release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A plugin cannot have its host keep more of a call than the limits, however slow the caller is.
func TestInboxIsBounded(t *testing.T) {
	c := &pendingCall{request: &sdk.Request{}, wake: make(chan struct{}, 1)}
	for range 1000 {
		part := &pluginv1.Part{Content: &pluginv1.Content{Type: "text", Text: []byte(xs(60 << 10))}, Size: 60 << 10}
		c.deliver(&pluginv1.SessionEvent{Events: []*pluginv1.CallEvent{{Event: &pluginv1.CallEvent_Part{Part: part}}}})
	}
	if _, err := c.take(t.Context(), nil); sdk.CodeOf(err) != sdk.CodeResultTooLarge {
		t.Errorf("60 MB of a result: %v", err)
	}
	c = &pendingCall{request: &sdk.Request{}, wake: make(chan struct{}, 1)}
	c.deliver(&pluginv1.SessionEvent{Events: []*pluginv1.CallEvent{piece(xs(1))}})
	if _, err := c.take(t.Context(), nil); err == nil {
		t.Error("a piece of no part is taken")
	}
	c = &pendingCall{request: &sdk.Request{}, wake: make(chan struct{}, 1)}
	for range 2 * maxEvents {
		c.deliver(&pluginv1.SessionEvent{Events: []*pluginv1.CallEvent{progressEvent(1)}})
	}
	c.deliver(result(1, "the end"))
	events := 0
	r, err := c.take(t.Context(), &receiver{request: &sdk.Request{Events: func(sdk.Event) { events++ }}})
	if err != nil || r == nil || r.Content[0].Text != "the end" || events == 0 ||
		events > maxEvents+1 { // the last one says how many were dropped
		t.Errorf("%d events, %+v, %v", events, r, err)
	}
}

// What waits for a slow caller is bounded in bytes too, while it handles events as well. What is dropped is reported
// with the result.
func TestInboxIsBoundedInBytes(t *testing.T) {
	const size, sent = 64 << 10, 100
	c := &pendingCall{request: &sdk.Request{}, wake: make(chan struct{}, 1)}
	outputs := func() {
		for range sent {
			c.deliver(&pluginv1.SessionEvent{Events: []*pluginv1.CallEvent{outputEvent("stdout", make([]byte, size))}})
		}
	}
	outputs()
	got, note := 0, ""
	out := receiver{request: &sdk.Request{Events: func(e sdk.Event) {
		if e.Type == sdk.EventLog {
			note = e.Message
		} else if got++; got == 1 { // the others of the hundred are in memory
			outputs()
		}
	}}}
	if r, err := c.take(t.Context(), &out); r != nil || err != nil || got != sent {
		t.Fatalf("%d events, %+v, %v", got, r, err)
	}
	c.deliver(result(1, "the end"))
	if r, err := c.take(t.Context(), &out); err != nil || r == nil || r.Content[0].Text != "the end" {
		t.Fatalf("%+v, %v", r, err)
	}
	if got >= maxEventBytes/size || got < maxEventBytes/size-2 {
		t.Errorf("%d events of %d bytes were kept", got, size)
	}
	want := fmt.Sprintf("%d of the events came while earlier ones were still waiting", 2*sent-got)
	if !strings.Contains(note, want) {
		t.Errorf("the last event says %q, not %q", note, want)
	}
}

// A request to the host is kept where events for people are dropped; too many end the call.
func TestRequestsInTheInbox(t *testing.T) {
	ask := func(id uint64, arguments int) *pluginv1.CallEvent {
		return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Request{Request: &pluginv1.HostRequest{Id: id,
			Request: &pluginv1.HostRequest_Call{Call: &pluginv1.ToolCall{Tool: "x", Arguments: make([]byte, arguments)}}}}}
	}
	withdraw := func(id uint64) *pluginv1.CallEvent {
		return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Request{Request: &pluginv1.HostRequest{Id: id,
			Request: &pluginv1.HostRequest_Cancel{Cancel: &pluginv1.Cancel{}}}}}
	}
	begin := func(events ...*pluginv1.CallEvent) *pendingCall {
		c := &pendingCall{request: &sdk.Request{}, wake: make(chan struct{}, 1)}
		for _, e := range events {
			c.deliver(&pluginv1.SessionEvent{Events: []*pluginv1.CallEvent{e}})
		}
		return c
	}
	synctest.Test(t, func(t *testing.T) { // only there does a minute pass, and no more
		var events []*pluginv1.CallEvent
		for range 130 { // more than fits
			events = append(events, outputEvent("stdout", make([]byte, 64<<10)))
		}
		for id := range uint64(maxRequests) {
			events = append(events, ask(id, 1), withdraw(id))
		}
		c, kept := begin(events...), 0
		for _, e := range c.events {
			if e.GetRequest() != nil {
				kept++
			}
		}
		if kept != 2*maxRequests || len(c.events) >= len(events) || c.over() {
			t.Errorf("%d requests and withdrawals of %d events are kept; the call has ended: %t", kept, len(c.events), c.over())
		}
		c.deliver(&pluginv1.SessionEvent{Events: []*pluginv1.CallEvent{ask(maxRequests, 1)}})
		large := begin(ask(1, 4<<20), ask(2, 4<<20), ask(3, 4<<20))
		time.Sleep(time.Minute) // the rate is within the limits
		large.deliver(&pluginv1.SessionEvent{Events: []*pluginv1.CallEvent{ask(4, 4<<20)}})
		burst := begin()
		for id := uint64(0); !burst.over() && id < 100_000; id++ { // their caller is fast, but the rate is too high
			burst.deliver(&pluginv1.SessionEvent{Events: []*pluginv1.CallEvent{withdraw(id)}})
			burst.in.waiting = held{}
		}
		for what, c := range map[string]*pendingCall{"too many": c, "too large": large, "too fast": burst} {
			e, _ := errors.AsType[*sdk.Error](receiveError(c.failed))
			if e == nil || e.Name != "TooManyRequests" || e.Outcome != sdk.OutcomeUnknown {
				t.Errorf("%s: %v", what, c.failed)
			}
		}
	})
}

// A session that was opened ahead is that of the first call.
func TestSessionIsOpenedAhead(t *testing.T) {
	opened := make(chan struct{}, 9)
	echo := func(stream sessionStream) error {
		opened <- struct{}{}
		for {
			m, err := stream.Recv()
			if err != nil {
				return err
			}
			if err := stream.Send(result(m.GetId(), "mine")); err != nil {
				return err
			}
		}
	}
	s := raw{sessioned: sessioned{&foreignPlugin{}}, serve: echo}
	early := clientOf(t, s)
	early.OpenSession() // the plugin has not said that it has sessions
	if _, err := early.Describe(t.Context()); err != nil || len(opened) != 0 {
		t.Fatal("a session of a plugin that may not know sessions, or ", err)
	}
	early.OpenSession()
	early.OpenSession()
	<-opened
	if _, err := early.Call(t.Context(), &sdk.Request{Tool: "x"}); err != nil || len(opened) != 0 {
		t.Errorf("the call opened %d sessions, error %v", len(opened), err)
	}
}

// A plugin whose calls say which way they came.
func twoWays() raw {
	return raw{sessioned: sessioned{script(nil, last(&pluginv1.Result{
		Content: []*pluginv1.Content{{Type: "text", Text: []byte("gRPC")}}}))}, serve: func(stream sessionStream) error {
		for {
			m, err := stream.Recv()
			if err == nil {
				err = stream.Send(result(m.GetId(), "session"))
			}
			if err != nil {
				return err
			}
		}
	}}
}

// answering dials a plugin that takes the beginning of a session, and does with the connection what f says.
func answering(f func(net.Conn)) Dialer {
	return func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			_, _ = io.ReadFull(theirs, make([]byte, 25))
			f(theirs)
		}()
		return ours, nil
	}
}

// A session that cannot be opened is no reason for a call to fail, unless the plugin has caused that.
func TestSessionThatCannotBeOpened(t *testing.T) {
	for name, c := range map[string]struct {
		dial Dialer
		want string // of the error; empty: the call goes over gRPC
	}{
		"the host is out of files": {dial: outOfFiles},
		"the plugin is stopped":    {dial: answering(func(net.Conn) {})},
		"no one listens": {dial: func(context.Context) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}, want: "connection refused"},
		"the plugin closes it": {dial: answering(func(c net.Conn) { _ = c.Close() }), want: "EOF"},
		"the plugin gives a wrong answer": {dial: answering(func(c net.Conn) { _, _ = c.Write([]byte("-")) }),
			want: "another answer than it should"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // without a session: calls over one share channels with other tests
				plugin := sessionClientOf(t, twoWays())
				tries := 0
				plugin.UseSessions(func(ctx context.Context) (net.Conn, error) { tries++; return c.dial(ctx) }, "")
				r, err := plugin.Call(t.Context(), &sdk.Request{Tool: "x"})
				if c.want != "" {
					b, _ := errors.AsType[*BrokenError](err)
					if b == nil || b.Delivered || !strings.Contains(b.Error(), c.want) {
						t.Errorf("error %v, want %q of a call that was not delivered", err, c.want)
					}
					return
				}
				if err != nil || r.Content[0].Text != "gRPC" {
					t.Fatalf("%+v, %v", r, err)
				}
				for _, want := range []int{1, 2} { // the second waits for no session, though one is being opened
					began := time.Now()
					if _, err := plugin.Call(t.Context(), &sdk.Request{Tool: "x"}); err != nil || time.Since(began) != 0 {
						t.Errorf("the next call gives %v after %s", err, time.Since(began))
					}
					if synctest.Wait(); tries != want {
						t.Errorf("a session was opened %d times, not %d", tries, want)
					}
					time.Sleep(openPause)
				}
			})
		})
	}
}

func outOfFiles(context.Context) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}
}

// Calls use a session as soon as one can be opened.
func TestSessionThatIsOpenedLater(t *testing.T) {
	plugin := sessionClientOf(t, twoWays())
	working := plugin.dial
	plugin.UseSessions(outOfFiles, "")
	tick := time.NewTicker(openPause / 20)
	defer tick.Stop()
	began := time.Now()
	for way := ""; way != "session"; <-tick.C {
		r, err := plugin.Call(t.Context(), &sdk.Request{Tool: "x"})
		if err != nil || time.Since(began) > time.Minute {
			t.Fatalf("after %s: %+v, %v", time.Since(began), r, err)
		}
		way = r.Content[0].Text
		plugin.UseSessions(working, "") // no session is being opened: the call has waited for the end of that
	}
}
