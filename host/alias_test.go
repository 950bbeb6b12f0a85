package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// A tool is called by its other names as by its own; catalogs, rules and the plugin know it by its own.
func TestAliases(t *testing.T) {
	t.Parallel()
	p := calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) { return sdk.Text(r.Tool), nil }, tool("one"), tool("two"))
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
	if e := failed(t, h.Call(t.Context(), call("test__one", "")), sdk.CodeLimit); !strings.Contains(e.Message, `max_calls of tool "test__one"`) {
		t.Errorf("limits do not hold for both names: %+v", e)
	}
	diff(t, []string{"test__one", "test__one"}, decided)
	c, err := h.Catalog(host.Filter{Exclude: []string{"test__one"}})
	if err != nil {
		t.Fatal(err)
	}
	failed(t, c.Call(t.Context(), call("read_file", "")), sdk.CodeNotInCatalog)
	tools, _ := h.Tools(t.Context())
	diff(t, []string{"test__one", "test__two"}, names(tools))
	if text, err := json.Marshal(tools[0]); err != nil || !strings.HasPrefix(string(text), `{"plugin":"test","aliases":["read_file","readFile"],"name":"test__one"`) {
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

// policyFunc is a function that decides.
type policyFunc func(q *policy.Query) policy.Decision

func (f policyFunc) Decide(q *policy.Query) policy.Decision { return f(q) }

func TestAliasesThatClash(t *testing.T) {
	t.Parallel()
	for want, tools := range map[string]map[string]host.ToolOptions{
		`test__one and test__two have the alias "Read_File" both`:                              {"test__one": {Aliases: []string{"read_file"}}, "test__two": {Aliases: []string{"Read_File"}}},
		`the alias "test__two" of test__one is the name that a tool of plugin "test" may have`: {"test__one": {Aliases: []string{"test__two"}}},
		`the alias "a b" of test__one must match`:                                              {"test__one": {Aliases: []string{"a b"}}},
	} {
		_, err := host.New(map[string]host.Plugin{"test": answering(sdk.Text(""), nil, tool("one"), tool("two"))}, host.Options{Tools: tools})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The names of other agents' tools are answered with what does the same here, and run nothing.
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
		return calling(func(context.Context, *sdk.Request) (*sdk.Result, error) { called++; return sdk.Text(""), nil }, tools...)
	}
	h := newHost(t, map[string]host.Plugin{"readfile": plugin("files", "read", "list", "glob", "grep"), "edit": plugin("edit", "replace", "multi", "write"),
		"terminal": plugin("shell", "exec", "script")}, host.Options{})
	for name, want := range map[string]string{
		"read_file": "readfile__read", "ReadFile": "readfile__read", "list_directory": "readfile__list", "grep_search": "readfile__grep", "search_file_content": "readfile__grep",
		"run_terminal_command": "terminal__exec", "run_shell_command": "terminal__exec", "Bash": "terminal__exec", "replace": "edit__replace", "str_replace_based_edit_tool": "edit__replace",
		"write_file": "edit__write", "MultiEdit": "edit__multi", "glob": "readfile__glob",
	} {
		e := failed(t, h.Call(t.Context(), call(name, "")), sdk.CodeToolNotFound)
		if !strings.HasPrefix(strings.TrimSuffix(e.Suggestion, "?")+",", "Did you mean "+want+",") {
			t.Errorf("%s: %q, want %s", name, e.Suggestion, want)
		}
	}
	if e := failed(t, h.Call(t.Context(), call("web_fetch", "")), sdk.CodeToolNotFound); strings.Contains(e.Suggestion, "http__get") {
		t.Errorf("a tool that is not there is suggested: %q", e.Suggestion)
	}
	if called > 0 {
		t.Error("something ran")
	}
}
