package host_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// What a session has used up of its budget stays used up, whether the budget is for a tool or a plugin.
func TestReloadKeepsBudgets(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]func(host.Limits) host.Options{"tool": onTool, "plugin": onPlugin} {
		h := single(t, answering(sdk.Text("done"), nil), options(host.Limits{MaxCalls: 2}))
		succeeded(t, h.Call(t.Context(), inSession("s", "run")))
		for i, budget := range []int{2, 2, 3, 1, 0} {
			reload(t, h, test(answering(sdk.Text("done"), nil)), options(host.Limits{MaxCalls: budget}))
			r := h.Call(t.Context(), inSession("s", "run"))
			if want := []bool{true, false, true, false, true}[i]; (r.Error == nil) != want {
				t.Errorf("%s, budget %d: %+v", name, budget, r.Error)
			}
		}
	}
}

// Answers for as long as the host lives stay. Saved ones are those that the reload brings, if it brings any.
func TestReloadKeepsAnswers(t *testing.T) {
	t.Parallel()
	ids := func(all []host.Remembered) (out []string) {
		for _, r := range all {
			out = append(out, r.ID)
		}
		slices.Sort(out)
		return out
	}
	first := []host.Remembered{{ID: "a", Saved: true}, {ID: "b", Saved: true}, {ID: "c"}}
	for name, c := range map[string]struct {
		brought []host.Remembered
		want    []string
	}{
		"nothing said":  {nil, []string{"a", "b", "c"}},
		"none saved":    {[]host.Remembered{}, []string{"c"}},
		"another saved": {[]host.Remembered{{ID: "b", Saved: true}, {ID: "d", Saved: true}}, []string{"b", "c", "d"}},
		"all of them":   {first, []string{"a", "b", "c"}},
	} {
		h := single(t, answering(nil, nil), host.Options{Remembered: first})
		reload(t, h, nil, host.Options{Remembered: c.brought})
		if got := ids(h.Remembered()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A yes for the session holds after a reload, and does not for another definition.
func TestReloadAndAlways(t *testing.T) {
	t.Parallel()
	a := &asked{answers: []host.Answer{host.Always(host.ScopeTool)}}
	o := host.Options{Approver: a}
	h := single(t, echoing(writes("run")), o)
	succeeded(t, h.Call(t.Context(), call("test__run", "")))
	reload(t, h, test(echoing(writes("run"))), o)
	succeeded(t, h.Call(t.Context(), call("test__run", "")))
	other := writes("run")
	other.Description = "does something else"
	reload(t, h, test(echoing(other)), o)
	succeeded(t, h.Call(t.Context(), call("test__run", "")))
	if len(a.questions) != 2 {
		t.Errorf("%d questions, want 2", len(a.questions))
	}
}

// Catalogs go on with the new tools, and so does what is searched in them.
func TestReloadAndCatalogs(t *testing.T) {
	t.Parallel()
	h := single(t, answering(nil, nil, tool("weather")), host.Options{})
	c := catalog(t, h, host.Filter{Tools: []string{"test__*"}})
	list := func() []string { tools, _ := c.Tools(t.Context()); return names(tools) }
	diff(t, []string{"test__weather"}, list())
	p := answering(sdk.Text("done"), nil, tool("tides"), tool("stars"))
	reload(t, h, map[string]host.Plugin{"test": p, "other": answering(nil, nil)}, host.Options{})
	diff(t, []string{"test__stars", "test__tides"}, list())
	diff(t, []string{"test__tides"}, found(c.Search(t.Context(), "tides", 0)))
	if hits := c.Search(t.Context(), "weather", 0); hits != nil {
		t.Errorf("found %v", found(hits))
	}
	succeeded(t, c.Call(t.Context(), call("test__tides", "")))
	failed(t, c.Call(t.Context(), call("test__weather", "")), sdk.CodeToolNotFound)
	failed(t, c.Call(t.Context(), call("other__run", "")), sdk.CodeNotInCatalog)
	hidden := saying(policy.Deny, "")
	reload(t, h, test(p), host.Options{Policy: hidden})
	diff(t, []string(nil), list())
	reload(t, h, nil, host.Options{})
	failed(t, c.Call(t.Context(), call("test__tides", "")), sdk.CodeToolNotFound)
}

// Each plugin whose tools may be others is told of, and no other.
func TestReloadTellsWhatChanged(t *testing.T) {
	t.Parallel()
	same, a, b := answering(nil, nil), answering(nil, nil), answering(nil, nil)
	old := map[string]host.Plugin{"same": same, "replaced": a, "gone": a, "unlisted": same}
	cases := map[string]struct {
		plugins map[string]host.Plugin
		o       host.Options
		want    []string
	}{
		"nothing":     {old, host.Options{}, nil},
		"plugins":     {map[string]host.Plugin{"same": same, "replaced": b, "new": b, "unlisted": same}, host.Options{}, []string{"gone", "new", "replaced"}},
		"description": {old, host.Options{Tools: map[string]host.ToolOptions{"same__run": {Description: "other"}}}, []string{"same"}},
		"hints":       {old, host.Options{Plugins: map[string]host.PluginOptions{"gone": {IgnoreHints: true}}}, []string{"gone"}},
		"limits":      {old, host.Options{Plugins: map[string]host.PluginOptions{"gone": {Limits: host.Limits{MaxCalls: 1}}}}, nil},
		"rules":       {old, host.Options{Policy: must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "no", Tools: []string{"same__*"}, Effect: policy.Deny}}}))}, []string{"same"}},
	}
	for name, c := range cases {
		h := newHost(t, old, host.Options{})
		if _, problems := catalog(t, h, host.Filter{Exclude: []string{"unlisted__*"}}).Tools(t.Context()); problems != nil {
			t.Fatal(problems)
		}
		var told []string
		c.o.OnToolsChanged = func(plugin string) { told = append(told, plugin) }
		reload(t, h, c.plugins, c.o)
		if !slices.Equal(told, c.want) {
			t.Errorf("%s: told of %v, want %v", name, told, c.want)
		}
	}
}

// A plugin that is new is watched, one that stays is watched on, and one that is gone is watched no more.
func TestReloadAndWatches(t *testing.T) {
	bubble(t, func(t *testing.T) {
		stays, goes, comes := newChanging(tool("run")), newChanging(tool("run")), newChanging(tool("run"))
		var mu sync.Mutex
		var told []string
		o := host.Options{OnToolsChanged: func(plugin string) { mu.Lock(); defer mu.Unlock(); told = append(told, plugin) }}
		h := newHost(t, map[string]host.Plugin{"stays": stays, "moves": goes}, o)
		reload(t, h, map[string]host.Plugin{"stays": stays, "moves": comes}, o)
		told = nil
		stays.become(tool("a"))
		comes.become(tool("b"))
		synctest.Wait()
		diff(t, []string{"stays", "moves"}, told)
		select {
		case goes.changes <- struct{}{}:
			t.Error("a plugin that is gone is still watched")
		default:
		}
	})
}

// Calls that run count against a limit that was away for a moment.
func TestReloadKeepsCountOfCalls(t *testing.T) {
	for name, options := range map[string]func(host.Limits) host.Options{"tool": onTool, "plugin": onPlugin} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorker("run")
				one := options(host.Limits{Concurrency: 1, Queue: -1})
				h := single(t, w, one)
				var running sync.WaitGroup
				running.Go(func() { succeeded(t, h.Call(t.Context(), taking("first", "run", 1))) })
				synctest.Wait()
				reload(t, h, test(w), host.Options{})
				reload(t, h, test(w), one)
				failed(t, h.Call(t.Context(), taking("second", "run", 1)), sdk.CodeLimit)
				running.Wait()
				succeeded(t, h.Call(t.Context(), taking("third", "run", 1)))
			})
		})
	}
}
