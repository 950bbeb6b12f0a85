package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

func TestEffectiveTimeout(t *testing.T) {
	cases := map[string]struct{ caller, user, tool, host, want time.Duration }{
		"none":                 {want: 2 * time.Minute},
		"the host's":           {host: time.Minute, want: time.Minute},
		"the tool's":           {tool: 3 * time.Second, host: time.Minute, want: 3 * time.Second},
		"the tool's, longer":   {tool: 10 * time.Minute, want: 10 * time.Minute},
		"the user's":           {user: 5 * time.Second, tool: 3 * time.Second, want: 5 * time.Second},
		"the caller's":         {caller: 7 * time.Second, user: 5 * time.Second, tool: 3 * time.Second, want: 7 * time.Second},
		"none above the limit": {caller: host.MaxTimeout + time.Minute, want: host.MaxTimeout},
		"none below zero":      {user: -1, host: -1, want: 2 * time.Minute},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				definition := tool("run")
				definition.Timeout = c.tool
				var got time.Duration
				p := calling(func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) {
					deadline, _ := ctx.Deadline()
					got = time.Until(deadline)
					return &sdk.Result{}, nil
				}, definition)
				h := single(t, p, host.Options{DefaultTimeout: c.host,
					Tools: map[string]host.ToolOptions{"test__run": {Timeout: c.user}}})
				succeeded(t, h.Call(t.Context(), host.Call{Tool: "test__run", Timeout: c.caller}))
				if got != c.want {
					t.Errorf("the tool has %s, want %s", got, c.want)
				}
			})
		})
	}
}

// waiting is a plugin whose tool waits for the end of its context, as it should.
func waiting(end func(ctx context.Context) error) *fake {
	return calling(func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) {
		<-ctx.Done()
		return nil, end(ctx)
	})
}

func TestTimeout(t *testing.T) {
	ends := map[string]func(ctx context.Context) error{
		"error with a code":    func(ctx context.Context) error { return sdk.EndedError(ctx) },
		"error of the context": func(ctx context.Context) error { return ctx.Err() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := single(t, waiting(end), host.Options{DefaultTimeout: 90 * time.Second})
				r := h.Call(t.Context(), call("test__run", ""))
				diff(t, &sdk.Error{Code: sdk.CodeTimeout, Name: "Timeout",
					Message: "test__run took longer than its limit of 1m30s and was stopped. It is not known whether the call " +
						"has done its work, or a part: check before you repeat it.",
					Outcome:    sdk.OutcomeUnknown,
					Suggestion: "Ask for less at once, or for a longer timeout.", Details: []byte(`{"timeout_ms":90000}`)},
					failed(t, r, sdk.CodeTimeout))
				if r.Duration != 90*time.Second || r.Attempts != 1 {
					t.Errorf("result %+v", r)
				}
			})
		})
	}
}

// A tool that answers that its time is over a moment before the host notices it gives the error that the host would
// give, and keeps what it has so far. What it says itself of its end stays.
func TestTimeoutThatTheToolAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		own := &sdk.Error{}
		h := single(t, calling(func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) {
			<-ctx.Done()
			r := sdk.Text("so far")
			r.Error = own
			return r, nil
		}), host.Options{DefaultTimeout: 90 * time.Second})
		const tooLong = "outcome_unknown: test__run took longer than its limit of 1m30s and was stopped. "
		for message, want := range map[string]string{
			sdk.EndedError(t.Context()).Message: tooLong,
			"the call was canceled":             tooLong, // all that the kits know
			"the server is slow":                "failed: the server is slow; the limit of the call is 1m30s",
			"slower than 1m30s":                 "failed: slower than 1m30s",
		} {
			*own = sdk.Error{Code: sdk.CodeTimeout, Name: "Timeout", Message: message, Outcome: sdk.OutcomeFailed}
			r := h.Call(t.Context(), call("test__run", ""))
			e := failed(t, r, sdk.CodeTimeout)
			if got := string(e.Outcome) + ": " + e.Message; !strings.HasPrefix(got, want) ||
				!strings.HasPrefix(r.Text(), "so far") || own.Message != message {
				t.Errorf("%q: %s, %q", message, got, r.Text())
			}
		}
		*own = sdk.Error{Code: sdk.CodeTimeout, Message: "the call was canceled", Outcome: sdk.OutcomeNotSent}
		if e := failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeTimeout); e.Outcome != sdk.OutcomeNotSent ||
			e.Message != "test__run could not begin within its limit of 1m30s; nothing was run" {
			t.Errorf("not sent: %s: %s", e.Outcome, e.Message)
		}
	})
}

// What the caller has waited before counts against the limit, which the error names as it was given.
func TestTimeoutAfterAWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := single(t, waiting(func(ctx context.Context) error { return sdk.EndedError(ctx) }), host.Options{})
		for waited, want := range map[time.Duration]time.Duration{300 * time.Millisecond: 700 * time.Millisecond, 2 * time.Second: 0} {
			in := call("test__run", "")
			in.Timeout, in.Waited = time.Second, waited
			r := h.Call(t.Context(), in)
			if e := failed(t, r, sdk.CodeTimeout); !strings.Contains(e.Message, "limit of 1s") || r.Duration != want {
				t.Errorf("after %s and %s: %s", waited, r.Duration, e.Message)
			}
		}
	})
}

// A timeout below zero is a mistake of the caller's, in a middleware too: the tool's own would take its place.
func TestTimeoutBelowZero(t *testing.T) {
	t.Parallel()
	p := answering(sdk.Text("fine"), nil)
	for _, m := range [][]host.Middleware{nil, {before(func(c *host.Call) error { c.Timeout = -1; return nil })}} {
		h := single(t, p, host.Options{Middleware: m})
		in := call("test__run", "")
		if m == nil {
			in.Timeout = -1
		}
		e := failed(t, h.Call(t.Context(), in), sdk.CodeInvalidArgs)
		if e.Name != "BadTimeout" || e.Message != "the timeout -1ns of the call is below zero; nothing was run" ||
			p.called.Load() > 0 {
			t.Errorf("%+v", e)
		}
	}
}

// The error of a caller's own deadline does not speak of the tool's limit.
func TestDeadlineOfTheCaller(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := single(t, waiting(func(ctx context.Context) error { return sdk.EndedError(ctx) }), host.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r := h.Call(ctx, call("test__run", ""))
		e := failed(t, r, sdk.CodeTimeout)
		if strings.Contains(e.Message, "2m0s") || r.Duration != time.Second {
			t.Errorf("after %s: %s", r.Duration, e.Message)
		}
	})
}

// A result that arrives after the deadline is still returned: the host waits for plugins, which return when their
// context ends.
func TestAnswerAfterTheDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := single(t, calling(func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) {
			<-ctx.Done()
			<-time.After(time.Second)
			return sdk.Text("late"), nil
		}), host.Options{DefaultTimeout: time.Minute})
		r := h.Call(t.Context(), call("test__run", ""))
		succeeded(t, r)
		if r.Text() != "late" || r.Duration != 61*time.Second {
			t.Errorf("%q after %s", r.Text(), r.Duration)
		}
	})
}

// An error value that a plugin returns repeatedly is not modified.
func TestErrorsOfPluginsAreNotChanged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		kept := &sdk.Error{Code: sdk.CodeTimeout, Name: "Timeout", Message: strings.Repeat("x", 2000)}
		h := single(t, waiting(func(context.Context) error { return kept }), host.Options{})
		failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeTimeout)
		diff(t, &sdk.Error{Code: sdk.CodeTimeout, Name: "Timeout", Message: strings.Repeat("x", 2000)}, kept)
	})
}

// A handler that ignores its context blocks no caller: the wire stops waiting for it.
func TestHandlerThatIgnoresItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	p := sdk.New("stubborn", "1.0.0")
	p.AddRawTool(tool("run"), func(context.Context, *sdk.Request) (*sdk.Result, error) {
		cancel()
		<-release
		return sdk.Text("late"), nil
	})
	h := single(t, sdktest.Start(t, p), host.Options{})
	t.Cleanup(func() { close(release) })
	within(t, 20*time.Second, "the answer", func() {
		e := failed(t, h.Call(ctx, call("test__run", "")), sdk.CodeCanceled)
		if e.Outcome != sdk.OutcomeUnknown {
			t.Errorf("error %+v", e)
		}
	})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	h := single(t, overWire(t), host.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := call("test__wait", "")
	c.Events = func(e sdk.Event) {
		if e.Type == sdk.EventProgress {
			cancel()
		}
	}
	within(t, 10*time.Second, "the answer", func() {
		r := h.Call(ctx, c)
		e := failed(t, r, sdk.CodeCanceled)
		if e.Message != "the call was canceled. It is not known whether the call has done its work, or a part: check "+
			"before you repeat it." || e.Outcome != sdk.OutcomeUnknown || r.Attempts != 1 {
			t.Errorf("result %+v, error %+v", r, e)
		}
	})
}

// A result that cannot be read is an error, never a success without content, also for plugins in this process.
func TestBrokenResults(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*sdk.Result{
		"structured": {Structured: json.RawMessage(`{"a":`)},
		"too deep":   {Structured: json.RawMessage(strings.Repeat("[", 100) + strings.Repeat("]", 100))},
		"a part":     {Content: []sdk.Content{{Type: "chart", Raw: json.RawMessage(`{`)}}},
		"an image":   {Content: []sdk.Content{{Type: "image"}}},
		"beside": {Content: []sdk.Content{{Type: "image"}, sdk.TextContent("good")},
			Structured: json.RawMessage(`{"a":1}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := single(t, answering(r, nil), host.Options{})
			got := h.Call(t.Context(), call("test__run", ""))
			e := failed(t, got, sdk.CodeProtocol)
			if e.Name != "BrokenResult" || e.Outcome != sdk.OutcomeFailed || name == "beside" &&
				(got.Content[0].Text != "good" || string(got.Structured) != `{"a":1}`) {
				t.Errorf("error %+v of %+v", e, got)
			}
			if _, err := json.Marshal(got); err != nil {
				t.Error(err)
			}
		})
	}
}

// What a plugin in the host's own process, or a middleware, leaves out of an error or makes up is made up for, as the
// sdk does for others: the result is valid JSON, and no failure looks like a success.
func TestResultsOfThisProcess(t *testing.T) {
	t.Parallel()
	none := func(next host.CallFunc) host.CallFunc {
		return func(context.Context, *host.Call) (*sdk.Result, error) { return nil, nil }
	}
	cases := map[string]struct {
		result     *sdk.Result
		err        error
		middleware host.Middleware
		want       sdk.Error
	}{
		"nothing": {want: sdk.Error{Code: sdk.CodeTool, Name: "NoResult", Outcome: sdk.OutcomeUnknown,
			Message: "the tool test__run has run, but returned neither a result nor an error"}},
		"nothing, of a middleware": {middleware: none, want: sdk.Error{Code: sdk.CodeInternal, Name: "NoResult",
			Outcome: sdk.OutcomeNotSent, Message: "returned neither a result nor an error"}},
		"no message": {result: &sdk.Result{Error: &sdk.Error{}}, want: sdk.Error{Code: sdk.CodeTool,
			Outcome: sdk.OutcomeFailed, Message: "the call failed with an error without a name and no message"}},
		"no message, as an error": {err: &sdk.Error{Name: "Bad"}, want: sdk.Error{Code: sdk.CodeTool, Name: "Bad",
			Outcome: sdk.OutcomeUnknown, Message: "the call failed with Bad and no message"}},
		"an unknown code": {result: &sdk.Result{Error: &sdk.Error{Code: "BANANA", Message: "no"}},
			want: sdk.Error{Code: sdk.CodeTool, Outcome: sdk.OutcomeFailed, Message: "no"}},
		"details that are no JSON": {result: &sdk.Result{Error: &sdk.Error{Message: "no", Details: []byte("nope")}},
			want: sdk.Error{Code: sdk.CodeTool, Outcome: sdk.OutcomeFailed, Message: "no"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := host.Options{}
			if c.middleware != nil {
				o.Middleware = []host.Middleware{c.middleware}
			}
			p := calling(func(context.Context, *sdk.Request) (*sdk.Result, error) { return c.result, c.err })
			r := single(t, p, o).Call(t.Context(), call("test__run", ""))
			e := failed(t, r, c.want.Code)
			if e.Name != c.want.Name || e.Outcome != c.want.Outcome || !strings.Contains(e.Message, c.want.Message) ||
				e.Details != nil || strings.Contains(e.HelpURL, "banana") {
				t.Errorf("error %+v, want %+v", e, c.want)
			}
			if strings.Contains(e.Message, "no message") && e.Suggestion == "" {
				t.Error("it does not say what to do")
			}
			if _, err := json.Marshal(r); err != nil {
				t.Error(err)
			}
		})
	}
}
