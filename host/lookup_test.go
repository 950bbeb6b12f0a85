package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

func TestToolNotFound(t *testing.T) {
	t.Parallel()
	file := answering(sdk.Text(""), nil, tool("read"), tool("write"), tool("rename"), tool("remove"))
	shell := answering(sdk.Text(""), nil, tool("exec"))
	h := newHost(t, map[string]host.Plugin{"readfile": file, "shell": shell, "db": answering(nil, nil, tool("q"))},
		host.Options{})
	const generic = "Call a tool by its full name, PLUGIN__TOOL, as it is listed."
	cases := map[string]struct{ name, message, suggestion string }{
		"typo in the tool": {"readfile__raed", `there is no tool "readfile__raed"`,
			"Did you mean readfile__read, readfile__rename, readfile__write?"},
		"other word for the tool": {"shell__run", `there is no tool "shell__run"`, "Did you mean shell__exec?"},
		"typo in the plugin":      {"shel__exec", `there is no tool "shel__exec"`, "Did you mean shell__exec?"},
		"as an MCP client names it": {"mcp__toolhost__shell__exec", `there is no tool "mcp__toolhost__shell__exec"`,
			"Did you mean shell__exec?"},
		"another's name, from an MCP client": {"mcp__files__rename", `there is no tool "mcp__files__rename"`,
			"Did you mean readfile__rename?"},
		"an MCP server alone": {"mcp__weather__", `there is no tool "mcp__weather__"`, generic},
		"one underscore":      {"shell_exec", `there is no tool "shell_exec"`, "Did you mean shell__exec?"},
		"a dot":               {"shell.exec", `there is no tool "shell.exec"`, "Did you mean shell__exec?"},
		"a namespace": {"default_api.shell__exec", `there is no tool "default_api.shell__exec"`,
			"Did you mean shell__exec?"},
		"capitals":         {"SHELL__EXEC", `there is no tool "SHELL__EXEC"`, "Did you mean shell__exec?"},
		"the tool alone":   {"exec", `there is no tool "exec"`, "Did you mean shell__exec?"},
		"the plugin alone": {"shell", `there is no tool "shell"`, "Did you mean shell__exec?"},
		"almost the plugin": {"read_file", `there is no tool "read_file"`,
			"Did you mean readfile__read, readfile__remove, readfile__rename?"},
		"nothing like it": {"weather__lookup", `there is no tool "weather__lookup"`, generic},
		"a space":         {"shell__exec ", `there is no tool "shell__exec "`, "Did you mean shell__exec?"},
		"empty":           {"", `there is no tool ""`, generic},
		"one letter":      {"x", `there is no tool "x"`, generic},
		"underscores":     {"__", `there is no tool "__"`, generic},
		"not UTF-8":       {"\xff\xfe", `there is no tool "\xff\xfe"`, generic},
		"very long": {strings.Repeat("shell__exec", 1<<17), `there is no tool "` +
			strings.Repeat("shell__exec", 9) + `s"`, generic},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := h.Call(t.Context(), call(c.name, "not even JSON"))
			diff(t, &sdk.Error{Code: sdk.CodeToolNotFound, Name: "ToolNotFound", Message: c.message, Suggestion: c.suggestion,
				Outcome: sdk.OutcomeNotSent},
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

// A call lists only its own plugin, also when the tool does not exist; others are listed only for suggestions.
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
	h := single(t, answering(sdk.Text(""), nil, tool("run"),
		sdk.Tool{Name: "broken", Description: "for tests", InputSchema: []byte(`{"type":"object","required":7}`)}),
		host.Options{})
	e := failed(t, h.Call(t.Context(), call("test__broken", "")), sdk.CodeToolNotFound)
	for _, words := range []string{`there is no tool "test__broken"`, `plugin "test"`, "left out", "input schema",
		"required"} {
		if !strings.Contains(e.Message, words) {
			t.Errorf("message %q lacks %q", e.Message, words)
		}
	}
}

// silent is a plugin that never returns its tools.
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
	diff(t, &sdk.Error{Code: sdk.CodeTimeout, Name: "Timeout",
		Message:    `plugin "test" did not list its tools within the time limit; nothing was run`,
		Suggestion: "Try again: the plugin may still be starting. If it stays slow, give the call more time, or raise default_timeout.", Retryable: true, Outcome: sdk.OutcomeNotSent},
		failed(t, h.Call(t.Context(), c), sdk.CodeTimeout))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	diff(t, &sdk.Error{Code: sdk.CodeCanceled, Name: "Canceled",
		Message: `the call was canceled while plugin "test" listed its tools; nothing was run`, Outcome: sdk.OutcomeNotSent},
		failed(t, h.Call(ctx, call("test__run", "")), sdk.CodeCanceled))
	if n := p.called.Load(); n != 0 {
		t.Errorf("%d tools were run", n)
	}
}

// Suggesting a name does not wait without limit for plugins that do not answer.
func TestSuggestionsDoNotHang(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newHost(t, map[string]host.Plugin{"silent": silent(), "shell": answering(nil, nil, tool("exec"))},
			host.Options{})
		started := time.Now()
		e := failed(t, h.Call(t.Context(), call("shel__exec", "")), sdk.CodeToolNotFound)
		if took := time.Since(started); took > 5*time.Second || e.Suggestion != "Did you mean shell__exec?" {
			t.Errorf("after %s: %s", took, e.Suggestion)
		}
	})
}

// A schema that was written for other clients may lose checks, but never the tool.
func TestForeignSchemas(t *testing.T) {
	t.Parallel()
	with := func(name, schema string) sdk.Tool {
		d := tool(name)
		d.InputSchema, d.ForeignSchema = json.RawMessage(schema), true
		return d
	}
	h := single(t, answering(sdk.Text("fine"), nil,
		with("pattern", `{"type":"object","properties":{"a":{"type":"string","pattern":"(?!x)"},"d":{"type":"string",`+
			`"format":"date"}},"required":["a"]}`),
		with("broken", `{"type":"object","$schema":"https://example.org/dialect"}`)), host.Options{})
	tools, problems := h.Tools(t.Context())
	diff(t, []string{"test__broken", "test__pattern"}, names(tools))
	if len(problems) > 0 {
		t.Error(problems)
	}
	for i, want := range []string{"its arguments are not checked, since its schema cannot be used: #/$schema",
		"#/properties/a/pattern: "} {
		if notes := tools[i].Unchecked; len(notes) != 1 || !strings.HasPrefix(notes[0], want) {
			t.Errorf("%s: %q", tools[i].Name, notes)
		}
	}
	succeeded(t, h.Call(t.Context(), call("test__broken", `{"a":5,"b":true}`)))
	succeeded(t, h.Call(t.Context(), call("test__pattern", `{"a":"x"}`)))
	failed(t, h.Call(t.Context(), call("test__pattern", `{}`)), sdk.CodeInvalidArgs)
	if e := failed(t, h.Call(t.Context(), call("test__pattern", `{"a":"x","d":"soon"}`)),
		sdk.CodeInvalidArgs); !strings.Contains(e.Message, "d: must be a date such as") {
		t.Errorf("error %+v", e)
	}
}

// OpenAPI's nullable is a union with null.
func TestNullable(t *testing.T) {
	t.Parallel()
	d := tool("x")
	d.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","nullable":true}}}`)
	h := single(t, answering(sdk.Text("fine"), nil, d), host.Options{})
	succeeded(t, h.Call(t.Context(), call("test__x", `{"a":null}`)))
}

// A tool is called by its other names as by its own; catalogs, rules and the plugin use its own.
func TestAliases(t *testing.T) {
	t.Parallel()
	p := calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) { return sdk.Text(r.Tool), nil },
		tool("one"), tool("two"))
	var decided []string
	rules := policyFunc(func(q *policy.Query) policy.Decision {
		decided = append(decided, q.Tool)
		return policy.Decision{Effect: policy.Allow}
	})
	o := host.Options{Policy: rules, Tools: map[string]host.ToolOptions{
		"test__one": {Aliases: []string{"read_file", "readFile"}, Limits: host.Limits{MaxCalls: 2}}}}
	h := single(t, p, o)
	r := h.Call(t.Context(), call("read_file", ""))
	if succeeded(t, r); r.Text() != "one" || r.Tool != "read_file" || r.Plugin != "test" {
		t.Errorf("%+v", r)
	}
	succeeded(t, h.Call(t.Context(), call("readFile", "")))
	if e := failed(t, h.Call(t.Context(), call("test__one", "")), sdk.CodeLimit); !strings.Contains(e.Message,
		`max_calls of tool "test__one"`) {
		t.Errorf("limits do not hold for both names: %+v", e)
	}
	diff(t, []string{"test__one", "test__one"}, decided)
	all, err := h.Catalog(host.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	if tool, err := all.Tool(t.Context(), "read_file"); err != nil || tool.Name != "test__one" {
		t.Errorf("%+v, %v", tool, err)
	}
	c, err := h.Catalog(host.Filter{Exclude: []string{"test__one"}})
	if err != nil {
		t.Fatal(err)
	}
	failed(t, c.Call(t.Context(), call("read_file", "")), sdk.CodeNotInCatalog)
	tools, _ := h.Tools(t.Context())
	diff(t, []string{"test__one", "test__two"}, names(tools))
	if text, err := json.Marshal(tools[0]); err != nil ||
		!strings.HasPrefix(string(text), `{"plugin":"test","aliases":["read_file","readFile"],"name":"test__one"`) {
		t.Errorf("%s, %v", text, err)
	}
	o.Tools = map[string]host.ToolOptions{"test__two": {Aliases: []string{"read_file"}}}
	if err := h.Reload(map[string]host.Plugin{"test": p}, o); err != nil {
		t.Fatal(err)
	}
	if r := h.Call(t.Context(), call("read_file", "")); r.Text() != "two" {
		t.Errorf("after a reload: %+v", r)
	}
}

// policyFunc is a function that implements Policy.
type policyFunc func(q *policy.Query) policy.Decision

func (f policyFunc) Decide(q *policy.Query) policy.Decision { return f(q) }

func TestAliasesThatClash(t *testing.T) {
	t.Parallel()
	for want, tools := range map[string]map[string]host.ToolOptions{
		`test__one and test__two have the alias "Read_File" both`:                              {"test__one": {Aliases: []string{"read_file"}}, "test__two": {Aliases: []string{"Read_File"}}},
		`the alias "test__two" of test__one is the name that a tool of plugin "test" may have`: {"test__one": {Aliases: []string{"test__two"}}},
		`the alias "a b" of test__one must match`:                                              {"test__one": {Aliases: []string{"a b"}}},
	} {
		_, err := host.New(map[string]host.Plugin{"test": answering(sdk.Text(""), nil, tool("one"), tool("two"))},
			host.Options{Tools: tools})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Calls with the names of other agents' tools get suggestions for tools with the same use, and run nothing.
func TestNamesOfOtherAgents(t *testing.T) {
	t.Parallel()
	called := 0
	plugin := func(category string, names ...string) host.Plugin {
		var tools []sdk.Tool
		for _, name := range names {
			d := tool(name)
			d.Category = category
			tools = append(tools, d)
		}
		return calling(func(context.Context, *sdk.Request) (*sdk.Result, error) { called++; return sdk.Text(""), nil },
			tools...)
	}
	h := newHost(t, map[string]host.Plugin{"readfile": plugin("files", "read", "list", "glob", "grep"),
		"edit":     plugin("edit", "replace", "multi", "write"),
		"terminal": plugin("shell", "exec", "script")}, host.Options{})
	for name, want := range map[string]string{
		"read_file": "readfile__read", "ReadFile": "readfile__read", "list_directory": "readfile__list",
		"grep_search": "readfile__grep", "search_file_content": "readfile__grep",
		"run_terminal_command": "terminal__exec", "run_shell_command": "terminal__exec", "Bash": "terminal__exec",
		"replace": "edit__replace", "str_replace_based_edit_tool": "edit__replace",
		"write_file": "edit__write", "MultiEdit": "edit__multi", "glob": "readfile__glob",
	} {
		e := failed(t, h.Call(t.Context(), call(name, "")), sdk.CodeToolNotFound)
		if !strings.HasPrefix(strings.TrimSuffix(e.Suggestion, "?")+",", "Did you mean "+want+",") {
			t.Errorf("%s: %q, want %s", name, e.Suggestion, want)
		}
	}
	if e := failed(t, h.Call(t.Context(), call("web_fetch", "")), sdk.CodeToolNotFound); strings.Contains(e.Suggestion,
		"http__get") {
		t.Errorf("a tool that is not there is suggested: %q", e.Suggestion)
	}
	if called > 0 {
		t.Error("something ran")
	}
}
