package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// A worker is a plugin whose calls take the time given in their arguments, by default a second, and that records
// them.
type worker struct {
	*fake

	mu      sync.Mutex
	begun   []string       // the calls' ids
	at      []time.Time    // when they began
	running map[string]int // by tool, and "" for all
	peak    map[string]int
}

func newWorker(tools ...string) *worker {
	w := &worker{running: map[string]int{}, peak: map[string]int{}}
	var definitions []sdk.Tool
	for _, name := range tools {
		definitions = append(definitions, tool(name))
	}
	w.fake = calling(w.work, definitions...)
	return w
}

func (w *worker) work(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	d, err := time.ParseDuration(strings.Trim(string(r.Arguments), `{":}`))
	if err != nil {
		d = time.Second
	}
	w.count(r, +1)
	defer w.count(r, -1)
	select {
	case <-time.After(d):
		return sdk.Text("done"), nil
	case <-ctx.Done():
		return nil, sdk.EndedError(ctx)
	}
}

func (w *worker) count(r *sdk.Request, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > 0 {
		w.begun, w.at = append(w.begun, r.CallID), append(w.at, time.Now())
	}
	for _, what := range []string{r.Tool, ""} {
		w.running[what] += n
		w.peak[what] = max(w.peak[what], w.running[what])
	}
}

// taking is a call that takes that long.
func taking(id, tool string, d time.Duration) host.Call {
	return host.Call{ID: id, Tool: "test__" + tool, Arguments: fmt.Appendf(nil, `{"%s":""}`, d)}
}

// A queue makes calls one after the other, without waiting for their results.
type queue struct {
	host    *host.Host
	results []chan *host.Result
}

// add makes a call and returns when it runs or waits.
func (q *queue) add(ctx context.Context, c host.Call) {
	result := make(chan *host.Result, 1)
	q.results = append(q.results, result)
	go func() { result <- q.host.Call(ctx, c) }()
	synctest.Wait()
}

// all waits for the results, in the order of the calls.
func (q *queue) all() (out []*host.Result) {
	for _, r := range q.results {
		out = append(out, <-r)
	}
	return out
}

// onTool sets limits for test__run alone, onPlugin for all tools of the plugin.
func onTool(l host.Limits) host.Options {
	return host.Options{Tools: map[string]host.ToolOptions{"test__run": {Limits: l}}}
}

func onPlugin(l host.Limits) host.Options {
	return host.Options{Plugins: map[string]host.PluginOptions{"test": {Limits: l}}}
}

// The calls of one caller run in the order in which they came.
func TestFirstComeFirstServed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorker("run")
		q := queue{host: single(t, w, onTool(host.Limits{Concurrency: 1, Queue: 100}))}
		var want []string
		for i := range 60 {
			c := taking(fmt.Sprint(i), "run", time.Second)
			want = append(want, c.ID)
			q.add(t.Context(), c)
		}
		for i, r := range q.all() {
			succeeded(t, r)
			if took := time.Duration(i+1) * time.Second; r.Duration != took {
				t.Errorf("call %d took %s, want %s", i, r.Duration, took)
			}
		}
		diff(t, want, w.begun)
	})
}

func TestConcurrency(t *testing.T) {
	cases := map[string]struct {
		tool, plugin int
		calls        string // names of tools
		peak         map[string]int
		took         time.Duration
	}{
		"no limit":              {0, 0, "aaaaaaaa", map[string]int{"": 8, "a": 8}, time.Second},
		"of a tool":             {2, 0, "aaaaa", map[string]int{"": 2, "a": 2}, 3 * time.Second},
		"not of other tools":    {2, 0, "aabbb", map[string]int{"": 5, "a": 2, "b": 3}, time.Second},
		"of a plugin":           {0, 3, "aabbbba", map[string]int{"": 3, "a": 2, "b": 3}, 3 * time.Second},
		"of both":               {1, 2, "aaab", map[string]int{"": 2, "a": 1, "b": 1}, 3 * time.Second},
		"a full tool, free way": {1, 2, "aaabbb", map[string]int{"": 2, "a": 1, "b": 1}, 3 * time.Second},
		"the plugin's is less":  {4, 1, "aab", map[string]int{"": 1, "a": 1, "b": 1}, 3 * time.Second},
		"below zero is none":    {-1, -1, "aaaa", map[string]int{"": 4, "a": 4}, time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorker("a", "b")
				o := onPlugin(host.Limits{Concurrency: c.plugin})
				o.Tools = map[string]host.ToolOptions{"test__a": {Limits: host.Limits{Concurrency: c.tool}}}
				q, began := queue{host: single(t, w, o)}, time.Now()
				for i, tool := range strings.Split(c.calls, "") {
					q.add(t.Context(), taking(fmt.Sprint(i), tool, time.Second))
				}
				for _, r := range q.all() {
					succeeded(t, r)
				}
				diff(t, c.peak, w.peak)
				if took := time.Since(began); took != c.took {
					t.Errorf("all took %s, want %s", took, c.took)
				}
			})
		})
	}
}

func TestQueueFull(t *testing.T) {
	const suggestion = "Try again when the running calls have ended."
	cases := map[string]struct {
		options host.Options
		places  int
		want    sdk.Error
	}{
		"of a tool": {onTool(host.Limits{Concurrency: 2, Queue: 4}), 4, sdk.Error{
			Message: `the queue is full: at most 2 calls run at once and 4 wait (queue of tool "test__run"); nothing was run`,
			Details: []byte(`{"setting":"queue","of":"tool \"test__run\"","limit":4,"retry_after_ms":2500}`)}},
		"of a plugin": {onPlugin(host.Limits{Concurrency: 2, Queue: 1}), 1, sdk.Error{
			Message: `the queue is full: at most 2 calls run at once and 1 wait (queue of plugin "test"); nothing was run`,
			Details: []byte(`{"setting":"queue","of":"plugin \"test\"","limit":1,"retry_after_ms":1000}`)}},
		"none may wait": {onTool(host.Limits{Concurrency: 2, Queue: -1}), 0, sdk.Error{
			Message: `the queue is full: at most 2 calls run at once and none wait (queue of tool "test__run"); nothing was run`,
			Details: []byte(`{"setting":"queue","of":"tool \"test__run\"","limit":0,"retry_after_ms":500}`)}},
		"by default": {onTool(host.Limits{Concurrency: 2}), 32, sdk.Error{
			Message: `the queue is full: at most 2 calls run at once and 32 wait (queue of tool "test__run"); nothing was run`,
			Details: []byte(`{"setting":"queue","of":"tool \"test__run\"","limit":32,"retry_after_ms":16500}`)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorker("run")
				h := single(t, w, c.options)
				succeeded(t, h.Call(t.Context(), taking("", "run", time.Second))) // to learn how long calls take
				q := queue{host: h}
				for range 2 + c.places {
					q.add(t.Context(), taking("", "run", time.Second))
				}
				r := h.Call(t.Context(), taking("", "run", time.Second))
				c.want.Code, c.want.Name, c.want.Retryable, c.want.Suggestion, c.want.Outcome = sdk.CodeLimit, "QueueFull", true,
					suggestion, sdk.OutcomeNotSent
				diff(t, &c.want, failed(t, r, sdk.CodeLimit))
				if r.Duration != 0 || r.Attempts != 0 {
					t.Errorf("refused after %s, with %d attempts", r.Duration, r.Attempts)
				}
				for _, r := range q.all() {
					succeeded(t, r)
				}
			})
		})
	}
}

// An estimate is only given once a duration is known.
func TestQueueFullBeforeAnyCallHasEnded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		q := queue{host: single(t, newWorker("run"), onTool(host.Limits{Concurrency: 1, Queue: -1}))}
		q.add(t.Context(), taking("", "run", time.Second))
		e := failed(t, q.host.Call(t.Context(), call("test__run", "")), sdk.CodeLimit)
		diff(t, `{"setting":"queue","of":"tool \"test__run\"","limit":0}`, string(e.Details))
		q.all()
	})
}

// Time in the queue does not count against the timeout.
func TestDeadlineStartsWithTheSlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		o := onTool(host.Limits{Concurrency: 1})
		o.DefaultTimeout = 10 * time.Second
		q := queue{host: single(t, newWorker("run"), o)}
		for range 3 {
			q.add(t.Context(), taking("", "run", 9*time.Second))
		}
		for _, r := range q.all() {
			succeeded(t, r)
		}
	})
}

func TestWaitedTooLong(t *testing.T) {
	cases := map[string]struct {
		options host.Options
		of      string
	}{
		"for the tool":   {onTool(host.Limits{Concurrency: 1}), `tool "test__run"`},
		"for the plugin": {onPlugin(host.Limits{Concurrency: 1}), `plugin "test"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorker("run")
				c.options.DefaultTimeout = time.Hour
				q := queue{host: single(t, w, c.options)}
				q.add(t.Context(), taking("long", "run", 10*time.Minute))
				r := q.host.Call(t.Context(), taking("short", "run", time.Second))
				want := &sdk.Error{Code: sdk.CodeLimit, Name: "WaitedTooLong", Outcome: sdk.OutcomeNotSent, Retryable: true,
					Message: "the call waited 5m0s in the queue; at most 1 may run at once (concurrency of " + c.of +
						"); nothing was run",
					Suggestion: "Try again when the running calls have ended."}
				e := failed(t, r, sdk.CodeLimit)
				e.Details = nil
				diff(t, want, e)
				if r.Duration != 5*time.Minute {
					t.Errorf("refused after %s", r.Duration)
				}
				q.all()
				diff(t, []string{"long"}, w.begun)
			})
		})
	}
}

// A call that is canceled leaves its place, which blocks no other.
func TestGivingUpInTheQueue(t *testing.T) {
	ends := map[string]struct {
		begin func(context.Context) (context.Context, context.CancelFunc)
		code  sdk.Code
		want  string
	}{
		"canceled": {context.WithCancel, sdk.CodeCanceled,
			"the call was canceled while it waited in the queue; nothing was run"},
		"deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		},
			sdk.CodeTimeout, "the caller's deadline passed while it waited in the queue; nothing was run"},
	}
	for name, c := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorker("run")
				q := queue{host: single(t, w, onTool(host.Limits{Concurrency: 1, Queue: 2}))}
				ctx, cancel := c.begin(t.Context())
				defer cancel()
				q.add(t.Context(), taking("first", "run", 10*time.Second))
				q.add(ctx, taking("gone", "run", time.Second))
				if <-time.After(time.Second); name == "canceled" {
					cancel()
				}
				e := failed(t, <-q.results[1], c.code)
				if e.Message != c.want {
					t.Errorf("message %q, want %q", e.Message, c.want)
				}
				q.results = append(q.results[:1], q.results[2:]...)
				q.add(t.Context(), taking("second", "run", time.Second))
				q.add(t.Context(), taking("third", "run", time.Second))
				for _, r := range q.all() {
					succeeded(t, r)
				}
				diff(t, []string{"first", "second", "third"}, w.begun)
			})
		})
	}
}

// A call that is already canceled does not run, whether or not others wait.
func TestCanceledBeforeItsSlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorker("run")
		h := single(t, w, onTool(host.Limits{Concurrency: 1}))
		if _, problems := h.Tools(t.Context()); len(problems) > 0 {
			t.Fatal(problems)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		e := failed(t, h.Call(ctx, call("test__run", "")), sdk.CodeCanceled)
		diff(t, "the call was canceled while it waited in the queue; nothing was run", e.Message)
		succeeded(t, h.Call(t.Context(), call("test__run", ""))) // its slot is free again
		if n := w.called.Load(); n != 1 {
			t.Errorf("the plugin was called %d times", n)
		}
	})
}

func TestCloseEndsTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorker("run")
		q := queue{host: single(t, w, onTool(host.Limits{Concurrency: 1}))}
		for range 5 {
			q.add(t.Context(), taking("", "run", time.Minute))
		}
		began := time.Now()
		if err := q.host.Close(); err != nil {
			t.Error(err)
		}
		for _, r := range q.all() {
			failed(t, r, sdk.CodeCanceled)
		}
		if took := time.Since(began); took != 0 || w.called.Load() != 1 {
			t.Errorf("closing took %s, and %d calls ran", took, w.called.Load())
		}
	})
}

// Slots, canceled callers and Close may meet at any moment.
func TestQueueDuringClose(t *testing.T) {
	t.Parallel()
	for range 50 {
		p := answering(sdk.Text("ran"), nil)
		h := single(t, p, onTool(host.Limits{Concurrency: 1, Queue: 100}))
		var ran atomic.Int64
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i%4 == 0 {
					go cancel()
				}
				if r := h.Call(ctx, call("test__run", "")); r.Error == nil {
					ran.Add(1)
				} else {
					failed(t, r, sdk.CodeCanceled)
				}
			})
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if ran.Load() != p.called.Load() {
			t.Errorf("%d calls ran, %d say so", p.called.Load(), ran.Load())
		}
	}
}

// Whatever happens to a call, its slot is released.
func TestSlotsAreFreed(t *testing.T) {
	answers := map[string]func() (*sdk.Result, error){
		"result":       func() (*sdk.Result, error) { return sdk.Text("done"), nil },
		"tool's error": func() (*sdk.Result, error) { return &sdk.Result{Error: &sdk.Error{Message: "no"}}, nil },
		"plugin's end": func() (*sdk.Result, error) {
			return nil,
				&client.BrokenError{Err: errors.New("gone"), Delivered: true}
		},
		"plugin panics": func() (*sdk.Result, error) { panic("a bug") },
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := calling(func(context.Context, *sdk.Request) (*sdk.Result, error) { return answer() })
				h := single(t, p, onTool(host.Limits{Concurrency: 1, Queue: -1}))
				for range 3 {
					if r := h.Call(t.Context(), call("test__run", "")); r.Attempts != 1 {
						t.Errorf("the call did not run: %+v", r.Error)
					}
				}
			})
		})
	}
}

// A plan is a random set of calls.
type plan struct {
	tool, plugin int // may run at once
	calls        []planned
}

type planned struct {
	tool                   string
	takes, patience, pause time.Duration
}

func drawPlan(r *rapid.T) (p plan) {
	milliseconds := func(name string, least, most int) time.Duration {
		return time.Duration(rapid.IntRange(least, most).Draw(r, name)) * time.Millisecond
	}
	p.tool, p.plugin = rapid.IntRange(1, 3).Draw(r, "tool"), rapid.IntRange(1, 4).Draw(r, "plugin")
	for range rapid.IntRange(1, 40).Draw(r, "calls") {
		p.calls = append(p.calls, planned{rapid.SampledFrom([]string{"a", "b"}).Draw(r, "name"),
			milliseconds("takes", 1, 200), milliseconds("patience", 1, 200), milliseconds("pause", 0, 30)})
	}
	return p
}

// Random calls that start, run and are canceled never exceed the allowed number, keep their order, and leave nothing
// behind.
func TestQueueProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		p := drawPlan(r)
		var problems []error
		synctest.Test(t, func(t *testing.T) { problems = p.run(t) })
		if err := errors.Join(problems...); err != nil {
			r.Fatal(err)
		}
	})
}

func (p plan) run(t *testing.T) (problems []error) {
	w := newWorker("a", "b")
	o := onPlugin(host.Limits{Concurrency: p.plugin, Queue: 12})
	o.Tools = map[string]host.ToolOptions{"test__a": {Limits: host.Limits{Concurrency: p.tool, Queue: 6}}}
	q := queue{host: single(t, w, o)}
	for i, c := range p.calls {
		ctx, cancel := context.WithTimeout(t.Context(), c.patience)
		defer cancel()
		q.add(ctx, taking(fmt.Sprintf("%s%02d", c.tool, i), c.tool, c.takes))
		<-time.After(c.pause)
	}
	for _, r := range q.all() {
		if e := r.Error; e != nil && e.Code != sdk.CodeTimeout && e.Name != "QueueFull" {
			problems = append(problems, fmt.Errorf("%s: %+v", r.CallID, e))
		}
	}
	if w.peak["a"] > p.tool || w.peak[""] > p.plugin {
		problems = append(problems, fmt.Errorf("%v ran at once", w.peak))
	}
	return append(problems, w.outOfOrder(), p.nothingLeft(t, q.host))
}

// outOfOrder finds calls that began before earlier ones of the same tool. Those that begin at the same moment may be
// recorded in any order.
func (w *worker) outOfOrder() error {
	for i, id := range w.begun {
		for j, earlier := range w.begun[i+1:] {
			if earlier[0] == id[0] && earlier < id && w.at[i].Before(w.at[i+1+j]) {
				return fmt.Errorf("%s began before %s", id, earlier)
			}
		}
	}
	return nil
}

// nothingLeft checks that exactly the allowed number of calls run at once after all others have ended.
func (p plan) nothingLeft(t *testing.T, h *host.Host) error {
	q := queue{host: h}
	for range p.plugin + 1 {
		q.add(t.Context(), taking("", "b", time.Second))
	}
	for i, r := range q.all() {
		if want := time.Duration(1+i/p.plugin) * time.Second; r.Error != nil || r.Duration != want {
			return fmt.Errorf("in the end, call %d took %s, want %s: %v", i, r.Duration, want, r.Error)
		}
	}
	return nil
}

// of is a call on behalf of a caller.
func of(caller, id string) host.Call {
	c := taking(id, "run", time.Second)
	c.Caller = caller
	return c
}

// A hundred waiting calls of one caller do not delay another's single call: neither at a plugin nor at the host.
func TestCallersTakeTurns(t *testing.T) {
	for name, o := range map[string]host.Options{
		"at the tool":   onTool(host.Limits{Concurrency: 1, Queue: 200}),
		"at the plugin": onPlugin(host.Limits{Concurrency: 1, Queue: 200}),
		"at the host":   {MaxConcurrency: 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				places := 100
				if o.MaxConcurrency > 0 {
					places = 4 // and so full
				}
				w := newWorker("run")
				q := queue{host: single(t, w, o)}
				for i := range places + 1 {
					q.add(t.Context(), of("many", fmt.Sprint(i)))
				}
				q.add(t.Context(), of("one", "the one"))
				results := q.all()
				succeeded(t, results[len(results)-1])
				diff(t, []string{"0", "1", "the one", "2"}, w.begun[:4])
			})
		})
	}
}

// Two callers with many calls each share the slots, however late one of them comes.
func TestTwoCallersShareTheSlots(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorker("run")
		q := queue{host: single(t, w, onTool(host.Limits{Concurrency: 1, Queue: 20}))}
		for i := range 6 {
			q.add(t.Context(), of("a", fmt.Sprint("a", i)))
		}
		time.Sleep(2500 * time.Millisecond) // of fake time
		for i := range 3 {
			q.add(t.Context(), of("b", fmt.Sprint("b", i)))
		}
		for _, r := range q.all() {
			succeeded(t, r)
		}
		diff(t, []string{"a0", "a1", "a2", "a3", "b0", "a4", "b1", "a5", "b2"}, w.begun)
	})
}

// A full queue has room for a caller with fewer calls in it; the last one of the caller with most is refused.
func TestGivingWayInAFullQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorker("run")
		q := queue{host: single(t, w, onTool(host.Limits{Concurrency: 1, Queue: 4}))}
		for _, id := range []string{"a0", "a1", "a2", "a3", "a4"} {
			q.add(t.Context(), of("a", id))
		}
		for _, id := range []string{"b0", "b1", "b2"} { // b2 would have more than a
			q.add(t.Context(), of("b", id))
		}
		results := q.all()
		for i, refused := range []bool{false, false, false, true, true, false, false, true} {
			if !refused {
				succeeded(t, results[i])
			} else if e := failed(t, results[i], sdk.CodeLimit); e.Name != "QueueFull" || e.Outcome != sdk.OutcomeNotSent ||
				!e.Retryable {
				t.Errorf("call %d: %+v", i, e)
			}
		}
		diff(t, []string{"a0", "a1", "b0", "a2", "b1"}, w.begun)
	})
}

// A call over the host's limit is refused at once, and says when to retry.
func TestMaxConcurrency(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorker("run")
		h := single(t, w, host.Options{MaxConcurrency: 2})
		succeeded(t, h.Call(t.Context(), taking("", "run", time.Second))) // to learn how long calls take
		q := queue{host: h}
		for range 2 + 8 {
			q.add(t.Context(), taking("", "run", time.Second))
		}
		r := h.Call(t.Context(), taking("", "run", time.Second))
		e := failed(t, r, sdk.CodeLimit)
		diff(t, `{"setting":"queue","of":"the host","limit":8,"retry_after_ms":4500}`, string(e.Details))
		if r.Duration != 0 || e.Outcome != sdk.OutcomeNotSent {
			t.Errorf("refused after %s: %+v", r.Duration, e)
		}
		for i, r := range q.all() {
			succeeded(t, r)
			if want := time.Duration(i/2+1) * time.Second; r.Duration != want {
				t.Errorf("call %d took %s, want %s", i, r.Duration, want)
			}
		}
	})
}
