package host_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

func TestToolNotFound(t *testing.T) {
	t.Parallel()
	file := answering(sdk.Text(""), nil, tool("read"), tool("write"), tool("rename"), tool("remove"))
	shell := answering(sdk.Text(""), nil, tool("exec"))
	h := newHost(t, map[string]host.Plugin{"readfile": file, "shell": shell, "db": answering(nil, nil, tool("q"))}, host.Options{})
	const generic = "Call a tool by its full name, PLUGIN__TOOL, as it is listed."
	cases := map[string]struct{ name, message, suggestion string }{
		"typo in the tool":        {"readfile__raed", `there is no tool "readfile__raed"`, "Did you mean readfile__read, readfile__rename, readfile__write?"},
		"other word for the tool": {"shell__run", `there is no tool "shell__run"`, "Did you mean shell__exec?"},
		"typo in the plugin":      {"shel__exec", `there is no tool "shel__exec"`, "Did you mean shell__exec?"},
		"one underscore":          {"shell_exec", `there is no tool "shell_exec"`, "Did you mean shell__exec?"},
		"a dot":                   {"shell.exec", `there is no tool "shell.exec"`, "Did you mean shell__exec?"},
		"capitals":                {"SHELL__EXEC", `there is no tool "SHELL__EXEC"`, "Did you mean shell__exec?"},
		"the tool alone":          {"exec", `there is no tool "exec"`, "Did you mean shell__exec?"},
		"the plugin alone":        {"shell", `there is no tool "shell"`, "Did you mean shell__exec?"},
		"almost the plugin":       {"read_file", `there is no tool "read_file"`, "Did you mean readfile__read, readfile__remove, readfile__rename?"},
		"nothing like it":         {"weather__lookup", `there is no tool "weather__lookup"`, generic},
		"a space":                 {"shell__exec ", `there is no tool "shell__exec "`, "Did you mean shell__exec?"},
		"empty":                   {"", `there is no tool ""`, generic},
		"one letter":              {"x", `there is no tool "x"`, generic},
		"underscores":             {"__", `there is no tool "__"`, generic},
		"not UTF-8":               {"\xff\xfe", `there is no tool "\xff\xfe"`, generic},
		"very long":               {strings.Repeat("shell__exec", 1<<17), `there is no tool "` + strings.Repeat("shell__exec", 9) + `s"`, generic},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := h.Call(t.Context(), call(c.name, "not even JSON"))
			diff(t, &sdk.Error{Code: sdk.CodeToolNotFound, Name: "ToolNotFound", Message: c.message, Suggestion: c.suggestion, Outcome: sdk.OutcomeNotSent},
				failed(t, r, sdk.CodeToolNotFound))
			if r.Tool != c.name || r.Plugin != "" || r.Attempts != 0 {
				t.Errorf("result %+v", r)
			}
		})
	}
	if n := file.called.Load() + shell.called.Load(); n != 0 {
		t.Errorf("%d tools were run", n)
	}
}

// A call asks its own plugin only, also when the tool is not there; others are asked only to suggest something.
func TestLookupStartsNoOthers(t *testing.T) {
	t.Parallel()
	own, other := answering(sdk.Text(""), nil), answering(sdk.Text(""), nil)
	h := newHost(t, map[string]host.Plugin{"own": own, "other": other}, host.Options{})
	succeeded(t, h.Call(t.Context(), call("own__run", "")))
	failed(t, h.Call(t.Context(), call("own__runn", "")), sdk.CodeToolNotFound)
	if n := other.listed.Load(); n != 0 {
		t.Errorf("the other plugin was asked %d times", n)
	}
	if n := own.listed.Load(); n != 1 {
		t.Errorf("the plugin was asked %d times, want once", n)
	}
}

func TestToolLeftOutIsExplained(t *testing.T) {
	t.Parallel()
	h := single(t, answering(sdk.Text(""), nil, tool("run"), sdk.Tool{Name: "broken", Description: "for tests", InputSchema: []byte(`{"type":"object","required":7}`)}),
		host.Options{})
	e := failed(t, h.Call(t.Context(), call("test__broken", "")), sdk.CodeToolNotFound)
	for _, words := range []string{`there is no tool "test__broken"`, `plugin "test"`, "left out", "input schema", "required"} {
		if !strings.Contains(e.Message, words) {
			t.Errorf("message %q lacks %q", e.Message, words)
		}
	}
}

// silent is a plugin that does not tell its tools.
func silent() *fake {
	return &fake{list: func(ctx context.Context) ([]sdk.Tool, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
}

func TestTimeoutHoldsForListing(t *testing.T) {
	t.Parallel()
	p := silent()
	h := single(t, p, host.Options{})
	c := call("test__run", "")
	c.Timeout = 10 * time.Millisecond
	diff(t, &sdk.Error{Code: sdk.CodeTimeout, Name: "Timeout", Message: `plugin "test" did not list its tools in time; nothing was run`,
		Suggestion: "Try again: the plugin may still be starting.", Retryable: true, Outcome: sdk.OutcomeNotSent}, failed(t, h.Call(t.Context(), c), sdk.CodeTimeout))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	diff(t, &sdk.Error{Code: sdk.CodeCanceled, Name: "Canceled", Message: `the call was canceled while plugin "test" listed its tools; nothing was run`, Outcome: sdk.OutcomeNotSent},
		failed(t, h.Call(ctx, call("test__run", "")), sdk.CodeCanceled))
	if n := p.called.Load(); n != 0 {
		t.Errorf("%d tools were run", n)
	}
}

// Suggesting a name does not wait for ever for plugins that do not answer.
func TestSuggestionsDoNotHang(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newHost(t, map[string]host.Plugin{"silent": silent(), "shell": answering(nil, nil, tool("exec"))}, host.Options{})
		started := time.Now()
		e := failed(t, h.Call(t.Context(), call("shel__exec", "")), sdk.CodeToolNotFound)
		if took := time.Since(started); took > 5*time.Second || e.Suggestion != "Did you mean shell__exec?" {
			t.Errorf("after %s: %s", took, e.Suggestion)
		}
	})
}
