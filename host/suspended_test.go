package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// A suspendedTool asks, and keeps its call until the answers come.
type suspendedTool struct {
	received chan struct{}    // the call beside the questions is here
	moot     chan *sdk.Result // what that call returns
	givenUp  chan struct{}
	answered chan struct{}
}

func suspending(t testing.TB) (*suspendedTool, host.Plugin) {
	s := &suspendedTool{make(chan struct{}), make(chan *sdk.Result, 1), make(chan struct{}), make(chan struct{})}
	p := sdk.New("curious", "1.0.0")
	p.AddRawTool(tool("ask"), func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		switch {
		case r.RequestState == "":
			return questionOf("x"), nil
		case !r.DuringQuestions:
			close(s.answered)
			return sdk.Text("answered " + string(r.InputResponses["q"])), nil
		case r.RequestState == "again":
			return sdk.Text("done without"), nil
		}
		close(s.received)
		select {
		case out := <-s.moot:
			return out, nil
		case <-s.answered:
			return nil, errors.New("it was answered")
		case <-ctx.Done():
			close(s.givenUp)
			return nil, ctx.Err()
		}
	})
	return s, sdktest.Start(t, p)
}

func questionOf(state string) *sdk.Result {
	return &sdk.Result{InputRequired: &sdk.InputRequired{State: state, Suspended: true,
		Requests: map[string]json.RawMessage{"q": json.RawMessage(elicitation)}}}
}

func TestAnswersOfASuspendedCall(t *testing.T) {
	t.Parallel()
	s, p := suspending(t)
	h := single(t, p, host.Options{Input: inputFunc(
		func(context.Context, *host.InputRequest) (map[string]json.RawMessage, error) {
			<-s.received
			return map[string]json.RawMessage{"q": json.RawMessage(`{"action":"accept"}`)}, nil
		})})
	r := h.Call(t.Context(), call("test__ask", ""))
	succeeded(t, r)
	if r.Text() != `answered {"action":"accept"}` {
		t.Error(r.Text())
	}
}

// A question that needs no answer any more ends, and the call returns at once. There may be no question then, or
// another one.
func TestQuestionThatIsMoot(t *testing.T) {
	t.Parallel()
	none := questionOf("x2")
	none.InputRequired.Requests = nil
	for want, moot := range map[string]*sdk.Result{"done": sdk.Text("done"), "answered ": none,
		"done without": questionOf("again")} {
		s, p := suspending(t)
		var asked atomic.Int32
		ended := make(chan struct{}, 2)
		h := single(t, p, host.Options{Input: inputFunc(
			func(ctx context.Context, _ *host.InputRequest) (map[string]json.RawMessage, error) {
				if asked.Add(1) == 1 {
					<-s.received
					s.moot <- moot
				}
				<-ctx.Done()
				ended <- struct{}{}
				return nil, ctx.Err()
			})})
		r := h.Call(t.Context(), call("test__ask", ""))
		succeeded(t, r)
		if r.Text() != want {
			t.Errorf("%q, want %q", r.Text(), want)
		}
		for range asked.Load() {
			<-ended
		}
	}
}

// When no answers come, the plugin learns that, however soon the call ends.
func TestSuspendedCallIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		input func(cancel func()) host.InputHandler
		want  string
	}{
		"no handler": {func(func()) host.InputHandler { return nil }, "no one can be asked here"},
		"an error": {func(func()) host.InputHandler {
			return inputFunc(func(context.Context, *host.InputRequest) (map[string]json.RawMessage, error) {
				return nil, errors.New("the phone is off")
			})
		}, "the phone is off"},
		"the caller cancels": {func(cancel func()) host.InputHandler {
			return inputFunc(func(ctx context.Context, _ *host.InputRequest) (map[string]json.RawMessage, error) {
				cancel()
				<-ctx.Done()
				return nil, ctx.Err()
			})
		}, "canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := suspending(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			h := single(t, p, host.Options{Input: c.input(cancel)})
			r := h.Call(ctx, call("test__ask", ""))
			if r.Error == nil || !strings.Contains(r.Error.Message, c.want) {
				t.Errorf("%+v", r.Error)
			}
			<-s.givenUp
		})
	}
}

// Who answers by making the call again has the questions, and no call is made beside them.
func TestSuspendedCallOfACallerThatAnswersItself(t *testing.T) {
	t.Parallel()
	s, p := suspending(t)
	h := single(t, p, host.Options{})
	c := call("test__ask", "")
	c.ReturnInput, c.Capabilities = true, json.RawMessage(`{"elicitation":{}}`)
	if r := h.Call(t.Context(), c); r.Status != host.StatusInputRequired {
		t.Errorf("%+v", r)
	}
	select {
	case <-s.received:
		t.Error("a call was made beside the questions")
	default:
	}
}
