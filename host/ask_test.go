package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

type placeForm struct {
	Place string `json:"place" enum:"here|there"`
}

// curious is a plugin whose tool asks where.
func curious(t testing.TB, then func(ctx context.Context) error) host.Plugin {
	p := sdk.New("curious", "1.0.0")
	p.AddRawTool(tool("ask"), func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		before, _ := ctx.Deadline()
		a, err := sdk.Ask[placeForm](ctx, r, "Where?")
		if err == nil && then != nil {
			err = then(ctx)
		}
		after, _ := ctx.Deadline()
		return sdk.Textf("%s %s %v", a.Action, a.Value.Place, after.After(before)), err
	})
	return sdktest.Start(t, p)
}

func answering1(t testing.TB, answer string, seen func(r *host.InputRequest)) inputFunc {
	return func(_ context.Context, r *host.InputRequest) (map[string]json.RawMessage, error) {
		if seen != nil {
			seen(r)
		}
		out := map[string]json.RawMessage{}
		for key := range r.Requests {
			out[key] = json.RawMessage(answer)
		}
		return out, nil
	}
}

// The time that a person takes counts against no deadline: the handler goes on with a new one.
func TestAskOutlastsTheDeadline(t *testing.T) {
	t.Parallel()
	first := make(chan time.Time, 1)
	p := sdk.New("curious", "1.0.0")
	p.AddRawTool(tool("ask"), func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		deadline, _ := ctx.Deadline()
		first <- deadline
		a, err := sdk.Ask[placeForm](ctx, r, "Where?")
		if err == nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		return sdk.Text(a.Value.Place), err
	})
	h := single(t, sdktest.Start(t, p), host.Options{Input: answering1(t, `{"action":"accept","content":{"place":"here"}}`,
		func(*host.InputRequest) { <-time.After(time.Until(<-first) + 10*time.Millisecond) })})
	c := call("test__ask", "")
	c.Timeout = 300 * time.Millisecond
	r := h.Call(t.Context(), c)
	succeeded(t, r)
	if r.Text() != "here" {
		t.Errorf("it returns %q", r.Text())
	}
}

// What does not fit the question does not reach the handler.
func TestAnswersAreChecked(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"action":"accept","content":{"place":"there"}}`: "accept there true",
		`{"action":"decline"}`:                            "decline  true",
		`{"action":"cancel"}`:                             "cancel  true",
		`{"action":"accept","content":{"place":"moon"}}`: `the answer does not fit the question: "place" must be one of ` +
			`its list`,
		`{"action":"accept"}`: `the answer does not fit the question: "place" is missing`,
		`{"action":"run"}`:    `the answer has the action "run"`,
	} {
		h := single(t, curious(t, nil), host.Options{Input: answering1(t, answer, nil)})
		r := h.Call(t.Context(), call("test__ask", ""))
		if got := r.Text(); !strings.Contains(got, want) {
			t.Errorf("%s gives %q, want %q", answer, got, want)
		}
	}
}

// Questions of hostile plugins do not reach a person.
func TestQuestionsThatAreNotPassedOn(t *testing.T) {
	t.Parallel()
	form := func(message, properties string) string {
		return fmt.Sprintf(`{"method":"elicitation/create","params":{"message":%s,"requestedSchema":`+
			`{"type":"object","properties":%s}}}`, sdk.Encode(message), properties)
	}
	many := map[string]json.RawMessage{}
	for i := range 17 {
		many[fmt.Sprint(i)] = json.RawMessage(form("?", "{}"))
	}
	one := func(question string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"q": json.RawMessage(question)}
	}
	for name, c := range map[string]struct {
		questions map[string]json.RawMessage
		want      string
	}{
		"a secret by its name":   {one(form("?", `{"api_key":{"type":"string"}}`)), "SecretAsked"},
		"a secret by its title":  {one(form("?", `{"x":{"type":"string","title":"Your password"}}`)), "SecretAsked"},
		"a secret by its format": {one(form("?", `{"x":{"type":"string","format":"password"}}`)), "SecretAsked"},
		"a long one":             {one(form(strings.Repeat("x", 5000), "{}")), "BadQuestion"},
		"a large form": {one(form("?", `{"x":{"type":"string","description":"`+strings.Repeat("x", 40000)+`"}}`)),
			"BadQuestion"},
		"many at once": {many, "TooManyQuestions"},
		"fine":         {one(form("?", `{"name":{"type":"string"}}`)), ""},
	} {
		for _, returned := range []bool{false, true} {
			p := sdk.New("hostile", "1.0.0")
			p.AddRawTool(tool("ask"), func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
				if r.RequestState != "" {
					return sdk.Text("done"), nil
				}
				return &sdk.Result{InputRequired: &sdk.InputRequired{State: "x", Requests: c.questions}}, nil
			})
			asked := false
			h := single(t, sdktest.Start(t, p), host.Options{Input: answering1(t, `{"action":"cancel"}`,
				func(*host.InputRequest) { asked = true })})
			outer := call("test__ask", "")
			outer.ReturnInput = returned
			r := h.Call(t.Context(), outer)
			switch {
			case c.want == "":
				if r.Error != nil || asked == returned {
					t.Errorf("%s: %+v, asked %v", name, r.Error, asked)
				}
			case r.Error == nil || r.Error.Name != c.want || r.Error.Suggestion == "" || asked || r.InputRequired != nil:
				t.Errorf("%s: %+v, asked %v", name, r, asked)
			}
		}
	}
}

// A caller that answers by making the call again continues the same handler.
func TestAskOfACallerThatMakesTheCallAgain(t *testing.T) {
	t.Parallel()
	h := single(t, curious(t, nil), host.Options{})
	c := call("test__ask", "")
	c.ReturnInput, c.Capabilities = true, json.RawMessage(`{"elicitation":{}}`)
	first := h.Call(t.Context(), c)
	if first.InputRequired == nil {
		t.Fatalf("%+v", first)
	}
	c.RequestState, c.InputResponses = first.InputRequired.State, map[string]json.RawMessage{}
	for key := range first.InputRequired.Requests {
		c.InputResponses[key] = json.RawMessage(`{"action":"accept","content":{"place":"moon"}}`)
	}
	if r := h.Call(t.Context(), c); r.Error == nil || r.Error.Name != "BadAnswer" { // the sdk checks it as well
		t.Errorf("%+v", r)
	}
}

// A tool that a plugin calls may ask too; the person is shown on whose behalf. A caller that answers by making its own
// call again cannot be asked by another one.
func TestNestedCallsThatAsk(t *testing.T) {
	t.Parallel()
	var seen *host.InputRequest
	o := mayCall("target__*")
	o.Input = answering1(t, `{"action":"accept","content":{"place":"here"}}`, func(r *host.InputRequest) { seen = r })
	h := newHost(t, map[string]host.Plugin{"a": relaying(t, "relay"), "target": curious(t, nil)}, o)
	r := h.Call(t.Context(), relay("a__relay", "target__ask", ""))
	succeeded(t, r)
	if !strings.HasPrefix(r.Text(), "accept here") || seen.Tool.Name != "target__ask" || seen.Via == nil ||
		seen.Via.Plugin != "a" {
		t.Errorf("%q, asked with %+v", r.Text(), seen)
	}
	c := relay("a__relay", "target__ask", "")
	c.ReturnInput, c.Capabilities = true, json.RawMessage(`{"elicitation":{}}`)
	if r := h.Call(t.Context(), c); r.Error == nil || r.Error.Name != "NoOneToAsk" {
		t.Errorf("%+v", r)
	}
}

// A plugin in the host's own process asks as well.
func TestPluginInTheHostsProcessAsks(t *testing.T) {
	t.Parallel()
	p := calling(func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		a, err := sdk.Ask[placeForm](ctx, r, "Where?")
		return sdk.Text(string(a.Action) + a.Value.Place), err
	})
	h := single(t, p, host.Options{Input: answering1(t, `{"action":"accept","content":{"place":"here"}}`, nil)})
	r := h.Call(t.Context(), call("test__run", ""))
	succeeded(t, r)
	if r.Text() != "accepthere" {
		t.Error(r.Text())
	}
	if r := single(t, p, host.Options{}).Call(t.Context(), call("test__run", "")); r.Error == nil ||
		r.Error.Name != "NoOneToAsk" {
		t.Errorf("%+v", r)
	}
}

// A handler whose question gets no answer learns that at once, however the host comes to know it.
func TestHandlerWhoseQuestionIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(cancel func(), ctx context.Context) error{
		"the caller gives up":  func(cancel func(), ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() },
		"no one can be asked":  func(func(), context.Context) error { return host.ErrNoApprover },
		"the handler panicked": func(func(), context.Context) error { panic("oh no") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ended := make(chan error, 1)
			p := sdk.New("curious", "1.0.0")
			p.AddRawTool(tool("ask"), func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
				_, err := sdk.Ask[placeForm](context.WithoutCancel(ctx), r, "Where?")
				<-ctx.Done()
				ended <- err
				return nil, err
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			h := single(t, sdktest.Start(t, p), host.Options{Input: inputFunc(
				func(ctx context.Context, _ *host.InputRequest) (map[string]json.RawMessage, error) {
					return nil, answer(cancel, ctx)
				})})
			if r := h.Call(ctx, call("test__ask", "")); r.Error == nil {
				t.Errorf("%+v", r)
			}
			if err := <-ended; sdk.CodeOf(err) != sdk.CodeCanceled {
				t.Errorf("the handler has %v", err)
			}
		})
	}
}

// A handler that goes on without the answer has a call to do so in, with a deadline, events and tools; its result is
// the call's, and the person is asked no longer.
func TestHandlerGoesOnWithoutTheAnswer(t *testing.T) {
	t.Parallel()
	for name, goesOn := range map[string]func(ctx context.Context, r *sdk.Request, asked <-chan struct{}) error{
		"it takes the question back": func(ctx context.Context, r *sdk.Request, asked <-chan struct{}) error {
			asking, stop := context.WithCancel(ctx)
			go func() {
				<-asked
				stop()
			}()
			_, err := sdk.Ask[placeForm](asking, r, "Where?")
			if _, has := ctx.Deadline(); !has || ctx.Err() != nil || sdk.CodeOf(err) != sdk.CodeCanceled {
				return fmt.Errorf("deadline %v, %w, %w", has, ctx.Err(), err)
			}
			r.Progress(1, 1, "without")
			return nil
		},
		"a goroutine of it asks": func(ctx context.Context, r *sdk.Request, asked <-chan struct{}) error {
			r.Progress(1, 1, "without")
			go func() { _, _ = sdk.Ask[placeForm](ctx, r, "Where?") }()
			<-asked
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, unasked := make(chan struct{}), make(chan struct{})
			p := sdk.New("curious", "1.0.0")
			p.AddRawTool(tool("ask"), func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
				return sdk.Text("done"), goesOn(ctx, r, asked)
			})
			h := single(t, sdktest.Start(t, p), host.Options{Input: inputFunc(
				func(ctx context.Context, _ *host.InputRequest) (map[string]json.RawMessage, error) {
					close(asked)
					<-ctx.Done()
					close(unasked)
					return nil, ctx.Err()
				})})
			c := call("test__ask", "")
			var events []string
			c.Events = func(e sdk.Event) { events = append(events, e.Message) }
			r := h.Call(t.Context(), c)
			succeeded(t, r)
			<-unasked
			if r.Text() != "done" || !strings.Contains(fmt.Sprint(events), "without") {
				t.Errorf("it returns %q after %q", r.Text(), events)
			}
		})
	}
}
