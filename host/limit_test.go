package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// retryAfter returns when a refused call should be repeated.
func retryAfter(t *testing.T, e *sdk.Error) time.Duration {
	t.Helper()
	var details struct {
		RetryAfter int64 `json:"retry_after_ms"`
	}
	if err := json.Unmarshal(e.Details, &details); err != nil {
		t.Fatal(err)
	}
	return time.Duration(details.RetryAfter) * time.Millisecond
}

func TestRate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := answering(sdk.Text("done"), nil)
		h := single(t, p, onTool(host.Limits{Rate: 2, Burst: 3}))
		for range 3 {
			succeeded(t, h.Call(t.Context(), call("test__run", "")))
		}
		diff(t, &sdk.Error{Code: sdk.CodeLimit, Name: "RateLimited", Retryable: true, Outcome: sdk.OutcomeNotSent,
			Message: `there may be 2 calls a second, 3 at once, and there were as many (rate of tool "test__run"); nothing ` +
				`was run`,
			Suggestion: "Call again in 500ms.",
			Details:    []byte(`{"setting":"rate","of":"tool \"test__run\"","limit":2,"retry_after_ms":500}`)},
			failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeLimit))
		if n := p.called.Load(); n != 3 {
			t.Errorf("the plugin was called %d times", n)
		}
	})
}

// A retry at the reported time is accepted; a moment earlier, it is not.
func TestRetryAfterIsExact(t *testing.T) {
	cases := map[string]struct {
		limits host.Limits
		burst  int
		pause  time.Duration
	}{
		"one a second":          {host.Limits{Rate: 1}, 1, time.Second},
		"three a second":        {host.Limits{Rate: 3, Burst: 1}, 1, 334 * time.Millisecond},
		"seven a minute":        {host.Limits{Rate: 7.0 / 60}, 1, 8572 * time.Millisecond},
		"burst of a second":     {host.Limits{Rate: 2.5}, 3, 400 * time.Millisecond},
		"burst below zero":      {host.Limits{Rate: 2, Burst: -1}, 2, 500 * time.Millisecond},
		"one in thousand years": {host.Limits{Rate: 1 / (1000 * 365.25 * 24 * 3600)}, 1, 4611686018428 * time.Millisecond},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := single(t, answering(sdk.Text("done"), nil), onTool(c.limits))
				for range c.burst {
					succeeded(t, h.Call(t.Context(), call("test__run", "")))
				}
				for range 3 { // refused calls do not delay the others
					if d := retryAfter(t, failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeLimit)); d != c.pause {
						t.Errorf("retry after %s, want %s", d, c.pause)
					}
				}
				<-time.After(c.pause - time.Millisecond)
				failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeLimit)
				if <-time.After(time.Millisecond); c.pause < time.Hour {
					succeeded(t, h.Call(t.Context(), call("test__run", "")))
				}
			})
		})
	}
}

func TestRatesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for name, rate := range map[string]float64{"below zero": -1, "not a number": math.NaN(), "infinite": math.Inf(1),
		"minus infinite": math.Inf(-1)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := single(t, answering(sdk.Text("done"), nil), onTool(host.Limits{Rate: rate, Burst: 1}))
			for range 20 {
				succeeded(t, h.Call(t.Context(), call("test__run", "")))
			}
		})
	}
}

// A call that one limit refuses uses nothing of another.
func TestRefusedCallsTakeUpNothing(t *testing.T) {
	t.Run("the tool's rate, of the plugin's", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			o := onPlugin(host.Limits{Rate: 1, Burst: 2})
			o.Tools = map[string]host.ToolOptions{"test__a": {Limits: host.Limits{Rate: 1, Burst: 1}}}
			h := single(t, newWorker("a", "b"), o)
			succeeded(t, h.Call(t.Context(), taking("", "a", 0)))
			for range 5 {
				failed(t, h.Call(t.Context(), taking("", "a", 0)), sdk.CodeLimit)
			}
			succeeded(t, h.Call(t.Context(), taking("", "b", 0)))
		})
	})
	t.Run("the plugin's rate, of the tool's", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			o := onPlugin(host.Limits{Rate: 1, Burst: 1})
			o.Tools = map[string]host.ToolOptions{"test__a": {Limits: host.Limits{Rate: 0.001, Burst: 1}}}
			h := single(t, newWorker("a", "b"), o)
			succeeded(t, h.Call(t.Context(), taking("", "b", 0)))
			e := failed(t, h.Call(t.Context(), taking("", "a", 0)), sdk.CodeLimit)
			<-time.After(retryAfter(t, e))
			succeeded(t, h.Call(t.Context(), taking("", "a", 0)))
		})
	})
	t.Run("the queue, of the rate", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			q := queue{host: single(t, newWorker("run"), onTool(host.Limits{Concurrency: 1, Queue: -1, Rate: 0.001, Burst: 2}))}
			q.add(t.Context(), taking("", "run", time.Second))
			for range 3 {
				if e := failed(t, q.host.Call(t.Context(), taking("", "run", 0)), sdk.CodeLimit); e.Name != "QueueFull" {
					t.Errorf("refused by %s", e.Name)
				}
			}
			q.all()
			succeeded(t, q.host.Call(t.Context(), taking("", "run", 0)))
		})
	})
}

// A call that had a slot of its plugin, but ends before it runs, does not count against a rate: here because it is
// canceled while it waits for the host, and because its decision cannot be recorded.
func TestRateOfCallsThatDoNotRun(t *testing.T) {
	limits := map[string]host.PluginOptions{"test": {Limits: host.Limits{Rate: 0.001, Burst: 1}}}
	t.Run("canceled", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			q := queue{host: newHost(t, map[string]host.Plugin{"test": newWorker("run"), "other": newWorker("run")},
				host.Options{MaxConcurrency: 1, Plugins: limits})}
			other := taking("", "run", time.Minute)
			other.Tool = "other__run"
			q.add(t.Context(), other)
			ctx, cancel := context.WithCancel(t.Context())
			q.add(ctx, taking("", "run", 0))
			cancel()
			failed(t, q.all()[1], sdk.CodeCanceled)
			succeeded(t, q.host.Call(t.Context(), taking("", "run", 0)))
			failed(t, q.host.Call(t.Context(), taking("", "run", 0)), sdk.CodeLimit)
		})
	})
	t.Run("not recorded", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			h := single(t, echoing(writes("run")), host.Options{Plugins: limits, Audit: brokenRecorder{},
				Policy: must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "all", Effect: policy.Allow}}}))})
			for range 2 {
				failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeDenied)
			}
		})
	})
}

// When two rates refuse a call, its error has the longer time.
func TestErrorHasTheSlowerRate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		o := onPlugin(host.Limits{Rate: 0.1, Burst: 1})
		o.Tools = map[string]host.ToolOptions{"test__run": {Limits: host.Limits{Rate: 1, Burst: 1}}}
		h := single(t, newWorker("run"), o)
		succeeded(t, h.Call(t.Context(), taking("", "run", 0)))
		e := failed(t, h.Call(t.Context(), taking("", "run", 0)), sdk.CodeLimit)
		if d := retryAfter(t, e); d != 10*time.Second {
			t.Errorf("retry after %s: %s", d, e.Message)
		}
	})
}

// A call over a limit is refused before anything that takes time: no preview, no question, no decision in the record.
// Its end is recorded.
func TestCallOverALimitDoesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, a := &records{}, &asked{answers: []host.Answer{host.Yes()}}
		o := onPlugin(host.Limits{Concurrency: 1, Queue: -1})
		o.Audit, o.Approver = log, a
		o.Policy = must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "all", Effect: policy.Ask}}}))
		w := newWorker("run")
		q := queue{host: single(t, w, o)}
		q.add(t.Context(), taking("first", "run", time.Minute))
		asked, recorded := len(a.questions), len(log.soFar())
		r := q.host.Call(t.Context(), taking("second", "run", 0))
		if e := failed(t, r, sdk.CodeLimit); e.Outcome != sdk.OutcomeNotSent || r.Plugin != "test" {
			t.Errorf("error %+v of plugin %q", e, r.Plugin)
		}
		if len(a.questions) != asked || len(log.soFar()) != recorded+1 {
			t.Fatalf("%d questions, %d records", len(a.questions), len(log.soFar()))
		}
		last := log.soFar()[recorded]
		if last.Kind != audit.KindCall || last.Code != "E_LIMIT" || !last.Later || last.Sync || last.Tool != "test__run" ||
			last.Plugin != "test" || len(last.Arguments) == 0 {
			t.Errorf("record %+v", last)
		}
		q.all()
		if last := log.soFar()[len(log.soFar())-1]; last.CallID != "first" || last.Status != "ok" {
			t.Errorf("record %+v", last)
		}
	})
}

// A plugin without limits of its own does not use up the host's slots: others run beside its flood.
func TestFloodLeavesRoomForOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newHost(t, map[string]host.Plugin{"test": newWorker("run"), "other": newWorker("run")},
			host.Options{MaxConcurrency: 16})
		q := queue{host: h}
		for i := range 200 {
			c := taking(fmt.Sprint(i), "run", time.Minute)
			c.SessionID = fmt.Sprint(i)
			q.add(t.Context(), c)
		}
		began := time.Now()
		c := taking("other", "run", time.Second)
		c.Tool = "other__run"
		succeeded(t, h.Call(t.Context(), c))
		if took := time.Since(began); took != time.Second {
			t.Errorf("the other plugin's call took %s", took)
		}
		ran, refused := 0, 0
		synctest.Wait()
		for _, r := range q.all() {
			switch {
			case r.Error == nil:
				ran++
			case r.Error.Code == sdk.CodeLimit:
				refused++
			}
		}
		if ran != 12+48 || ran+refused != 200 { // three quarters of 16, and of 64 places
			t.Errorf("%d ran, %d were refused", ran, refused)
		}
	})
}
