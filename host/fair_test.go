package host_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// of is a call on behalf of somebody.
func of(caller, id string) host.Call {
	c := taking(id, "run", time.Second)
	c.Caller = caller
	return c
}

// Whoever has a hundred calls in line keeps nobody else's single call from its turn: not at a plugin, not at the host.
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

// Two callers with many calls each share the turns, however late one of them comes.
func TestTwoCallersShareTheTurns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorker("run")
		q := queue{host: single(t, w, onTool(host.Limits{Concurrency: 1, Queue: 20}))}
		for i := range 6 {
			q.add(t.Context(), of("a", fmt.Sprint("a", i)))
		}
		time.Sleep(2500 * time.Millisecond) // of made-up time: a0, a1 have ended, a2 runs
		for i := range 3 {
			q.add(t.Context(), of("b", fmt.Sprint("b", i)))
		}
		for _, r := range q.all() {
			succeeded(t, r)
		}
		diff(t, []string{"a0", "a1", "a2", "a3", "b0", "a4", "b1", "a5", "b2"}, w.begun)
	})
}

// A full line has room for a caller with fewer calls in it; the last one of the caller with most goes, unrun.
func TestRoomInAFullLine(t *testing.T) {
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
			} else if e := failed(t, results[i], sdk.CodeLimit); e.Name != "QueueFull" || e.Outcome != sdk.OutcomeNotSent || !e.Retryable {
				t.Errorf("call %d: %+v", i, e)
			}
		}
		diff(t, []string{"a0", "a1", "b0", "a2", "b1"}, w.begun)
	})
}

// What is over the bound of the host is refused at once, and says when to come back.
func TestMaxConcurrency(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorker("run")
		h := single(t, w, host.Options{MaxConcurrency: 2})
		succeeded(t, h.Call(t.Context(), taking("", "run", time.Second))) // from which is learned how long calls take
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
