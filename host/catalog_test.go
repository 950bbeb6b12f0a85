package host_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
			`the tool "shell__exec" is not in this catalog; nothing was run`,
			"Call only tools that are listed here, and do not try this one again."},
		"another tool of a plugin": {host.Filter{Exclude: []string{"*__write", "*__index"}}, "files__write",
			sdk.CodeNotInCatalog,
			`the tool "files__write" is not in this catalog; nothing was run`, "Did you mean files__read, files__plain?"},
		"a tool that changes things": {host.Filter{ReadOnly: true}, "shell__exec", sdk.CodeNotInCatalog,
			`the tool "shell__exec" is not in this catalog; nothing was run`,
			"Call only tools that are listed here, and do not try this one again."},
		"no tool of a plugin inside": {host.Filter{Tools: []string{"files__read", "files__x"}}, "files__x",
			sdk.CodeToolNotFound,
			`there is no tool "files__x"`, "Did you mean files__read?"},
		"no tool of a plugin outside": {host.Filter{Tools: []string{"files__read"}}, "shell__exek", sdk.CodeToolNotFound,
			`there is no tool "shell__exek"`, "Call a tool by its full name, PLUGIN__TOOL, as it is listed."},
		"no plugin, near inside": {host.Filter{Tools: []string{"shell__explain"}}, "shel__explain", sdk.CodeToolNotFound,
			`there is no tool "shel__explain"`, "Did you mean shell__explain?"},
		"no plugin, near outside": {host.Filter{Tools: []string{"shell__explain"}}, "file__read", sdk.CodeToolNotFound,
			`there is no tool "file__read"`, "Call a tool by its full name, PLUGIN__TOOL, as it is listed."},
		"an empty catalog": {host.Filter{Tools: []string{}}, "shell__exec", sdk.CodeNotInCatalog,
			`the tool "shell__exec" is not in this catalog; nothing was run`,
			"Call only tools that are listed here, and do not try this one again."},
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

// Nothing is started to find out whether a tool outside exists; the error says so once it is known.
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

// Problems of tools outside of the catalog are not reported.
func TestCatalogHidesProblemsOutside(t *testing.T) {
	t.Parallel()
	broken := sdk.Tool{Name: "broken", Description: "for tests"}
	p := answering(sdk.Text("done"), nil, tool("run"), broken)
	down := &fake{list: func(context.Context) ([]sdk.Tool, error) { return nil, errors.New("no tools today") }}
	h := newHost(t, map[string]host.Plugin{"test": p, "down": down}, host.Options{Approver: agreeing})
	h.Tools(t.Context()) // from here on it is known that there is no test__broken
	for glob, want := range map[string]int{"test__run": 0, "test__*": 1, "*": 2, "down__run": 1, "other__*": 0} {
		c := catalog(t, h, host.Filter{Tools: []string{glob}})
		for range 2 {
			if _, problems := c.Tools(t.Context()); len(problems) != want {
				t.Errorf("%s: problems %v, want %d", glob, problems, want)
			}
		}
		e := failed(t, c.Call(t.Context(), call("test__broken", "")), sdk.CodeToolNotFound)
		if noted := strings.Contains(e.Message, "left out"); noted != (glob == "test__*" || glob == "*") {
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
	h := newHost(t, map[string]host.Plugin{"files": files(), "shell": answering(sdk.Text("done"), nil, writes("exec"))},
		host.Options{Approver: agreeing})
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

// The longest glob that matches decides; other models, calls and the host's own tool keep the description of all.
func TestDescriptionsForModels(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]host.Plugin{"files": files()}, host.Options{Tools: map[string]host.ToolOptions{
		"files__read": {Description: "Reads.", DescriptionFor: map[string]string{"gem*": "Reads, Gem.",
			"gemini-*": "Reads, Gemini.", "*-pro": "Reads, pro."}}}})
	all := catalog(t, h, host.Filter{Tools: []string{"files__read"}})
	for model, want := range map[string]string{"": "Reads.", "gpt-5": "Reads.", "gem-1": "Reads, Gem.",
		"gemini-3-pro": "Reads, Gemini.", "o-pro": "Reads, pro."} {
		for range 2 { // the second list is the kept one
			tools, _ := all.ForModel(model).Tools(t.Context())
			if len(tools) != 1 || tools[0].Description != want {
				t.Errorf("for %q the tools are %+v, want the description %q", model, tools, want)
			}
		}
		narrow, err := all.ForModel(model).Narrow(host.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		own, _, err := narrow.ToolsOf(t.Context(), "files")
		if err != nil || len(own) != 1 || own[0].Description != want {
			t.Errorf("for %q the plugin has %+v, %v", model, own, err)
		}
	}
	if tools, _ := all.Tools(t.Context()); tools[0].Description != "Reads." {
		t.Errorf("the host's tool is now described as %q", tools[0].Description)
	}
}

// A wrong label is an error that names the right ones.
func TestToolsOfAPluginThatIsNotThere(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]host.Plugin{"files": files(), "shell": files()}, host.Options{})
	for label, c := range map[string]struct {
		filter host.Filter
		want   string
	}{
		"file":  {host.Filter{}, `there is no plugin "file" in this catalog, which has files, shell; did you mean "files"?`},
		"shell": {host.Filter{Tools: []string{"files__*"}}, `there is no plugin "shell" in this catalog, which has files`},
		"nope":  {host.Filter{Tools: []string{}}, `there is no plugin "nope" in this catalog, which has none`},
	} {
		tools, problems, err := catalog(t, h, c.filter).ToolsOf(t.Context(), label)
		if tools != nil || problems != nil || err == nil || err.Error() != c.want || sdk.CodeOf(err) != sdk.CodeToolNotFound {
			t.Errorf("%s: %v, %v, %v, want %s", label, tools, problems, err, c.want)
		}
	}
}

// Asking for a tool lists its plugin, as a call does.
func TestToolOfAPluginThatIsNotListed(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]host.Plugin{"files": files()}, host.Options{})
	tool, err := catalog(t, h, host.Filter{}).Tool(t.Context(), "files__read")
	if err != nil || tool.Name != "files__read" {
		t.Errorf("it is %+v, %v", tool, err)
	}
}

func TestNarrow(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]host.Plugin{"files": files(), "shell": answering(sdk.Text("done"), nil, writes("exec"))},
		host.Options{Approver: agreeing})
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
	one, two := narrow(wider, host.Filter{Tools: []string{"files__read"}}),
		narrow(wider, host.Filter{Tools: []string{"files__index"}})
	succeeded(t, one.Call(t.Context(), call("files__read", "")))
	succeeded(t, two.Call(t.Context(), call("files__index", "")))
	failed(t, wider.Call(t.Context(), call("shell__exec", "")), sdk.CodeNotInCatalog)
	failed(t, wider.Call(t.Context(), call("files__write", "")), sdk.CodeNotInCatalog)
	succeeded(t, wider.Call(t.Context(), call("files__read", "")))
	succeeded(t, h.Call(t.Context(), call("shell__exec", ""))) // the host itself has every tool
}

// A middleware that passes a call to the host keeps its catalog.
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
	h = single(t, answering(sdk.Text("done"), nil, tool("front"), tool("back")),
		host.Options{Middleware: []host.Middleware{again}})
	failed(t, catalog(t, h, host.Filter{Tools: []string{"test__front"}}).Call(t.Context(), call("test__front", "")),
		sdk.CodeNotInCatalog)
	succeeded(t, catalog(t, h, host.Filter{}).Call(t.Context(), call("test__front", "")))
}

// become changes the tools and waits until the host knows. It needs a bubble.
func (c *changing) become(tools ...sdk.Tool) {
	c.tools.Store(tools)
	c.changes <- struct{}{}
	synctest.Wait()
}

func TestCatalogFollowsChanges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newChanging(tool("old"))
		h := newHost(t, map[string]host.Plugin{"test": p, "other": answering(nil, nil)}, host.Options{})
		c := catalog(t, h, host.Filter{Tools: []string{"test__*"}})
		list := func() []string {
			tools, _ := c.Tools(t.Context())
			return names(tools)
		}
		diff(t, []string{"test__old"}, list())
		diff(t, []string{"test__old"}, list())
		p.become(tool("old"), tool("new"))
		diff(t, []string{"test__new", "test__old"}, list())
		succeeded(t, c.Call(t.Context(), call("test__new", "")))
		p.become()
		diff(t, []string(nil), list())
		failed(t, c.Call(t.Context(), call("test__old", "")), sdk.CodeToolNotFound)
	})
}

// A list that was requested before the tools changed is not kept.
func TestCatalogForgetsOutdatedLists(t *testing.T) {
	checkOutdatedList(t, func(t *testing.T, h *host.Host) lister { return catalog(t, h, host.Filter{}) })
}

// A plugin that failed to list its tools is asked again, and has them then.
func TestCatalogRetriesFailures(t *testing.T) {
	t.Parallel()
	p := answering(sdk.Text("done"), nil)
	works := p.list
	p.list = func(ctx context.Context) ([]sdk.Tool, error) {
		if p.listed.Load() < 3 {
			return nil, errors.New("not yet")
		}
		return works(ctx)
	}
	c := catalog(t, single(t, p, host.Options{}), host.Filter{})
	for i, want := range []int{0, 0, 1, 1} {
		if tools, problems := c.Tools(t.Context()); len(tools) != want || len(problems) != 1-want {
			t.Errorf("listing %d: %v, %v", i, names(tools), problems)
		}
	}
}

// For the race detector: one catalog is used while tools are added and removed.
func TestCatalogIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	p := newChanging(tool("run"), tool("other"))
	h := newHost(t, map[string]host.Plugin{"test": p, "files": files()}, host.Options{})
	c := catalog(t, h, host.Filter{Exclude: []string{"*__other"}})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 20 {
				if tools, _ := c.Tools(t.Context()); len(tools) != 5 {
					t.Errorf("tools %v", names(tools))
				}
				if hits := c.Search(t.Context(), "tests", 0); len(hits) != 5 {
					t.Errorf("found %v", found(hits))
				}
				if r := c.Call(t.Context(), call("test__run", "")); r.Error != nil {
					t.Error(r.Error)
				}
			}
			if i%4 == 0 {
				p.changes <- struct{}{}
			}
		})
	}
	within(t, time.Minute, "all goroutines", wg.Wait)
}

// with is a definition with these properties.
func toolWith(name string, change func(*sdk.Tool)) sdk.Tool {
	d := tool(name)
	change(&d)
	return d
}

func reads(d *sdk.Tool) { d.Hints.ReadOnly = sdk.Yes }

// files are the tools of a plugin with tools of every kind.
func files() *fake {
	return answering(sdk.Text("done"), nil,
		toolWith("read", func(d *sdk.Tool) { d.Hints.ReadOnly, d.Category, d.CostTier = sdk.Yes, "files", sdk.Free }),
		toolWith("write", func(d *sdk.Tool) { d.Hints.ReadOnly, d.Category, d.CostTier = sdk.No, "files", sdk.Cheap }),
		toolWith("index", func(d *sdk.Tool) { d.Hints.ReadOnly, d.Category, d.CostTier = sdk.Yes, "search", sdk.Expensive }),
		writes("plain"))
}

func TestFilter(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]host.Plugin{"files": files(), "shell": answering(sdk.Text("done"), nil, writes("exec"))},
		host.Options{Approver: agreeing})
	all := []string{"files__index", "files__plain", "files__read", "files__write", "shell__exec"}
	cases := map[string]struct {
		filter host.Filter
		want   []string
	}{
		"zero":           {host.Filter{}, all},
		"no tools":       {host.Filter{Tools: []string{}}, nil},
		"one name":       {host.Filter{Tools: []string{"files__read"}}, []string{"files__read"}},
		"a plugin":       {host.Filter{Tools: []string{"shell__*"}}, []string{"shell__exec"}},
		"everything":     {host.Filter{Tools: []string{"*"}}, all},
		"the end":        {host.Filter{Tools: []string{"*e"}}, []string{"files__write"}},
		"one of several": {host.Filter{Tools: []string{"files__[p-r]*"}}, []string{"files__plain", "files__read"}},
		"question mark": {host.Filter{Tools: []string{"?hell__exec", "files__rea?"}},
			[]string{"files__read", "shell__exec"}},
		"a backslash":         {host.Filter{Tools: []string{`\files__read`}}, []string{"files__read"}},
		"a plugin is no tool": {host.Filter{Tools: []string{"files", "exec", "__", ""}}, nil},
		"exclude":             {host.Filter{Exclude: []string{"files__*"}}, []string{"shell__exec"}},
		"exclude wins": {host.Filter{Tools: []string{"files__read", "shell__exec"}, Exclude: []string{"*__exec"}},
			[]string{"files__read"}},
		"exclude everything": {host.Filter{Exclude: []string{"**"}}, nil},
		"exclude nothing":    {host.Filter{Exclude: []string{}}, all},
		"read-only":          {host.Filter{ReadOnly: true}, []string{"files__index", "files__read"}},
		"categories":         {host.Filter{Categories: []string{"search", "none"}}, []string{"files__index"}},
		"no category noted":  {host.Filter{Categories: []string{""}}, []string{"files__plain", "shell__exec"}},
		"no categories":      {host.Filter{Categories: []string{}}, nil},
		"free":               {host.Filter{MaxCostTier: sdk.Free}, []string{"files__read"}},
		"cheap": {host.Filter{MaxCostTier: sdk.Cheap},
			[]string{"files__plain", "files__read", "files__write", "shell__exec"}},
		"expensive": {host.Filter{MaxCostTier: sdk.Expensive}, all},
		"own condition": {host.Filter{Match: func(t *host.Tool) bool { return t.Plugin == "shell" }},
			[]string{"shell__exec"}},
		"all conditions at once": {host.Filter{Tools: []string{"files__*"}, Exclude: []string{"*__index"}, ReadOnly: true,
			Categories: []string{"files"}, MaxCostTier: sdk.Cheap}, []string{"files__read"}},
	}
	for name, k := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := catalog(t, h, k.filter)
			for range 2 { // the second time it is cached
				tools, problems := c.Tools(t.Context())
				diff(t, k.want, names(tools))
				diff(t, []string(nil), texts(problems))
			}
			allowed := map[string]bool{}
			for _, name := range k.want {
				allowed[name] = true
			}
			for _, name := range all {
				if r := c.Call(t.Context(), call(name, "")); allowed[name] {
					succeeded(t, r)
				} else {
					failed(t, r, sdk.CodeNotInCatalog)
				}
			}
		})
	}
}

func TestBadFilter(t *testing.T) {
	t.Parallel()
	h := single(t, answering(nil, nil), host.Options{Approver: agreeing})
	good := catalog(t, h, host.Filter{})
	f := host.Filter{Tools: []string{"ok__*", "[a"}, Exclude: []string{`x\`}, MaxCostTier: "dear"}
	for name, build := range map[string]func(host.Filter) (*host.Catalog, error){"Catalog": h.Catalog,
		"Narrow": good.Narrow} {
		c, err := build(f)
		if c != nil || err == nil {
			t.Fatalf("%s makes %v, %v", name, c, err)
		}
		diff(t, `filter: "[a" is not a glob of tool names: close each [ with ], and end none with a \`+"\n"+
			`filter: "x\\" is not a glob of tool names: close each [ with ], and end none with a \`+"\n"+
			`filter: cost tier "dear" is not one of free, cheap, expensive`, err.Error())
	}
}

// A plugin that cannot have tools of the catalog is not started: neither to list, nor to refuse, nor to suggest.
func TestCatalogStartsNoOthers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		filter host.Filter
		asked  []string
	}{
		"a plugin":               {host.Filter{Tools: []string{"read__*"}}, []string{"read"}},
		"a name":                 {host.Filter{Tools: []string{"read__run"}}, []string{"read"}},
		"a class":                {host.Filter{Tools: []string{"[r]ead__*"}}, []string{"read"}},
		"a star in the label":    {host.Filter{Tools: []string{"re*"}}, []string{"read", "reader"}},
		"a star in front":        {host.Filter{Tools: []string{"*__run"}}, []string{"read", "reader", "shell"}},
		"excluded":               {host.Filter{Exclude: []string{"read*"}}, []string{"shell"}},
		"one of a plugin":        {host.Filter{Exclude: []string{"read__run", "reader__*"}}, []string{"read", "shell"}},
		"excluded by underlines": {host.Filter{Exclude: []string{"read__*", "reader_*", "shell*"}}, nil},
		"not quite excluded":     {host.Filter{Exclude: []string{"read__r*", "*n"}}, []string{"read", "reader", "shell"}},
		"nothing":                {host.Filter{Tools: []string{}}, nil},
		"no category":            {host.Filter{Categories: []string{}}, nil},
		"no separator":           {host.Filter{Tools: []string{"read", "shell_", "reader_run", "?????"}}, nil},
	}
	for name, k := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plugins := map[string]*fake{"read": answering(nil, nil), "reader": answering(nil, nil), "shell": answering(nil, nil)}
			h := newHost(t, map[string]host.Plugin{"read": plugins["read"], "reader": plugins["reader"],
				"shell": plugins["shell"]}, host.Options{Approver: agreeing})
			c := catalog(t, h, k.filter)
			c.Tools(t.Context())
			c.Search(t.Context(), "run", 0)
			asked := map[string]bool{}
			for _, label := range k.asked {
				asked[label] = true
			}
			for label, p := range plugins {
				if !asked[label] {
					failed(t, c.Call(t.Context(), call(label+"__run", "")), sdk.CodeNotInCatalog)
				}
				if want := map[bool]int64{true: 1}[asked[label]]; p.listed.Load() != want {
					t.Errorf("%s was asked %d times, want %d", label, p.listed.Load(), want)
				}
			}
		})
	}
}

func TestUnmatched(t *testing.T) {
	t.Parallel()
	down := &fake{list: func(context.Context) ([]sdk.Tool, error) { return nil, errors.New("no tools today") }}
	untouched := answering(nil, nil)
	broken := answering(nil, nil, tool("run"), sdk.Tool{Name: "broken", Description: "for tests"})
	h := newHost(t, map[string]host.Plugin{"files": files(), "down": down, "broken": broken, "untouched": untouched},
		host.Options{})
	c := catalog(t, h, host.Filter{
		Tools: []string{"files__read", "files__raed", "file__*", "down__anything", "dwon__*", "broken__broken",
			"files__raed", ""},
		Exclude: []string{"files__write", "files__wr", "down*", "files"},
	})
	c, err := c.Narrow(host.Filter{Tools: []string{"files__*", "*__nosuch"}, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	// the plugin down may have a "nosuch"
	diff(t, []string{"files__raed", "file__*", "dwon__*", "", "files__wr", "files"}, c.Unmatched(t.Context()))
	if n := untouched.listed.Load(); n != 1 { // for *__nosuch
		t.Errorf("the plugin was asked %d times", n)
	}
	diff(t, []string(nil), catalog(t, h, host.Filter{}).Unmatched(t.Context()))
}

func TestUnmatchedStartsNoOthers(t *testing.T) {
	t.Parallel()
	own, other := answering(nil, nil), answering(nil, nil)
	h := newHost(t, map[string]host.Plugin{"own": own, "other": other}, host.Options{})
	diff(t, []string{"own__nosuch"},
		catalog(t, h, host.Filter{Tools: []string{"own__nosuch", "own__*"}}).Unmatched(t.Context()))
	if own.listed.Load() != 1 || other.listed.Load() != 0 {
		t.Errorf("own was asked %d times, the other %d", own.listed.Load(), other.listed.Load())
	}
}
