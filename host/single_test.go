package host_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// keptCounts is a Counter in memory, as a file would be for hosts that follow each other.
type keptCounts struct {
	mu      sync.Mutex
	calls   map[string]map[string]int
	rates   map[string]host.Tokens
	failing error
}

func (k *keptCounts) Change(_ context.Context, session string, change func(*host.Counted) error) error {
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
	lasting, once := yesHost(t, p, host.Options{}), yesHost(t, p, host.Options{SingleCall: true})
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
	if e.Name != "NeedsLastingHost" || !strings.Contains(e.Message, "ends after one call") || e.Outcome != sdk.OutcomeNotSent {
		t.Errorf("error %+v", e)
	}
	diff(t, []bool{false, true}, single)
	if hits := mustCatalog(t, once).Search(t.Context(), "history", 0); len(hits) > 0 && hits[0].Tool.Name == "test__history" {
		t.Error("search offers it")
	}
}

func yesHost(t *testing.T, p host.Plugin, o host.Options) *host.Host {
	t.Helper()
	o.Approver = host.ApproverFunc(func(context.Context, *host.ApprovalRequest) (host.Answer, error) { return host.Yes(), nil })
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

// Hosts that make one call each count together; what was not run is given back.
func TestCountsOutliveTheHost(t *testing.T) {
	t.Parallel()
	k, fails := &keptCounts{}, false
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
	if e := failed(t, once(budget, call("test__a", "")), sdk.CodeLimit); !strings.Contains(e.Message, `max_calls of tool "test__a"`) {
		t.Errorf("error %+v", e)
	}
	succeeded(t, once(budget, call("test__b", "")))
	if e := failed(t, once(budget, call("test__b", "")), sdk.CodeLimit); !strings.Contains(e.Message, `max_calls of plugin "test"`) {
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
	k.rates[`tool "test__a"`] = host.Tokens{Left: 0.5, At: time.Now().Add(-time.Minute)} // 0.6 more by now
	succeeded(t, once(pace, call("test__a", "")))
	k.rates[`tool "test__a"`] = host.Tokens{Left: 0.5, At: time.Now().Add(time.Hour)} // the clock was set back
	failed(t, once(pace, call("test__a", "")), sdk.CodeLimit)

	k.failing = errors.New("the disk is gone")
	if e := failed(t, once(pace, call("test__a", "")), sdk.CodeLimit); e.Name != "NotCounted" || !strings.Contains(e.Message, "the disk is gone") {
		t.Errorf("error %+v", e)
	}
	succeeded(t, once(pace, call("test__b", "")))
}
