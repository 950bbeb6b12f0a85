package host_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// reload must succeed.
func reload(t testing.TB, h *host.Host, plugins map[string]host.Plugin, o host.Options) {
	t.Helper()
	if err := h.Reload(plugins, o); err != nil {
		t.Fatal(err)
	}
}

func test(p host.Plugin) map[string]host.Plugin { return map[string]host.Plugin{"test": p} }

// policyFor is a policy with one rule for everything.
func policyFor(e policy.Effect, reason string) *policy.Policy {
	return must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "all", Effect: e, Reason: reason}}}))
}

// A countingPlugin counts how often each call reached it, and how many run at once.
type countingPlugin struct {
	*fake
	ran           sync.Map // a call's id -> *atomic.Int64
	running, peak atomic.Int64
}

func newCountingPlugin() *countingPlugin {
	p := &countingPlugin{}
	p.fake = calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		n, _ := p.ran.LoadOrStore(r.CallID, new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
		for now := p.running.Add(1); now > p.peak.Load(); {
			p.peak.Store(now)
		}
		defer p.running.Add(-1)
		return sdk.Text(r.CallID), nil
	})
	return p
}

func (p *countingPlugin) times(id string) int64 {
	n, ok := p.ran.Load(id)
	if !ok {
		return 0
	}
	return n.(*atomic.Int64).Load()
}

// hammer makes calls until stop is closed, and checks each: it is answered with its own result, and ran once.
func (p *countingPlugin) hammer(t *testing.T, h *host.Host, caller int, stop <-chan struct{}) (calls int) {
	for ; ; calls++ {
		select {
		case <-stop:
			return calls
		default:
		}
		id := fmt.Sprintf("%d/%d", caller, calls)
		r := h.Call(t.Context(), host.Call{ID: id, Tool: "test__run", SessionID: fmt.Sprint(caller)})
		if r.Error != nil || r.CallID != id || r.Content[0].Text != id || p.times(id) != 1 {
			t.Errorf("call %s ran %d times: %+v %+v", id, p.times(id), r, r.Error)
		}
	}
}

// Under load no call is lost or runs twice, whatever a reload changes, and a limit holds throughout.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	p, other := newCountingPlugin(), answering(sdk.Text("done"), nil)
	yes := &asked{answers: []host.Answer{host.Yes()}}
	options := func(i int) host.Options {
		o := onTool(host.Limits{Concurrency: 3, Queue: 100})
		o.Approver, o.Policy = yes, policyFor([]policy.Effect{policy.Allow, policy.Ask}[i%2], fmt.Sprint(i))
		return o
	}
	h := single(t, p, options(0))
	stop := make(chan struct{})
	var total atomic.Int64
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() { total.Add(int64(p.hammer(t, h, i, stop))) })
	}
	for i := range 100 {
		plugins := test(p)
		if i%3 == 0 {
			plugins["other"] = other
		}
		reload(t, h, plugins, options(i))
		succeeded(t, h.Call(t.Context(), call("test__run", ""))) // calls run under each
	}
	close(stop)
	within(t, time.Minute, "the callers", callers.Wait)
	if n := p.peak.Load(); n > 3 {
		t.Errorf("%d calls at once, though there may be 3", n)
	}
	if p.listed.Load() != 1 {
		t.Errorf("the plugin was listed %d times", p.listed.Load())
	}
	t.Logf("%d calls", total.Load())
}

func TestReloadRefused(t *testing.T) {
	t.Parallel()
	p := answering(sdk.Text("done"), nil)
	h := single(t, p, onTool(host.Limits{MaxCalls: 2}))
	cases := map[string]struct {
		plugins map[string]host.Plugin
		o       host.Options
	}{
		"a name that is none":  {map[string]host.Plugin{"Test": p}, host.Options{}},
		"no plugin":            {map[string]host.Plugin{"test": nil}, host.Options{}},
		"an unknown mode":      {test(p), host.Options{Mode: "maybe"}},
		"an unknown cost tier": {test(p), host.Options{MaxCostTier: "dear"}},
	}
	for name, c := range cases {
		c.o.Policy = policyFor(policy.Deny, "")
		if err := h.Reload(c.plugins, c.o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	succeeded(t, h.Call(t.Context(), call("test__run", "")))
	succeeded(t, h.Call(t.Context(), call("test__run", "")))
	failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeLimit)
}

func TestReloadAfterClose(t *testing.T) {
	t.Parallel()
	p := newChanging(tool("run"))
	h := single(t, answering(nil, nil), host.Options{})
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := h.Reload(test(p), host.Options{}); err == nil {
		t.Error("a closed host took a plugin")
	}
}

// A call that has reached its plugin continues there; the next goes to the new one.
func TestReloadOfARunningCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		old, young := newWorker("run"), newWorker("run")
		q := queue{host: single(t, old, host.Options{})}
		q.add(t.Context(), taking("1", "run", time.Second))
		reload(t, q.host, test(young), host.Options{})
		q.add(t.Context(), taking("2", "run", time.Second))
		for _, r := range q.all() {
			succeeded(t, r)
		}
		diff(t, []string{"1"}, old.begun)
		diff(t, []string{"2"}, young.begun)
		if old.closed.Load() != 0 {
			t.Error("the host has closed a plugin that is the caller's")
		}
	})
}

// A waiting call is decided on again by the new rules when it gets its slot.
func TestReloadOfAQueuedCall(t *testing.T) {
	cases := map[string]struct {
		after  host.Options
		gone   bool
		code   sdk.Code
		begins time.Duration // when it does
	}{
		"the same":            {onTool(host.Limits{Concurrency: 1}), false, "", time.Second},
		"room for two":        {onTool(host.Limits{Concurrency: 2}), false, "", 0},
		"no limits":           {host.Options{}, false, "", 0},
		"one for all tools":   {onPlugin(host.Limits{Concurrency: 1}), false, "", time.Second},
		"a rule that forbids": {host.Options{Policy: policyFor(policy.Deny, "")}, false, sdk.CodeDenied, 0},
		"too expensive now":   {host.Options{MaxCostTier: sdk.Free}, false, sdk.CodeLimit, 0},
		"its plugin is gone":  {host.Options{}, true, sdk.CodeToolNotFound, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				old, young := newWorker("run"), newWorker("run")
				q := queue{host: single(t, old, onTool(host.Limits{Concurrency: 1}))}
				q.add(t.Context(), taking("1", "run", time.Second))
				q.add(t.Context(), taking("2", "run", time.Second))
				began, plugins := time.Now(), test(young)
				if c.gone {
					plugins = nil
				}
				reload(t, q.host, plugins, c.after)
				results := q.all()
				succeeded(t, results[0])
				diff(t, []string{"1"}, old.begun)
				if c.code != "" {
					failed(t, results[1], c.code)
					return
				}
				succeeded(t, results[1])
				if got := young.at[0].Sub(began); got != c.begins {
					t.Errorf("it began after %s, want %s", got, c.begins)
				}
			})
		})
	}
}

// A call that a person is asked about runs only if the rules in use when it would run allow it on the same approval.
func TestReloadWhileAPersonIsAsked(t *testing.T) {
	ask := policyFor(policy.Ask, "because")
	cases := map[string]struct {
		tool      string
		change    func(o *host.Options)
		code      sdk.Code
		questions int
	}{
		"nothing changes":   {"run", func(*host.Options) {}, "", 1},
		"stricter: denied":  {"run", func(o *host.Options) { o.Policy = policyFor(policy.Deny, "") }, sdk.CodeDenied, 1},
		"looser: allowed":   {"run", func(o *host.Options) { o.Policy = policyFor(policy.Allow, "") }, "", 1},
		"the same question": {"run", func(o *host.Options) { o.Policy = policyFor(policy.Ask, "because") }, "", 1},
		"another question": {"run", func(o *host.Options) { o.Policy = policyFor(policy.Ask, "this is production") }, "",
			2},
		"no questions now":     {"run", func(o *host.Options) { o.Mode = host.ModeNeverAsk }, sdk.CodeDenied, 1},
		"only plans now":       {"run", func(o *host.Options) { o.Mode = host.ModePlan }, sdk.CodeDenied, 1},
		"another is asked now": {"run", func(o *host.Options) { o.Approver = nil }, sdk.CodeApprovalUnavailable, 1},
		"another tool now":     {"walk", func(*host.Options) {}, sdk.CodeToolNotFound, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a := &slowApprover{}
				before := host.Options{Policy: ask, Approver: a}
				q := queue{host: single(t, echoing(writes("run")), before)}
				q.add(t.Context(), call("test__run", `{"a":1}`))
				after, p := before, echoing(writes(c.tool))
				c.change(&after)
				reload(t, q.host, test(p), after)
				r := q.all()[0]
				if c.code != "" {
					failed(t, r, c.code)
				} else if succeeded(t, r); r.Content[0].Text != `{"a":1}` {
					t.Errorf("content %+v", r.Content)
				}
				if n := int(a.questions.Load()); n != c.questions || (p.called.Load() == 1) != (c.code == "") {
					t.Errorf("%d questions, want %d; it ran %d times", n, c.questions, p.called.Load())
				}
			})
		})
	}
}

// A slowApprover approves after a minute.
type slowApprover struct{ questions atomic.Int64 }

func (a *slowApprover) Approve(ctx context.Context, _ *host.ApprovalRequest) (host.Answer, error) {
	a.questions.Add(1)
	select {
	case <-time.After(time.Minute):
		return host.Yes(), nil
	case <-ctx.Done():
		return host.Answer{}, ctx.Err()
	}
}

// Arguments that a person changes are judged by the rules in use after the change.
func TestReloadWhileArgumentsAreChanged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := echoing(writes("run"))
		edits := make(chan host.Answer)
		o := host.Options{Policy: policyFor(policy.Ask, ""),
			Approver: approveFunc(func(ctx context.Context, _ *host.ApprovalRequest) (host.Answer, error) {
				return <-edits, nil
			})}
		q := queue{host: single(t, p, o)}
		q.add(t.Context(), call("test__run", `{"a":1}`))
		edits <- host.Answer{Arguments: []byte(`{"a":2}`)}
		synctest.Wait()
		reload(t, q.host, test(p), host.Options{Policy: policyFor(policy.Deny, "")})
		edits <- host.Yes()
		failed(t, q.all()[0], sdk.CodeDenied)
		if p.called.Load() != 0 {
			t.Error("it ran")
		}
	})
}

// A oneApprover can be compared, which a function cannot: after a reload it is the same Approver.
type oneApprover struct{ host.Approver }

// An approval counts for no other arguments: also not when they are decided on as the approved ones were before.
func TestReloadAndChangedArguments(t *testing.T) {
	t.Parallel()
	first := func(q *policy.Query) (policy.Truth, error) {
		if string(q.Argument("a")) == "1" {
			return policy.Yes, nil
		}
		return policy.No, nil
	}
	because := policy.Rule{Name: "all", Effect: policy.Ask, Reason: "because"}
	rules := must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{
		{Name: "first", Effect: policy.Ask, Reason: "this is production", When: first}, because}}))
	var h *host.Host
	var questions []string
	p := echoing(writes("run"))
	var o host.Options
	approver := &oneApprover{approveFunc(func(_ context.Context, r *host.ApprovalRequest) (host.Answer, error) {
		questions = append(questions, fmt.Sprintf("%s %s", r.Arguments, r.Decision.Reason))
		switch len(questions) {
		case 1:
			o.Policy = rules
			return host.Yes(), h.Reload(test(p), o)
		case 2:
			return host.Answer{Arguments: []byte(`{"a":2}`)}, nil
		}
		return host.No(""), nil
	})}
	o = host.Options{Policy: must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{because}})), Approver: approver}
	h = single(t, p, o)
	failed(t, h.Call(t.Context(), call("test__run", `{"a":1}`)), sdk.CodeRejected)
	diff(t, []string{`{"a":1} because`, `{"a":1} this is production`, `{"a":2} because`}, questions)
	if p.called.Load() != 0 {
		t.Error("it ran")
	}
}

// A session's used budget stays used, whether the budget is for a tool or a plugin.
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

// Approvals for the life of the host are kept. Saved ones are replaced by those of the reload, if it has any.
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

// An approval for the session holds after a reload, but not for another definition.
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

// Catalogs continue with the new tools, and so does search in them.
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
	hidden := policyFor(policy.Deny, "")
	reload(t, h, test(p), host.Options{Policy: hidden})
	diff(t, []string(nil), list())
	reload(t, h, nil, host.Options{})
	failed(t, c.Call(t.Context(), call("test__tides", "")), sdk.CodeToolNotFound)
}

// OnToolsChanged is called for each plugin whose tools may have changed, and no other.
func TestReloadReportsChangedPlugins(t *testing.T) {
	t.Parallel()
	same, a, b := answering(nil, nil), answering(nil, nil), answering(nil, nil)
	old := map[string]host.Plugin{"same": same, "replaced": a, "gone": a, "unlisted": same}
	cases := map[string]struct {
		plugins map[string]host.Plugin
		o       host.Options
		want    []string
	}{
		"nothing": {old, host.Options{}, nil},
		"plugins": {map[string]host.Plugin{"same": same, "replaced": b, "new": b, "unlisted": same}, host.Options{},
			[]string{"gone", "new", "replaced"}},
		"description": {old, host.Options{Tools: map[string]host.ToolOptions{"same__run": {Description: "other"}}},
			[]string{"same"}},
		"descriptions for models": {old, host.Options{Tools: map[string]host.ToolOptions{
			"same__run": {DescriptionFor: map[string]string{"a": "b"}}}}, []string{"same"}},
		"hints": {old, host.Options{Plugins: map[string]host.PluginOptions{"gone": {IgnoreHints: true}}},
			[]string{"gone"}},
		"foreign hints": {old, host.Options{Plugins: map[string]host.PluginOptions{"gone": {TrustForeignHints: true}}},
			[]string{"gone"}},
		"limits": {old, host.Options{Plugins: map[string]host.PluginOptions{"gone": {Limits: host.Limits{MaxCalls: 1}}}},
			nil},
		"rules": {old, host.Options{Policy: must(policy.New(policy.Layer{Name: "user",
			Rules: []policy.Rule{{Name: "no", Tools: []string{"same__*"}, Effect: policy.Deny}}}))}, []string{"same"}},
	}
	for name, c := range cases {
		h := newHost(t, old, host.Options{})
		if _, problems := catalog(t, h, host.Filter{Exclude: []string{"unlisted__*"}}).Tools(t.Context()); problems != nil {
			t.Fatal(problems)
		}
		var reported []string
		c.o.OnToolsChanged = func(plugin string) { reported = append(reported, plugin) }
		reload(t, h, c.plugins, c.o)
		if !slices.Equal(reported, c.want) {
			t.Errorf("%s: reported %v, want %v", name, reported, c.want)
		}
	}
}

// A new plugin is watched, an unchanged one stays watched, and a removed one is no longer watched.
func TestReloadAndWatches(t *testing.T) {
	bubble(t, func(t *testing.T) {
		stays, goes, comes := newChanging(tool("run")), newChanging(tool("run")), newChanging(tool("run"))
		var mu sync.Mutex
		var reported []string
		o := host.Options{OnToolsChanged: func(plugin string) {
			mu.Lock()
			defer mu.Unlock()
			reported = append(reported,
				plugin)
		}}
		h := newHost(t, map[string]host.Plugin{"stays": stays, "moves": goes}, o)
		reload(t, h, map[string]host.Plugin{"stays": stays, "moves": comes}, o)
		reported = nil
		stays.become(tool("a"))
		comes.become(tool("b"))
		synctest.Wait()
		diff(t, []string{"stays", "moves"}, reported)
		select {
		case goes.changes <- struct{}{}:
			t.Error("a plugin that is gone is still watched")
		default:
		}
	})
}

// Running calls count against a limit that was temporarily removed.
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
