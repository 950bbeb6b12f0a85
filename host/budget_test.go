package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// inSession is a call of a session.
func inSession(session, tool string) host.Call {
	return host.Call{Tool: "test__" + tool, SessionID: session}
}

func TestMaxCalls(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		tool, plugin int
		calls        string // session/tool
		want         string // for each call, + or the limit that refuses it: t or p
	}{
		"each session its own":   {2, 0, "x/a x/a x/a y/a y/a y/a", "++t++t"},
		"no name is a session":   {1, 0, "/a /a x/a", "+t+"},
		"tools for themselves":   {1, 0, "x/a x/a x/b x/b", "+t++"},
		"all tools of a plugin":  {0, 3, "x/a x/b x/a x/b y/b", "+++p+"},
		"both":                   {1, 3, "x/a x/a x/b x/b x/b x/a", "+t++pt"},
		"below zero is no limit": {-1, -1, "x/a x/a x/a", "+++"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := onPlugin(host.Limits{MaxCalls: c.plugin})
			o.Tools = map[string]host.ToolOptions{"test__a": {Limits: host.Limits{MaxCalls: c.tool}}}
			h := single(t, answering(sdk.Text("done"), nil, tool("a"), tool("b")), o)
			var got strings.Builder
			for _, each := range strings.Fields(c.calls) {
				session, tool, _ := strings.Cut(each, "/")
				switch r := h.Call(t.Context(), inSession(session, tool)); {
				case r.Error == nil:
					got.WriteString("+")
				case strings.Contains(r.Error.Message, "(max_calls of tool "):
					got.WriteString("t")
				case strings.Contains(r.Error.Message, "(max_calls of plugin "):
					got.WriteString("p")
				}
			}
			diff(t, c.want, got.String())
		})
	}
}

func TestBudgetSpent(t *testing.T) {
	t.Parallel()
	p := answering(sdk.Text("done"), nil)
	h := single(t, p, onTool(host.Limits{MaxCalls: 2}))
	for range 2 {
		succeeded(t, h.Call(t.Context(), call("test__run", "")))
	}
	r := h.Call(t.Context(), call("test__run", ""))
	diff(t, &sdk.Error{Code: sdk.CodeLimit, Name: "BudgetSpent", Outcome: sdk.OutcomeNotSent,
		Message:    `a session may make 2 calls, and this one has (max_calls of tool "test__run"); nothing was run`,
		Suggestion: "Go on without it, or ask the user to raise the limit.",
		Details:    []byte(`{"setting":"max_calls","of":"tool \"test__run\"","limit":2}`)}, failed(t, r, sdk.CodeLimit))
	if n := p.called.Load(); n != 2 || r.Attempts != 0 {
		t.Errorf("the plugin was called %d times", n)
	}
}

// Concurrent calls cannot exceed the limit together.
func TestMaxCallsInParallel(t *testing.T) {
	t.Parallel()
	p := answering(sdk.Text("done"), nil)
	h := single(t, p, onTool(host.Limits{MaxCalls: 10}))
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { h.Call(t.Context(), call("test__run", "")) })
	}
	wg.Wait()
	if n := p.called.Load(); n != 10 {
		t.Errorf("%d calls ran, want 10", n)
	}
}

// A call that never reached the plugin is not counted; all others are, however they ended.
func TestCountedCalls(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		result *sdk.Result
		err    error
		counts bool
	}{
		"a result":            {result: sdk.Text("done"), counts: true},
		"the tool's error":    {result: &sdk.Result{Error: &sdk.Error{Message: "no"}}, counts: true},
		"a crash":             {err: &client.BrokenError{Err: errors.New("gone"), Delivered: true}, counts: true},
		"a timeout":           {err: &sdk.Error{Code: sdk.CodeTimeout}, counts: true},
		"plugin unavailable":  {err: &sdk.Error{Code: sdk.CodePluginUnavailable, Message: "in backoff"}},
		"a lie of the plugin": {result: &sdk.Result{Error: &sdk.Error{Code: sdk.CodePluginUnavailable}}, counts: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := answering(c.result, c.err)
			h := single(t, p, onTool(host.Limits{MaxCalls: 1}))
			for range 3 {
				h.Call(t.Context(), call("test__run", ""))
			}
			if counted := p.called.Load() == 1; counted != c.counts {
				t.Errorf("the plugin was called %d times", p.called.Load())
			}
		})
	}
}

// A call that a later step refuses is not counted.
func TestRefusedCallsAreNotCounted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		q := queue{host: single(t, newWorker("run"), onTool(host.Limits{MaxCalls: 2, Concurrency: 1, Queue: 1}))}
		q.add(t.Context(), taking("", "run", time.Minute))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		failed(t, q.host.Call(ctx, taking("", "run", 0)), sdk.CodeTimeout)
		relative := taking("", "run", 0)
		relative.Workdir = "here"
		q.add(t.Context(), relative)
		if e := failed(t, q.host.Call(t.Context(), taking("", "run", 0)), sdk.CodeLimit); e.Name != "BudgetSpent" {
			t.Errorf("%s: a call that may yet run is counted", e.Name)
		}
		failed(t, q.all()[1], sdk.CodeInvalidArgs)
		succeeded(t, q.host.Call(t.Context(), taking("", "run", 0)))
		failed(t, q.host.Call(t.Context(), taking("", "run", 0)), sdk.CodeLimit)
	})
}

// A middleware may run a call again. Each run that reaches the plugin counts.
func TestRepeatedCallsCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		twice := func(next host.CallFunc) host.CallFunc {
			return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
				if r, err := next(ctx, c); err != nil {
					return r, err
				}
				return next(ctx, c)
			}
		}
		p := answering(sdk.Text("done"), nil)
		o := onTool(host.Limits{MaxCalls: 4, Rate: 1, Burst: 3})
		o.Middleware = []host.Middleware{twice}
		h := single(t, p, o)
		succeeded(t, h.Call(t.Context(), call("test__run", "")))
		// after the third, none, and the fourth call
		for _, want := range []string{"RateLimited", "RateLimited", "BudgetSpent"} {
			if e := failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeLimit); e.Name != want {
				t.Errorf("refused by %s, want %s", e.Name, want)
			}
			if p.called.Load() == 3 && want == "RateLimited" {
				<-time.After(500 * time.Millisecond)
			}
		}
		if n := p.called.Load(); n != 4 {
			t.Errorf("the plugin was called %d times, want 4", n)
		}
	})
}

// A call whose arguments a person has changed counts once; a rejected one does not count.
func TestEditedCallsCountOnce(t *testing.T) {
	t.Parallel()
	edit := host.Answer{Arguments: []byte(`{"path":"b"}`)}
	h := single(t, echoing(writes("write")), host.Options{
		Approver: &asked{answers: []host.Answer{host.No("not yet"), edit, edit, host.Yes()}},
		Plugins:  map[string]host.PluginOptions{"test": {Limits: host.Limits{MaxCalls: 1}}},
	})
	failed(t, h.Call(t.Context(), call("test__write", `{"path":"a"}`)), sdk.CodeRejected)
	succeeded(t, h.Call(t.Context(), call("test__write", `{"path":"a"}`)))
	failed(t, h.Call(t.Context(), call("test__write", `{"path":"a"}`)), sdk.CodeLimit) // before a person is asked
}

// The host counts a limited number of sessions. The one that has not called for longest is forgotten.
func TestForgottenSessions(t *testing.T) {
	t.Parallel()
	h := single(t, answering(sdk.Text("done"), nil), onTool(host.Limits{MaxCalls: 1}))
	again := func(session string) bool { return h.Call(t.Context(), inSession(session, "run")).Error == nil }
	succeeded(t, h.Call(t.Context(), inSession("", "run")))
	for i := range 9_999 {
		succeeded(t, h.Call(t.Context(), inSession(fmt.Sprint(i), "run")))
	}
	if again("") || again("0") { // they have called last now
		t.Error("a session that is remembered starts at zero")
	}
	succeeded(t, h.Call(t.Context(), inSession("one more", "run")))
	if again("") || again("0") || again("2") {
		t.Error("a session was forgotten that is not the oldest")
	}
	if !again("1") {
		t.Error("the oldest session was not forgotten")
	}
}

func TestMaxCostTier(t *testing.T) {
	t.Parallel()
	cases := map[sdk.CostTier]string{ // the tools that may run: free, cheap, expensive, without a tier
		"":            "fce-",
		sdk.Free:      "f",
		sdk.Cheap:     "fc-",
		sdk.Expensive: "fce-",
	}
	for ceiling, want := range cases {
		t.Run("at most "+string(ceiling), func(t *testing.T) {
			t.Parallel()
			tiers := map[string]sdk.CostTier{"f": sdk.Free, "c": sdk.Cheap, "e": sdk.Expensive, "-": ""}
			var got string
			for _, name := range []string{"f", "c", "e", "-"} {
				definition := tool("run")
				definition.CostTier = tiers[name]
				p := answering(sdk.Text("done"), nil, definition)
				if r := single(t, p, host.Options{MaxCostTier: ceiling}).Call(t.Context(), call("test__run", "")); r.Error == nil {
					got += name
				} else if failed(t, r, sdk.CodeLimit); p.called.Load() > 0 {
					t.Error("it was called")
				}
			}
			diff(t, want, got)
		})
	}
}

func TestTooExpensive(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		tier sdk.CostTier
		want string
	}{
		"reported": {sdk.Expensive, "test__run is expensive; calls may be free at most (max_cost_tier); nothing was run"},
		"not reported": {"", "test__run has no cost tier, and so counts as cheap; calls may be free at most " +
			"(max_cost_tier); " +
			"nothing was run"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			definition := tool("run")
			definition.CostTier = c.tier
			h := single(t, answering(sdk.Text("done"), nil, definition), host.Options{MaxCostTier: sdk.Free})
			diff(t, &sdk.Error{Code: sdk.CodeLimit, Name: "TooExpensive", Message: c.want, Outcome: sdk.OutcomeNotSent,
				Suggestion: "Use a tool that costs less, or ask the user to raise the limit.",
				Details:    []byte(`{"setting":"max_cost_tier","limit":"free"}`)},
				failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeLimit))
		})
	}
}

func TestUnknownCostTier(t *testing.T) {
	t.Parallel()
	_, err := host.New(nil, host.Options{MaxCostTier: "dear"})
	if err == nil || err.Error() != `host: MaxCostTier "dear" is not one of free, cheap, expensive` {
		t.Errorf("error %v", err)
	}
}

// memoryCounter is a Counter in memory, like a file for consecutive hosts.
type memoryCounter struct {
	mu      sync.Mutex
	calls   map[string]map[string]int
	rates   map[string]host.Tokens
	failing error
}

func (k *memoryCounter) Change(_ context.Context, session string, change func(*host.Counted) error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failing != nil {
		return k.failing
	}
	c := &host.Counted{Calls: k.calls[session], Rates: k.rates}
	if err := change(c); err != nil {
		return err
	}
	if k.calls == nil {
		k.calls = map[string]map[string]int{}
	}
	k.calls[session], k.rates = c.Calls, c.Rates
	return nil
}

func TestStatefulToolsNeedALastingHost(t *testing.T) {
	t.Parallel()
	history := tool("history")
	history.Stateful = true
	var single []bool
	p := calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		single = append(single, r.SingleCall)
		return sdk.Text("fine"), nil
	}, history, tool("plain"))
	lasting, once := hostThatApproves(t, p, host.Options{}), hostThatApproves(t, p, host.Options{SingleCall: true})
	for h, want := range map[*host.Host][]string{lasting: {"test__history", "test__plain"}, once: {"test__plain"}} {
		tools, problems := h.Tools(t.Context())
		diff(t, want, names(tools))
		if len(problems) > 0 {
			t.Error(problems)
		}
	}
	succeeded(t, lasting.Call(t.Context(), call("test__history", "")))
	succeeded(t, once.Call(t.Context(), call("test__plain", "")))
	e := failed(t, once.Call(t.Context(), call("test__history", "")), sdk.CodeNotInCatalog)
	if e.Name != "NeedsLastingHost" || !strings.Contains(e.Message, "ends after one call") ||
		e.Outcome != sdk.OutcomeNotSent {
		t.Errorf("error %+v", e)
	}
	diff(t, []bool{false, true}, single)
	if hits := mustCatalog(t, once).Search(t.Context(), "history", 0); len(hits) > 0 &&
		hits[0].Tool.Name == "test__history" {
		t.Error("search offers it")
	}
}

func hostThatApproves(t *testing.T, p host.Plugin, o host.Options) *host.Host {
	t.Helper()
	o.Approver = host.ApproverFunc(func(context.Context, *host.ApprovalRequest) (host.Answer, error) {
		return host.Yes(), nil
	})
	return newHost(t, map[string]host.Plugin{"test": p}, o)
}

func mustCatalog(t *testing.T, h *host.Host) *host.Catalog {
	t.Helper()
	c, err := h.Catalog(host.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Hosts that make one call each count together; calls that did not run are not counted.
func TestCountsOutliveTheHost(t *testing.T) {
	t.Parallel()
	k, fails := &memoryCounter{}, false
	a := tool("a")
	a.Hints.ReadOnly = sdk.No
	p := answering(sdk.Text("fine"), nil, a, tool("b"))
	once := func(o host.Options, c host.Call) *host.Result {
		o.Counter, o.SingleCall = k, true
		o.Approver = host.ApproverFunc(func(context.Context, *host.ApprovalRequest) (host.Answer, error) {
			return host.Answer{Approved: !fails}, nil
		})
		h := newHost(t, map[string]host.Plugin{"test": p}, o)
		defer h.Close()
		return h.Call(t.Context(), c)
	}
	budget := host.Options{Tools: map[string]host.ToolOptions{"test__a": {Limits: host.Limits{MaxCalls: 2}}},
		Plugins: map[string]host.PluginOptions{"test": {Limits: host.Limits{MaxCalls: 3}}}}
	succeeded(t, once(budget, call("test__a", "")))
	fails = true
	failed(t, once(budget, call("test__a", "")), sdk.CodeRejected)
	fails = false
	succeeded(t, once(budget, call("test__a", "")))
	if e := failed(t, once(budget, call("test__a", "")), sdk.CodeLimit); !strings.Contains(e.Message,
		`max_calls of tool "test__a"`) {
		t.Errorf("error %+v", e)
	}
	succeeded(t, once(budget, call("test__b", "")))
	if e := failed(t, once(budget, call("test__b", "")), sdk.CodeLimit); !strings.Contains(e.Message,
		`max_calls of plugin "test"`) {
		t.Errorf("error %+v", e)
	}
	other := call("test__a", "")
	other.SessionID = "other"
	succeeded(t, once(budget, other))

	pace := host.Options{Tools: map[string]host.ToolOptions{"test__a": {Limits: host.Limits{Rate: 0.01, Burst: 2}}}}
	for range 2 {
		succeeded(t, once(pace, call("test__a", "")))
	}
	if e := failed(t, once(pace, call("test__a", "")), sdk.CodeLimit); e.Name != "RateLimited" || !e.Retryable {
		t.Errorf("error %+v", e)
	}
	succeeded(t, once(pace, call("test__b", "")))
	k.rates[`tool "test__a"`] = host.Tokens{Left: 0.5, At: time.Now().Add(-time.Minute)} // 0.6 more have accrued
	succeeded(t, once(pace, call("test__a", "")))
	k.rates[`tool "test__a"`] = host.Tokens{Left: 0.5, At: time.Now().Add(time.Hour)} // the clock was set back
	failed(t, once(pace, call("test__a", "")), sdk.CodeLimit)

	k.failing = errors.New("the disk is gone")
	if e := failed(t, once(pace, call("test__a", "")), sdk.CodeLimit); e.Name != "NotCounted" ||
		!strings.Contains(e.Message, "the disk is gone") {
		t.Errorf("error %+v", e)
	}
	succeeded(t, once(pace, call("test__b", "")))
}
