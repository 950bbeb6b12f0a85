package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

const elicitation = `{"method":"elicitation/create","params":{"message":"Which branch?","big":9007199254740993}}`

// askingPlugin is a plugin whose tool asks that many times, and then returns the answers.
func askingPlugin(t testing.TB, times int) host.Plugin {
	p := sdk.New("curious", "1.0.0")
	p.AddRawTool(tool("ask"), func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		round := len(r.RequestState)
		if round < times {
			return &sdk.Result{InputRequired: &sdk.InputRequired{State: r.RequestState + "x",
				Requests: map[string]json.RawMessage{"q": json.RawMessage(elicitation)}}}, nil
		}
		return &sdk.Result{Content: []sdk.Content{sdk.TextContent(fmt.Sprintf("%s %s %s", r.InputResponses["q"],
			r.Capabilities, r.Meta))}, Extra: json.RawMessage(`{"_meta":{"n":9007199254740993}}`)}, nil
	})
	return sdktest.Start(t, p)
}

// An inputFunc is an InputHandler.
type inputFunc func(ctx context.Context, r *host.InputRequest) (map[string]json.RawMessage, error)

func (inputFunc) Capabilities() json.RawMessage { return json.RawMessage(`{"elicitation":{}}`) }

func (f inputFunc) AnswerInput(ctx context.Context, r *host.InputRequest) (map[string]json.RawMessage, error) {
	return f(ctx, r)
}

func TestQuestionsOfAToolAreAnswered(t *testing.T) {
	t.Parallel()
	var asked []string
	h := single(t, askingPlugin(t, 2), host.Options{Input: inputFunc(
		func(_ context.Context, r *host.InputRequest) (map[string]json.RawMessage, error) {
			asked = append(asked, r.Tool.Name+" "+string(r.Requests["q"]))
			return map[string]json.RawMessage{"q": json.RawMessage(fmt.Sprintf(`{"action":"accept","round":%d}`, len(asked)))},
				nil
		})})
	c := call("test__ask", "")
	c.Meta = json.RawMessage(`{"traceparent":"00-1"}`)
	r := h.Call(t.Context(), c)
	succeeded(t, r)
	if want := `{"action":"accept","round":2} {"elicitation":{}} {"traceparent":"00-1"}`; r.Text() != want {
		t.Errorf("the tool got %s, want %s", r.Text(), want)
	}
	diff(t, []string{"test__ask " + elicitation, "test__ask " + elicitation}, asked)
	if want := `{"_meta":{"n":9007199254740993}}`; string(r.Extra) != want {
		t.Errorf("extra %s, want %s", r.Extra, want)
	}
}

// A person's answers go to the tool that asked, with the arguments that it asked about.
func TestAnswersGoToTheToolThatAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		definition string
		edit       bool
		code       sdk.Code
	}{
		"the same":           {"for tests", false, ""},
		"another definition": {"does something else", false, sdk.CodeTool},
		"other arguments":    {"for tests", true, sdk.CodeTool},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			plugin := func(description string) host.Plugin {
				ask := tool("ask")
				ask.Description = description
				return calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
					if r.RequestState == "" {
						return &sdk.Result{InputRequired: &sdk.InputRequired{State: "x",
							Requests: map[string]json.RawMessage{"q": json.RawMessage(elicitation)}}}, nil
					}
					got = append(got, string(r.InputResponses["q"]))
					return sdk.Text("done"), nil
				}, ask)
			}
			var h *host.Host
			o := host.Options{Approver: &asked{answers: []host.Answer{{Arguments: json.RawMessage(`{"a":2}`)}, host.Yes()}}}
			o.Input = inputFunc(func(context.Context, *host.InputRequest) (map[string]json.RawMessage, error) {
				now := o
				if c.edit {
					now.Policy = policyFor(policy.Ask, "")
				}
				answers := map[string]json.RawMessage{"q": json.RawMessage(`{"action":"accept"}`)}
				return answers, h.Reload(test(plugin(c.definition)), now)
			})
			h = single(t, plugin("for tests"), o)
			r := h.Call(t.Context(), call("test__ask", `{"a":1}`))
			if c.code == "" {
				succeeded(t, r)
				diff(t, []string{`{"action":"accept"}`}, got)
				return
			}
			if e := failed(t, r, c.code); e.Name != "QuestionExpired" || e.Outcome != sdk.OutcomeUnknown || got != nil ||
				e.Suggestion == "" {
				t.Errorf("%+v; the tool got %v", e, got)
			}
		})
	}
}

func TestQuestionsAreReturnedToACallerThatAnswersThem(t *testing.T) {
	t.Parallel()
	h := single(t, askingPlugin(t, 1), host.Options{})
	c := call("test__ask", "")
	c.ReturnInput, c.Capabilities = true, json.RawMessage(`{"elicitation":{"form":{}}}`)
	first := h.Call(t.Context(), c)
	if first.Status != host.StatusInputRequired || first.Error != nil ||
		string(first.InputRequired.Requests["q"]) != elicitation {
		t.Fatalf("the first call returned %+v", first)
	}
	c.InputResponses = map[string]json.RawMessage{"q": json.RawMessage(`{"action":"accept"}`)}
	c.RequestState = first.InputRequired.State
	second := h.Call(t.Context(), c)
	succeeded(t, second)
	if want := `{"action":"accept"} {"elicitation":{"form":{}}} `; second.Text() != want {
		t.Errorf("the tool got %s, want %s", second.Text(), want)
	}
}

func TestUnansweredQuestions(t *testing.T) {
	t.Parallel()
	returning := func(answer string, err error) inputFunc {
		return func(context.Context, *host.InputRequest) (map[string]json.RawMessage, error) {
			return map[string]json.RawMessage{"q": json.RawMessage(answer)}, err
		}
	}
	for name, c := range map[string]struct {
		input host.InputHandler
		times int
		want  string
	}{
		"no handler":   {nil, 1, `test__ask asks "Which branch?", and got no answer: no one can be asked here`},
		"an error":     {returning("", errors.New("the phone is off")), 1, "got no answer: the phone is off"},
		"no JSON":      {returning("{", nil), 1, `left the question "q" without a valid answer`},
		"no end of it": {returning(`{"action":"decline"}`, nil), 1000, "test__ask has asked 10 times and asks again"},
		"a panic": {inputFunc(func(context.Context, *host.InputRequest) (map[string]json.RawMessage, error) {
			panic("oh no")
		}), 1, "input handler panicked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := single(t, askingPlugin(t, c.times), host.Options{Input: c.input})
			e := failed(t, h.Call(t.Context(), call("test__ask", "")), sdk.CodeTool)
			if !strings.Contains(e.Message, c.want) {
				t.Errorf("the error says %q, want %q in it", e.Message, c.want)
			}
		})
	}
}

// A handler that does not return does not delay the call.
func TestQuestionEndsWithItsCall(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	h := single(t, askingPlugin(t, 1), host.Options{Input: inputFunc(
		func(context.Context, *host.InputRequest) (map[string]json.RawMessage, error) {
			close(asked)
			<-release
			return nil, nil
		})})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	failed(t, h.Call(ctx, call("test__ask", "")), sdk.CodeCanceled)
}

// A suspendedTool asks, and keeps its call until the answers come.
type suspendedTool struct {
	received  chan struct{}    // the call beside the questions is here
	withdrawn chan *sdk.Result // what that call returns
	givenUp   chan struct{}
	answered  chan struct{}
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
		case out := <-s.withdrawn:
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
	for want, withdrawn := range map[string]*sdk.Result{"done": sdk.Text("done"), "answered ": none,
		"done without": questionOf("again")} {
		s, p := suspending(t)
		var asked atomic.Int32
		ended := make(chan struct{}, 2)
		h := single(t, p, host.Options{Input: inputFunc(
			func(ctx context.Context, _ *host.InputRequest) (map[string]json.RawMessage, error) {
				if asked.Add(1) == 1 {
					<-s.received
					s.withdrawn <- withdrawn
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
