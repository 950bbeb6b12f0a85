package queue

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func joined(t *testing.T, q *Queue, by string) *Waiter {
	t.Helper()
	p, refusal := q.Join("run", Caller{Name: by})
	if refusal != nil {
		t.Fatal(refusal)
	}
	return p
}

// A call that gets its slot at the moment its context ends returns it.
func TestSlotAtTheLastMoment(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 { // either may be noticed first
		q := New("plugin", "tool")
		q.SetLimits(Limits{}, map[string]Limits{"run": {Concurrency: 1}})
		first, second := joined(t, q, ""), joined(t, q, "")
		first.Leave()
		if err := second.Wait(ended); !errors.Is(err, context.Canceled) || q.Busy() {
			t.Fatalf("error %v; a slot is taken: %t", err, q.Busy())
		}
	}
}

// A joined call counts at once: of concurrent calls, those over the limit are refused at once, and a call that leaves
// without having run uses nothing of the rate.
func TestPlacesCountFromTheFirstLook(t *testing.T) {
	t.Parallel()
	q := New("plugin", "tool")
	q.SetLimits(Limits{Concurrency: 1, Queue: 2, Rate: 1, Burst: 3}, nil)
	for range 5 {
		waiters := []*Waiter{joined(t, q, "a"), joined(t, q, "a"), joined(t, q, "a")}
		if _, refusal := q.Join("run", Caller{Name: "a"}); refusal == nil || q.Check("run", Caller{Name: "a"}) == nil {
			t.Fatal("the fourth call is not refused")
		}
		if err := waiters[0].Wait(t.Context()); err != nil { // a slot alone uses nothing
			t.Fatal(err)
		}
		for _, p := range waiters {
			p.Leave()
		}
	}
	if q.Busy() {
		t.Error("calls that have left take something up")
	}
	used := joined(t, q, "a")
	used.Use()
	used.Leave()
	for range 2 {
		joined(t, q, "a")
	}
	if _, refusal := q.Join("run", Caller{Name: "a"}); refusal == nil || refusal.Reason != RateLimited {
		t.Errorf("a call that has run counts for nothing: %+v", refusal)
	}
}

// A caller with few calls gets a place in a full queue; the call that gives way gets its error when it waits.
func TestGivingWay(t *testing.T) {
	t.Parallel()
	q := New("plugin", "tool")
	q.SetLimits(Limits{Concurrency: 1, Queue: 2}, nil)
	running, _, last := joined(t, q, "many"), joined(t, q, "many"), joined(t, q, "many")
	few := joined(t, q, "few")
	if refusal, ok := errors.AsType[*Refusal](last.Wait(t.Context())); !ok || refusal.Reason != Full ||
		refusal.Of != "plugin" {
		t.Errorf("refused by %+v", refusal)
	}
	last.Leave()
	running.Leave()
	if few.Immediate() || q.group.waiting != 1 {
		t.Errorf("%d wait", q.group.waiting)
	}
}

// The time for 10,000 waiting calls does not grow with their square.
func TestManyWaitingCalls(t *testing.T) {
	t.Parallel()
	const n = 10_000
	for _, callers := range []int{1, n} {
		q := New("plugin", "tool")
		q.SetLimits(Limits{Concurrency: 1, Queue: n}, nil)
		began := time.Now()
		var waiters []*Waiter
		for i := range n {
			waiters = append(waiters, joined(t, q, fmt.Sprint(i%callers)))
		}
		for _, p := range waiters {
			p.Leave()
		}
		if took := time.Since(began); took > 5*time.Second || q.Busy() {
			t.Errorf("%d callers: %s", callers, took)
		}
	}
}
