package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// before is a middleware that does something and continues.
func before(f func(c *host.Call) error) host.Middleware {
	return func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
			if err := f(c); err != nil {
				return nil, err
			}
			return next(ctx, c)
		}
	}
}

func TestMiddlewareOrder(t *testing.T) {
	t.Parallel()
	var order []string
	named := func(name string) host.Middleware {
		return func(next host.CallFunc) host.CallFunc {
			return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
				order = append(order, fmt.Sprintf("%s in: %s %s", name, c.Definition.Name, c.Arguments))
				r, err := next(ctx, c)
				order = append(order, name+" out: "+r.Content[0].Text)
				return r, err
			}
		}
	}
	h := single(t, answering(sdk.Text("done"), nil),
		host.Options{Middleware: []host.Middleware{named("first"), named("second")}})
	succeeded(t, h.Call(t.Context(), call("test__run", "")))
	diff(t, []string{"first in: test__run {}", "second in: test__run {}", "second out: done", "first out: done"}, order)
}

// Middleware also sees calls that cannot run: to count, log or correct them.
func TestMiddlewareSeesWhatCannotRun(t *testing.T) {
	t.Parallel()
	var saw []string
	h := single(t, overWire(t), host.Options{Middleware: []host.Middleware{before(func(c *host.Call) error {
		saw = append(saw, fmt.Sprintf("%s %s %t", c.Tool, c.Arguments, c.Definition != nil))
		return nil
	})}})
	failed(t, h.Call(t.Context(), call("test__none", "")), sdk.CodeToolNotFound)
	failed(t, h.Call(t.Context(), call("nowhere", "")), sdk.CodeToolNotFound)
	failed(t, h.Call(t.Context(), call("test__echo", "[]")), sdk.CodeInvalidArgs)
	failed(t, h.Call(t.Context(), call("test__echo", "{")), sdk.CodeInvalidArgs)
	diff(t, []string{"test__none {} false", "nowhere {} false", "test__echo [] true", "test__echo { true"}, saw)
}

func TestChangesByMiddlewareAreChecked(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ change, problem string }{
		"to fit":          {`{"path":"b"}`, ""},
		"to fit no more":  {`{"path":7}`, "path: must be a string"},
		"to no JSON":      {`nope`, "must be a JSON object, not text"},
		"to doubled keys": {`{"path":"a","path":"b"}`, "two properties"},
		"to an array":     {`[]`, "must be a JSON object"},
		"to nothing":      {``, "\"path\" is missing"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := overWire(t)
			h := single(t, w, host.Options{Middleware: []host.Middleware{before(func(call *host.Call) error {
				call.Arguments = json.RawMessage(c.change)
				return nil
			})}})
			r := h.Call(t.Context(), call("test__strict", `{"path":"a"}`))
			if c.problem == "" {
				succeeded(t, r)
				return
			}
			if e := failed(t, r, sdk.CodeInvalidArgs); !strings.Contains(e.Message, c.problem) || w.ran.Load() != 0 {
				t.Errorf("ran %d times; message %q, want %q in it", w.ran.Load(), e.Message, c.problem)
			}
		})
	}
}

// A second try of a middleware is another call to a person: an approval is of what was shown, and lets it run once.
func TestApprovalOfASecondTry(t *testing.T) {
	t.Parallel()
	notSent := &sdk.Error{Code: sdk.CodePluginUnavailable, Message: "not now"}
	failed := &sdk.Error{Name: "Failed", Message: "half of it is done"}
	other := json.RawMessage(`{"a":2}`)
	cases := map[string]struct {
		first  *sdk.Error
		change func(c *host.Call)
		asked  int
	}{
		"the same call, which did not run": {notSent, func(*host.Call) {}, 1},
		"the same call, which ran":         {failed, func(*host.Call) {}, 2},
		"other arguments":                  {notSent, func(c *host.Call) { c.Arguments = other }, 2},
		"other arguments, after a run":     {failed, func(c *host.Call) { c.Arguments = other }, 2},
		"another folder":                   {notSent, func(c *host.Call) { c.Workdir = "/" }, 2},
		"another caller":                   {notSent, func(c *host.Call) { c.Caller = "stranger" }, 2},
		"another session":                  {notSent, func(c *host.Call) { c.SessionID = "other" }, 2},
		"another tool":                     {notSent, func(c *host.Call) { c.Tool = "test__other" }, 2},
		"a tool that a rule allows":        {notSent, func(c *host.Call) { c.Tool = "test__free" }, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tries := 0
			p := calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
				if tries++; tries == 1 {
					return nil, c.first
				}
				return sdk.Text(string(r.Arguments)), nil
			}, writes("run"), writes("other"), writes("free"))
			twice := func(next host.CallFunc) host.CallFunc {
				return func(ctx context.Context, call *host.Call) (*sdk.Result, error) {
					if r, err := next(ctx, call); err == nil {
						return r, nil
					}
					c.change(call)
					return next(ctx, call)
				}
			}
			free := must(policy.New(policy.Layer{Name: "user",
				Rules: []policy.Rule{{Name: "free", Tools: []string{"test__free"}, Effect: policy.Allow}}}))
			a, record := &asked{answers: []host.Answer{{Approved: true, By: "first"}, {Approved: true, By: "second"}}}, &records{}
			h := single(t, p, host.Options{Approver: a, Policy: free, Audit: record, Workdir: "/tmp",
				Middleware: []host.Middleware{twice}})
			r := h.Call(t.Context(), call("test__run", `{"a":1}`))
			succeeded(t, r)
			if len(a.questions) != c.asked {
				t.Fatalf("asked %d times, want %d", len(a.questions), c.asked)
			}
			if last := a.questions[c.asked-1]; c.asked == 2 && string(last.Arguments) != r.Text() {
				t.Errorf("asked about %s, ran %s", last.Arguments, r.Text())
			}
			by := ""
			for _, line := range record.soFar() {
				by += " "
				if line.Approval != nil {
					by += line.Approval.By
				}
			}
			want := map[string]string{"another": " first second second", "a tool that a rule allows": " first  "}
			if got := want[name]; got != "" && by != got || c.asked == 2 && by != want["another"] ||
				c.asked == 1 && got == "" && by != " first first first" {
				t.Errorf("the record says approved by%s", by)
			}
		})
	}
}

// What a person is shown of a second try is nothing of the first.
func TestSecondTryShowsNothingOfTheFirst(t *testing.T) {
	t.Parallel()
	type in struct{}
	p := sdk.New("two", "1.0.0")
	for _, name := range []string{"first", "second"} {
		sdk.AddTool(p, writes(name), func(context.Context, *sdk.Request, in) (*sdk.Result, error) {
			return nil, &sdk.Error{Name: "No", Message: "no"}
		})
	}
	sdk.AddPreview(p, "first", func(context.Context, *sdk.Request, in) (*sdk.Preview, error) {
		return &sdk.Preview{Content: []sdk.Content{sdk.TextContent("it does the first thing")}, Effect: "ask"}, nil
	})
	other := func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
			_, _ = next(ctx, c)
			c.Tool = "test__second"
			return next(ctx, c)
		}
	}
	a := &asked{answers: []host.Answer{{Arguments: json.RawMessage("[]")}, host.Yes()}}
	h := single(t, startIn(t, p), host.Options{Approver: a, Middleware: []host.Middleware{other}})
	failed(t, h.Call(t.Context(), call("test__first", "")), sdk.CodeTool)
	if len(a.questions) != 3 {
		t.Fatalf("asked %d times", len(a.questions))
	}
	if first := a.questions[1]; first.Preview == nil || first.Problem == "" {
		t.Errorf("of the first try %+v, %q", first.Preview, first.Problem)
	}
	if second := a.questions[2]; second.Tool.Name != "test__second" || second.Preview != nil || second.Problem != "" {
		t.Errorf("of %s %+v, %q", second.Tool.Name, second.Preview, second.Problem)
	}
}

// A middleware that waits and tries again finds a plugin that could not be listed at first.
func TestSecondTryListsAgain(t *testing.T) {
	t.Parallel()
	p := answering(sdk.Text("done"), nil)
	list := p.list
	p.list = func(ctx context.Context) ([]sdk.Tool, error) {
		if p.listed.Load() == 1 {
			return nil, errors.New("it starts")
		}
		return list(ctx)
	}
	again := func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
			if r, err := next(ctx, c); err == nil {
				return r, nil
			}
			return next(ctx, c)
		}
	}
	succeeded(t, single(t, p, host.Options{Middleware: []host.Middleware{again}}).Call(t.Context(), call("test__run", "")))
}

// A middleware that gives up while next runs in another goroutine ends it: no call runs after its result, and none runs
// that is reported as not sent.
func TestMiddlewareThatDoesNotWait(t *testing.T) {
	t.Parallel()
	for name, detach := range map[string]func(context.Context) context.Context{
		"with the context of the call": func(ctx context.Context) context.Context { return ctx },
		"with another one":             context.WithoutCancel,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := make(chan struct{}, 3)
			p := calling(func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) {
				begun <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			})
			var late []<-chan error
			var mu sync.Mutex
			entered := make(chan struct{}, 3)
			givesUp := func(next host.CallFunc) host.CallFunc {
				return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
					ended := make(chan error, 1)
					mu.Lock()
					late = append(late, ended)
					first := len(late) == 1
					mu.Unlock()
					go func() {
						_, err := next(detach(ctx), c)
						ended <- err
					}()
					if first {
						<-begun
						<-entered
						<-entered
					} else {
						entered <- struct{}{}
					}
					return nil, context.DeadlineExceeded
				}
			}
			h := single(t, p, host.Options{Middleware: []host.Middleware{givesUp},
				Plugins: map[string]host.PluginOptions{"test": {Limits: host.Limits{Concurrency: 1}}}})
			var calls sync.WaitGroup
			var ran atomic.Int64
			for range 3 {
				calls.Go(func() {
					e := failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeTimeout)
					if e.Outcome != sdk.OutcomeNotSent {
						ran.Add(1)
					}
				})
			}
			calls.Wait()
			for _, ended := range late {
				if err := await(t, 10*time.Second, "the end of next", ended); err == nil {
					t.Error("next succeeded after its middleware had returned")
				}
			}
			if ran.Load() != p.called.Load() {
				t.Errorf("%d calls ran, %d of them reported", p.called.Load(), ran.Load())
			}
		})
	}
}

func TestMiddlewareRefuses(t *testing.T) {
	t.Parallel()
	denied := &sdk.Error{Code: "E_DENIED", Name: "Denied", Message: "not on a Sunday"}
	cases := map[string]struct {
		err  error
		want sdk.Error
	}{
		"with a code": {denied, *denied},
		"wrapped": {fmt.Errorf("rule 7: %w", denied),
			sdk.Error{Code: "E_DENIED", Name: "Denied", Message: "rule 7: not on a Sunday"}},
		"without a code": {errors.New("no idea"), sdk.Error{Code: sdk.CodeInternal, Name: "Error", Message: "no idea",
			Suggestion: "Do without the tool, or tell the user: the host's log says more."}},
		"without a code, at length": {errors.New(strings.Repeat("x", 1001)),
			sdk.Error{Code: sdk.CodeInternal, Name: "Error", Message: strings.Repeat("x", 1000) + "... (truncated)",
				Suggestion: "Do without the tool, or tell the user: the host's log says more."}},
		"with a deadline of its own": {fmt.Errorf("asking: %w", context.DeadlineExceeded),
			sdk.Error{Code: sdk.CodeTimeout, Name: "Timeout", Message: "asking: context deadline exceeded",
				Suggestion: "Ask for less at once, or for a longer timeout."}},
		"for now": {&sdk.Error{Code: "E_DENIED", Name: "Busy", Message: "busy", Retryable: true}, sdk.Error{Code: "E_DENIED",
			Name: "Busy", Message: "busy", Suggestion: "Make the call again in a moment.", Retryable: true}},
		"by giving up": {context.Canceled, sdk.Error{Code: sdk.CodeCanceled, Name: "Canceled", Message: "context canceled"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := answering(sdk.Text(""), nil)
			h := single(t, p, host.Options{Middleware: []host.Middleware{before(func(*host.Call) error { return c.err })}})
			c.want.Outcome = sdk.OutcomeNotSent
			diff(t, &c.want, failed(t, h.Call(t.Context(), call("test__run", "")), c.want.Code))
			if p.called.Load() != 0 {
				t.Error("the tool ran")
			}
		})
	}
}

// A nil *sdk.Error in an error is an easy mistake of a Go function that means no error.
func TestTypedNilIsNoError(t *testing.T) {
	t.Parallel()
	var none *sdk.Error
	h := single(t, answering(sdk.Text("fine"), none), host.Options{})
	succeeded(t, h.Call(t.Context(), call("test__run", "")))
	h = single(t, answering(sdk.Text("fine"), fmt.Errorf("something: %w", none)), host.Options{})
	if e := failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeInternal); !strings.HasPrefix(e.Message,
		"something: ") {
		t.Errorf("error %+v", e)
	}
}

func TestPluginWithABrokenConnection(t *testing.T) {
	t.Parallel()
	for _, delivered := range []bool{true, false} {
		h := single(t, answering(nil, &client.BrokenError{Delivered: delivered, Err: errors.New("gone")}), host.Options{})
		e := failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodePluginCrashed)
		if want := fmt.Sprintf(`{"delivered":%v}`, delivered); string(e.Details) != want ||
			strings.Contains(e.Message, "not known") != delivered {
			t.Errorf("error %+v, want details %s", e, want)
		}
	}
}

func TestWorkdirMustBeAbsolute(t *testing.T) {
	t.Parallel()
	p := answering(nil, nil)
	h := single(t, p, host.Options{})
	c := call("test__run", "")
	c.Workdir = "some/where"
	e := failed(t, h.Call(t.Context(), c), sdk.CodeInvalidArgs)
	if e.Message != `the work folder "some/where" is not an absolute path; nothing was run` || p.called.Load() != 0 {
		t.Errorf("error %+v", e)
	}
}
