package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

type none struct{}

// with makes a plugin with one tool, named x, whose arguments do not matter.
func with(handle sdk.Handler) *sdk.Plugin {
	p := sdk.New("p", "1.0.0")
	p.AddRawTool(tool("x"), handle)
	return p
}

func tool(name string) sdk.Tool {
	return sdk.Tool{Name: name, Description: "For tests.", InputSchema: json.RawMessage(`{"type":"object"}`)}
}

func returns(r *sdk.Result, err error) sdk.Handler {
	return func(context.Context, *sdk.Request) (*sdk.Result, error) { return r, err }
}

// badError is an error whose Error method panics.
type badError struct{}

func (*badError) Error() string { panic("no words") }

func TestResultOfAHandler(t *testing.T) {
	refused := &sdk.Error{Code: "E_DENIED", Name: "Refused", Message: "no", Suggestion: "ask",
		HelpURL:   "https://example.com",
		Retryable: true, Details: json.RawMessage(`{"a":1}`)}
	seen := *refused
	seen.Code, seen.Outcome = sdk.CodeTool, sdk.OutcomeFailed
	inside := seen
	inside.Message = "reading it: no"
	tooled := func(name, message string) *sdk.Result {
		return &sdk.Result{Error: &sdk.Error{Code: sdk.CodeTool, Name: name, Message: message, Outcome: sdk.OutcomeFailed}}
	}
	mute := func(name, said string) *sdk.Result {
		r := tooled(name, "the tool x failed with "+said+" and no message")
		r.Error.Suggestion = "This is a bug in the plugin: its error needs a text."
		return r
	}
	_, missing := os.Open("/nowhere/at/all")
	for name, c := range map[string]struct {
		result *sdk.Result
		err    error
		want   *sdk.Result
	}{
		"nothing": {nil, nil, &sdk.Result{Error: &sdk.Error{Code: sdk.CodeTool, Name: "NoResult",
			Message:    "the tool x has run, but returned neither a result nor an error",
			Suggestion: "This is a bug in the plugin. Check what the call has done before you repeat it.",
			Outcome:    sdk.OutcomeUnknown}}},
		"an empty result":     {&sdk.Result{}, nil, &sdk.Result{}},
		"an empty error":      {nil, &sdk.Error{}, mute("", "an error without a name")},
		"a bare name":         {nil, &sdk.Error{Name: "Lost"}, mute("Lost", "Lost")},
		"an empty one inside": {&sdk.Result{Error: &sdk.Error{}}, nil, mute("", "an error without a name")},
		"content":             {sdk.Text("a"), nil, sdk.Text("a")},
		"a nil *Error":        {sdk.Text("a"), (*sdk.Error)(nil), sdk.Text("a")},
		"content and error":   {sdk.Text("half"), refused, &sdk.Result{Content: sdk.Text("half").Content, Error: &seen}},
		"an error inside":     {nil, fmt.Errorf("reading it: %w", refused), &sdk.Result{Error: &inside}},
		"its own code": {nil, &sdk.Error{Code: sdk.CodeInvalidArgs, Message: "odd"},
			&sdk.Result{Error: &sdk.Error{Code: sdk.CodeInvalidArgs, Message: "odd", Outcome: sdk.OutcomeFailed}}},
		"an unknown outcome": {nil, &sdk.Error{Code: sdk.CodeTool, Name: "Lost", Message: "lost",
			Outcome: sdk.OutcomeUnknown}, &sdk.Result{Error: &sdk.Error{Code: sdk.CodeTool, Name: "Lost", Message: "lost",
			Outcome: sdk.OutcomeUnknown}}},
		"another outcome": {nil, &sdk.Error{Code: sdk.CodeTool, Name: "No", Message: "no", Outcome: sdk.OutcomeNotSent},
			tooled("No", "no")},
		"a plain error": {nil, errors.New("broke"), tooled("Error", "broke")},
		"no such file":  {nil, missing, tooled("NotFound", "open /nowhere/at/all: no such file or directory")},
		"no permission": {nil, fs.ErrPermission, tooled("PermissionDenied", "permission denied")},
		"read only":     {nil, syscall.EROFS, tooled("PermissionDenied", "read-only file system")},
		"a canceled context": {nil, context.Canceled, &sdk.Result{Error: &sdk.Error{Code: sdk.CodeCanceled,
			Name: "Canceled", Message: "the call was canceled", Outcome: sdk.OutcomeFailed}}},
		"a passed deadline": {nil, context.DeadlineExceeded, &sdk.Result{Error: &sdk.Error{Code: sdk.CodeTimeout,
			Name: "Timeout", Message: "the call took longer than it may", Outcome: sdk.OutcomeFailed,
			Suggestion: "Ask for less at once, or for a longer timeout."}}},
		"a deadline of the tool's own": {nil, fmt.Errorf("asking: %w", context.DeadlineExceeded),
			&sdk.Result{Error: &sdk.Error{Code: sdk.CodeTimeout, Name: "Timeout",
				Message: "asking: context deadline exceeded", Outcome: sdk.OutcomeFailed}}},
		"broken text": {nil, errors.New("a\xffb"), tooled("Error", "a\uFFFDb")},
		"JSON": {sdk.JSON(map[string]int{"a": 1}), nil, &sdk.Result{Structured: []byte(`{"a":1}`),
			Content: sdk.Text(`{"a":1}`).Content}},
		"JSON of a nil map": {sdk.JSON(map[string]int(nil)), nil, &sdk.Result{Structured: []byte(`{}`),
			Content: []sdk.Content{sdk.TextContent(`{}`)}}},
		"JSON of null": {sdk.JSON(json.RawMessage("null")), nil, &sdk.Result{Structured: []byte(`null`),
			Content: []sdk.Content{sdk.TextContent(`null`)}}},
		"what is not JSON": {sdk.JSON(make(chan int)), nil, &sdk.Result{Error: &sdk.Error{Code: sdk.CodeTool,
			Name: "BadResult", Outcome: sdk.OutcomeUnknown, Message: "the result has no JSON form: json: unsupported type: " +
				"chan int", Suggestion: "This is a bug in the plugin. Find out what the call has done before you make it again.",
		}}},
		"truncated": {&sdk.Result{Truncated: true}, nil, &sdk.Result{Truncated: true}},
		"structured, no JSON": {&sdk.Result{Structured: []byte("{")}, nil,
			&sdk.Result{Error: &sdk.Error{Code: sdk.CodeProtocol, Name: "BrokenResult", Outcome: sdk.OutcomeFailed,
				Message: "the result is broken: the structured JSON is not valid; the tool has run, and what can be read of " +
					"its result is kept",
				Suggestion: "Check what the call has done before you repeat it."}}},
	} {
		t.Run(name, func(t *testing.T) {
			before := c.result
			if before != nil {
				before = new(*before)
			}
			got := sdktest.Start(t, with(returns(c.result, c.err))).Run(t, "x", "")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, c.result); diff != "" {
				t.Errorf("the handler's own result has changed: %s", diff)
			}
		})
	}
}

func TestHandlerThatDoesNotReturn(t *testing.T) {
	for name, c := range map[string]struct {
		handle     sdk.Handler
		name, text string
		logged     bool
	}{
		"panics": {func(context.Context, *sdk.Request) (*sdk.Result, error) { panic("ouch") }, "Panic",
			"the tool x panicked: ouch", true},
		"panics with nil": {func(context.Context, *sdk.Request) (*sdk.Result, error) { panic(nil) }, "Panic",
			"the tool x panicked: panic called with nil", true},
		"panics on a map": {func(context.Context, *sdk.Request) (*sdk.Result, error) {
			var m map[int]int
			m[1] = 1
			return nil, nil
		}, "Panic", "assignment to entry in nil map", true},
		"has a bad error": {returns(nil, (*badError)(nil)), "Panic", "the tool x panicked: no words", true},
		"ends its goroutine": {func(context.Context, *sdk.Request) (*sdk.Result, error) {
			runtime.Goexit()
			return nil,
				nil
		}, "Exited", "the tool x ended its goroutine", false},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			p := sdktest.Start(t, with(func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
				if calls++; calls == 2 {
					return sdk.Text("fine"), nil
				}
				return c.handle(ctx, r)
			}))
			var log []string
			result, err := p.Call(t.Context(), &sdk.Request{Tool: "x", Events: func(e sdk.Event) {
				log = append(log,
					string(e.Attributes))
			}})
			if err != nil || result.Error == nil || result.Error.Name != c.name ||
				!strings.Contains(result.Error.Message, c.text) || result.Error.Suggestion == "" {
				t.Errorf("the call gives %+v, %v", result, err)
			}
			if logged := strings.Contains(strings.Join(log, ""), "plugin_test.go"); logged != c.logged {
				t.Errorf("where it came from is in the log: %v, want %v\n%s", logged, c.logged, log)
			}
			if result := p.Run(t, "x", ""); result.Error != nil || result.Content[0].Text != "fine" {
				t.Errorf("the next call gives %+v", result)
			}
		})
	}
}

func TestUnknownTool(t *testing.T) {
	result := sdktest.Start(t, with(returns(nil, nil))).Unchecked().Run(t, "y", "{}")
	want := &sdk.Error{Code: sdk.CodeToolNotFound, Name: "ToolNotFound", Message: `plugin "p" has no tool "y"; nothing was run`,
		Suggestion: "List the tools again.", Outcome: sdk.OutcomeFailed}
	if diff := cmp.Diff(want, result.Error); diff != "" {
		t.Error(diff)
	}
}

func TestArgumentsOfATypedTool(t *testing.T) {
	type args struct {
		Count int `json:"count"`
	}
	p := sdk.New("p", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "x", Description: "For tests."}, func(_ context.Context, r *sdk.Request,
		in args) (*sdk.Result, error) {
		return sdk.Textf("%d in %s", in.Count, r.Workdir), nil
	})
	c := sdktest.Start(t, p)
	if got := c.RunIn(t, "/w", "x", `{"count":3}`); got.Content[0].Text != "3 in /w" {
		t.Errorf("the result is %+v", got)
	}
	for _, raw := range []string{`{"count":"3"}`, `{"number":3}`, `[]`, `{`} {
		if got := c.Run(t, "x", raw); got.Error == nil || got.Error.Code != sdk.CodeInvalidArgs {
			t.Errorf("%s gives %+v", raw, got)
		}
	}
}

func TestCallsThatEnd(t *testing.T) {
	t.Run("the handler is canceled", func(t *testing.T) {
		reported := make(chan error, 1)
		p := sdktest.Start(t, with(func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
			r.Progress(0, 0, "it runs")
			<-ctx.Done()
			reported <- ctx.Err()
			return nil, ctx.Err()
		}))
		if _, err := p.Call(endOnProgress(t)); sdk.CodeOf(err) != sdk.CodeCanceled {
			t.Errorf("error is %v", err)
		}
		if err := <-reported; !errors.Is(err, context.Canceled) {
			t.Errorf("the handler receives %v", err)
		}
	})
	t.Run("the caller does not wait", func(t *testing.T) {
		p, release := ignoresCancel(t)
		defer release()
		if _, err := p.Call(endOnProgress(t)); sdk.CodeOf(err) != sdk.CodeCanceled {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("the deadline passes", func(t *testing.T) {
		p, release := ignoresCancel(t)
		defer release()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := p.Call(ctx, &sdk.Request{Tool: "x"})
		if sdk.CodeOf(err) != sdk.CodeTimeout {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("before it began", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := sdktest.Start(t, with(returns(nil, nil))).Call(ctx, &sdk.Request{Tool: "x"})
		if sdk.CodeOf(err) != sdk.CodeCanceled {
			t.Errorf("error is %v", err)
		}
	})
}

// ignoresCancel is a plugin whose handler ignores its ctx until it is released.
func ignoresCancel(t *testing.T) (p *sdktest.Plugin, release func()) {
	held := make(chan struct{})
	return sdktest.Start(t, with(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		r.Progress(0, 0, "it runs")
		<-held
		return nil, nil
	})), func() { close(held) }
}

// endOnProgress returns the arguments of a call that its caller cancels once the handler runs.
func endOnProgress(t *testing.T) (context.Context, *sdk.Request) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, &sdk.Request{Tool: "x", Events: func(e sdk.Event) {
		if e.Type == sdk.EventProgress {
			cancel()
		}
	}}
}

func TestCallsRunInParallel(t *testing.T) {
	meet := make(chan struct{})
	p := sdktest.Start(t, with(func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		select {
		case meet <- struct{}{}:
		case <-meet:
		case <-ctx.Done():
		}
		return &sdk.Result{}, ctx.Err()
	}))
	results := make(chan *sdk.Result, 2)
	for range 2 {
		go func() { results <- p.Run(t, "x", "") }()
	}
	for range 2 {
		if r := <-results; r.Error != nil {
			t.Error(r.Error)
		}
	}
}
