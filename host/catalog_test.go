package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

func TestCallOutsideTheCatalog(t *testing.T) {
	t.Parallel()
	file, shell := files(), answering(sdk.Text("done"), nil, writes("exec"), writes("explain"))
	cases := map[string]struct {
		filter              host.Filter
		call                string
		code                sdk.Code
		message, suggestion string
	}{
		"another plugin": {host.Filter{Tools: []string{"files__*"}}, "shell__exec", sdk.CodeNotInCatalog,
			`the tool "shell__exec" is not in this catalog; nothing was run`, "Call only tools that are listed here, and do not try this one again."},
		"another tool of a plugin": {host.Filter{Exclude: []string{"*__write", "*__index"}}, "files__write", sdk.CodeNotInCatalog,
			`the tool "files__write" is not in this catalog; nothing was run`, "Did you mean files__read, files__plain?"},
		"a tool that changes things": {host.Filter{ReadOnly: true}, "shell__exec", sdk.CodeNotInCatalog,
			`the tool "shell__exec" is not in this catalog; nothing was run`, "Call only tools that are listed here, and do not try this one again."},
		"no tool of a plugin inside": {host.Filter{Tools: []string{"files__read", "files__x"}}, "files__x", sdk.CodeToolNotFound,
			`there is no tool "files__x"`, "Did you mean files__read?"},
		"no tool of a plugin outside": {host.Filter{Tools: []string{"files__read"}}, "shell__exek", sdk.CodeToolNotFound,
			`there is no tool "shell__exek"`, "Call a tool by its full name, PLUGIN__TOOL, as it is listed."},
		"no plugin, near inside": {host.Filter{Tools: []string{"shell__explain"}}, "shel__explain", sdk.CodeToolNotFound,
			`there is no tool "shel__explain"`, "Did you mean shell__explain?"},
		"no plugin, near outside": {host.Filter{Tools: []string{"shell__explain"}}, "file__read", sdk.CodeToolNotFound,
			`there is no tool "file__read"`, "Call a tool by its full name, PLUGIN__TOOL, as it is listed."},
		"an empty catalog": {host.Filter{Tools: []string{}}, "shell__exec", sdk.CodeNotInCatalog,
			`the tool "shell__exec" is not in this catalog; nothing was run`, "Call only tools that are listed here, and do not try this one again."},
	}
	h := newHost(t, map[string]host.Plugin{"files": file, "shell": shell}, host.Options{Approver: agreeing})
	h.Tools(t.Context())
	for name, k := range cases {
		t.Run(name, func(t *testing.T) {
			r := catalog(t, h, k.filter).Call(t.Context(), call(k.call, "not even JSON"))
			e := failed(t, r, k.code)
			diff(t, [2]string{k.message, k.suggestion}, [2]string{e.Message, e.Suggestion})
			if r.Plugin != "" || r.Attempts != 0 {
				t.Errorf("result %+v", r)
			}
		})
	}
	if n := file.called.Load() + shell.called.Load(); n != 0 {
		t.Errorf("%d tools were run", n)
	}
}

// Nothing is started to find out whether a tool outside exists; it is said when it is known.
func TestCatalogRefusesUnlisted(t *testing.T) {
	t.Parallel()
	p := answering(sdk.Text("done"), nil)
	h := newHost(t, map[string]host.Plugin{"test": p, "other": answering(nil, nil)}, host.Options{Approver: agreeing})
	c := catalog(t, h, host.Filter{Tools: []string{"other__*"}})
	failed(t, c.Call(t.Context(), call("test__nosuch", "")), sdk.CodeNotInCatalog)
	if n := p.listed.Load(); n != 0 {
		t.Errorf("the plugin was asked %d times", n)
	}
	h.Tools(t.Context())
	failed(t, c.Call(t.Context(), call("test__nosuch", "")), sdk.CodeToolNotFound)
	failed(t, c.Call(t.Context(), call("test__run", "")), sdk.CodeNotInCatalog)
}

// Nothing is told of what is wrong with tools outside.
func TestCatalogHidesProblemsOutside(t *testing.T) {
	t.Parallel()
	broken := sdk.Tool{Name: "broken", Description: "for tests"}
	p := answering(sdk.Text("done"), nil, tool("run"), broken)
	down := &fake{list: func(context.Context) ([]sdk.Tool, error) { return nil, errors.New("no tools today") }}
	h := newHost(t, map[string]host.Plugin{"test": p, "down": down}, host.Options{Approver: agreeing})
	h.Tools(t.Context()) // from now on it is known that there is no test__broken
	for glob, want := range map[string]int{"test__run": 0, "test__*": 1, "*": 2, "down__run": 1, "other__*": 0} {
		c := catalog(t, h, host.Filter{Tools: []string{glob}})
		for range 2 {
			if _, problems := c.Tools(t.Context()); len(problems) != want {
				t.Errorf("%s: problems %v, want %d", glob, problems, want)
			}
		}
		e := failed(t, c.Call(t.Context(), call("test__broken", "")), sdk.CodeToolNotFound)
		if told := strings.Contains(e.Message, "left out"); told != (glob == "test__*" || glob == "*") {
			t.Errorf("%s: %s", glob, e.Message)
		}
	}
	e := failed(t, catalog(t, h, host.Filter{}).Call(t.Context(), call("down__run", "")), sdk.CodePluginUnavailable)
	if !strings.Contains(e.Message, "no tools today") {
		t.Errorf("error %+v", e)
	}
}

func TestCatalogIsImmutable(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]host.Plugin{"files": files(), "shell": answering(sdk.Text("done"), nil, writes("exec"))}, host.Options{Approver: agreeing})
	list := []string{"files__read", "files__write", "files"}
	f := host.Filter{Tools: list[:2:2], Exclude: list[1:2], Categories: list[2:]}
	c := catalog(t, h, f)
	inner, err := catalog(t, h, host.Filter{}).Narrow(f)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		list[i] = "none"
	}
	for _, c := range []*host.Catalog{c, inner} {
		for range 3 {
			tools, _ := c.Tools(t.Context())
			diff(t, []string{"files__read"}, names(tools))
			tools[0] = nil
		}
	}
}

func TestNarrow(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]host.Plugin{"files": files(), "shell": answering(sdk.Text("done"), nil, writes("exec"))}, host.Options{Approver: agreeing})
	narrow := func(c *host.Catalog, f host.Filter) *host.Catalog {
		n, err := c.Narrow(f)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	outer := catalog(t, h, host.Filter{Tools: []string{"files__*"}})
	reading := narrow(outer, host.Filter{ReadOnly: true})
	wider := narrow(reading, host.Filter{Tools: []string{"*"}})
	sibling := narrow(outer, host.Filter{Exclude: []string{"files__read"}})
	for _, k := range []struct {
		c    *host.Catalog
		want []string
	}{
		{outer, []string{"files__index", "files__plain", "files__read", "files__write"}},
		{reading, []string{"files__index", "files__read"}},
		{wider, []string{"files__index", "files__read"}},
		{sibling, []string{"files__index", "files__plain", "files__write"}},
		{narrow(wider, host.Filter{Tools: []string{"shell__exec"}}), nil},
	} {
		tools, _ := k.c.Tools(t.Context())
		diff(t, k.want, names(tools))
	}
	one, two := narrow(wider, host.Filter{Tools: []string{"files__read"}}), narrow(wider, host.Filter{Tools: []string{"files__index"}})
	succeeded(t, one.Call(t.Context(), call("files__read", "")))
	succeeded(t, two.Call(t.Context(), call("files__index", "")))
	failed(t, wider.Call(t.Context(), call("shell__exec", "")), sdk.CodeNotInCatalog)
	failed(t, wider.Call(t.Context(), call("files__write", "")), sdk.CodeNotInCatalog)
	succeeded(t, wider.Call(t.Context(), call("files__read", "")))
	succeeded(t, h.Call(t.Context(), call("shell__exec", ""))) // the host itself has all
}

// A middleware that passes a call on to the host takes the catalog along.
func TestCatalogGoesWithTheCall(t *testing.T) {
	t.Parallel()
	var h *host.Host
	again := func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
			if c.Tool != "test__front" {
				return next(ctx, c)
			}
			inner := *c
			inner.Tool = "test__back"
			return &sdk.Result{Error: h.Call(ctx, inner).Error}, nil
		}
	}
	h = single(t, answering(sdk.Text("done"), nil, tool("front"), tool("back")), host.Options{Middleware: []host.Middleware{again}})
	failed(t, catalog(t, h, host.Filter{Tools: []string{"test__front"}}).Call(t.Context(), call("test__front", "")), sdk.CodeNotInCatalog)
	succeeded(t, catalog(t, h, host.Filter{}).Call(t.Context(), call("test__front", "")))
}
