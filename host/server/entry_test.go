package server

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/sdk"
)

// starting is a server whose plugin does not list its tools before started is closed.
func starting(t *testing.T) (s *setup, started chan struct{}) {
	started = make(chan struct{})
	s = &setup{}
	s.plugin.starts = func(ctx context.Context) error {
		select {
		case <-started:
			return nil
		case <-ctx.Done():
			return sdk.EndedError(ctx)
		}
	}
	return s.start(t), started
}

// The IDs of calls are in use before their plugin has started, and the calls are listed.
func TestCallsAreKnownWhileTheirPluginStarts(t *testing.T) {
	for name, tool := range map[string]string{"name": "p__echo", "address": "mcp://p/echo"} {
		t.Run(name, func(t *testing.T) {
			s, started := starting(t)
			c := s.client(operatorToken)
			const callers = 6
			codes := make(chan connect.Code, callers)
			for range callers {
				go func() {
					r, err := c.CallOnce(context.Background(), connect.NewRequest(&apiv1.CallRequest{Tool: tool, CallId: "same"}))
					switch {
					case err != nil:
						codes <- connect.CodeOf(err)
					case r.Msg.Status != "ok":
						t.Error(r.Msg)
						fallthrough
					default:
						codes <- 0
					}
				}()
			}
			for range callers - 1 {
				select {
				case code := <-codes:
					if code != connect.CodeAlreadyExists {
						t.Errorf("a call that is not the first: %v", code)
					}
				case <-time.After(patience):
					t.Error("more than one call waits for the plugin")
				}
			}
			running, err := c.ListRunningCalls(t.Context(), connect.NewRequest(&apiv1.ListRunningCallsRequest{}))
			if err != nil || len(running.Msg.Calls) != 1 || running.Msg.Calls[0].CallId != "same" {
				t.Errorf("%v, %v", running, err)
			}
			close(started)
			if code := <-codes; code != 0 {
				t.Errorf("the first: %v", code)
			}
			var out apiv1.GetCallResponse
			if !s.server.calls.Describe("same", &out) || out.Summary.Status != string(host.Done) || out.Summary.Plugin != "p" ||
				out.Summary.Tool != "p__echo" || out.Result == nil {
				t.Errorf("it is described as %v", &out)
			}
		})
	}
}

// A call whose plugin starts can be canceled, by its ID or with its session.
func TestCancelWhileThePluginStarts(t *testing.T) {
	for name, cancel := range map[string]func(*setup) error{
		"call": func(s *setup) error {
			_, err := s.client(operatorToken).CancelCall(s.t.Context(), connect.NewRequest(&apiv1.CancelCallRequest{CallId: "a"}))
			return err
		},
		"session": func(s *setup) error {
			r, err := s.client(operatorToken).EndSession(s.t.Context(), connect.NewRequest(&apiv1.EndSessionRequest{SessionId: "s"}))
			if err == nil && r.Msg.Canceled != 1 {
				return fmt.Errorf("canceled %d", r.Msg.Canceled)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := starting(t)
			done := make(chan *apiv1.CallResult, 1)
			go func() {
				r, err := s.client(operatorToken).CallOnce(context.Background(),
					connect.NewRequest(&apiv1.CallRequest{Tool: "p__echo", CallId: "a", SessionId: "s"}))
				if err != nil {
					t.Error(err)
					r = connect.NewResponse(&apiv1.CallResult{})
				}
				done <- r.Msg
			}()
			await(t, "the call runs", func() bool { n, _ := s.server.calls.Running(); return n == 1 })
			if err := cancel(s); err != nil {
				t.Error(err)
			}
			if r := <-done; r.GetError().GetCode() != string(sdk.CodeCanceled) {
				t.Error(r)
			}
			if sessions := s.server.calls.listSessions(); len(sessions) != 1 || sessions[0].Calls != 1 ||
				sessions[0].Running != 0 || sessions[0].Failed != 1 {
				t.Error(sessions)
			}
		})
	}
}

// Each call of a batch can be canceled while its plugin starts, and the others go on. A batch with an ID that is in use
// is refused as a whole.
func TestBatchWhileThePluginStarts(t *testing.T) {
	s, started := starting(t)
	c := s.client(operatorToken)
	batch := &apiv1.CallBatchRequest{}
	for _, id := range []string{"a", "b", "b", "c"} {
		batch.Calls = append(batch.Calls, &apiv1.CallRequest{Tool: "p__echo", CallId: id, WithoutEvents: true})
	}
	stream, err := c.CallBatch(t.Context(), connect.NewRequest(batch))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for range batch.Calls {
		if !stream.Receive() || stream.Msg().GetAccepted() == nil {
			t.Fatal(stream.Msg(), stream.Err())
		}
	}
	if _, err := c.CancelCall(t.Context(), connect.NewRequest(&apiv1.CancelCallRequest{CallId: "a"})); err != nil {
		t.Error(err)
	}
	again, err := c.CallBatch(t.Context(), connect.NewRequest(&apiv1.CallBatchRequest{Calls: []*apiv1.CallRequest{
		{Tool: "p__echo", CallId: "new"}, {Tool: "p__echo", CallId: "c"}}}))
	if err != nil {
		t.Fatal(err)
	}
	if again.Receive() || connect.CodeOf(again.Err()) != connect.CodeAlreadyExists {
		t.Errorf("an id in use: %v, %v", again.Msg(), again.Err())
	}
	_ = again.Close()
	if n, _ := s.server.calls.Running(); n > 3 {
		t.Errorf("%d calls run", n)
	}
	close(started)
	got := map[int32]string{}
	for stream.Receive() {
		r := stream.Msg().GetResult()
		got[stream.Msg().Index] = r.GetStatus() + r.GetError().GetCode()
	}
	want := map[int32]string{0: "error" + string(sdk.CodeCanceled), 1: "ok", 2: "error" + string(sdk.CodeInvalidArgs), 3: "ok"}
	if fmt.Sprint(got) != fmt.Sprint(want) || stream.Err() != nil {
		t.Errorf("%v, %v, want %v", got, stream.Err(), want)
	}
	if n, _ := s.server.calls.Running(); n != 0 || len(s.server.calls.ids) != 0 {
		t.Errorf("%d calls are left, and %v", n, s.server.calls.ids)
	}
}

// A call that the host refuses before its middleware is ended in the register, too.
func TestEntriesOfRefusedCallsEnd(t *testing.T) {
	s := new(setup).start(t)
	if err := s.server.options.Backend.Host().Close(); err != nil {
		t.Fatal(err)
	}
	r, err := s.client(operatorToken).CallOnce(t.Context(), connect.NewRequest(&apiv1.CallRequest{Tool: "p__echo", CallId: "a"}))
	if err != nil || r.Msg.GetError().GetName() != "HostClosed" {
		t.Fatal(r, err)
	}
	if n, _ := s.server.calls.Running(); n != 0 {
		t.Errorf("%d calls run", n)
	}
	var out apiv1.GetCallResponse
	if !s.server.calls.Describe("a", &out) || out.Summary.ErrorName != "HostClosed" {
		t.Error(&out)
	}
}

// A call whose session a middleware or a catalog names counts for that one alone.
func TestEntryMovesToTheSessionOfItsCall(t *testing.T) {
	c := NewCalls(nil)
	call := host.Call{ID: "id", Caller: "api"}
	entries, err := c.register(t.Context(), []host.Call{call})
	if err != nil {
		t.Fatal(err)
	}
	call.SessionID = "named"
	var during sync.Once
	run := c.Middleware(func(context.Context, *host.Call) (*sdk.Result, error) {
		during.Do(func() {
			if got := c.listSessions(); len(got) != 1 || got[0].Id != "named" || got[0].Running != 1 || got[0].Calls != 1 {
				t.Error(got)
			}
		})
		return &sdk.Result{}, nil
	})
	for range 2 { // a second time for a middleware that tries again
		if _, err := run(entries[0].ctx, &call); err != nil {
			t.Error(err)
		}
	}
	entries[0].end(nil)
	if got := c.listSessions(); len(got) != 1 || got[0].Running != 0 || got[0].Calls != 2 || got[0].Failed != 0 {
		t.Error(got)
	}
}
