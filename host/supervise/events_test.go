package supervise

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func contextFor(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(t.Context(), d, fmt.Errorf("it was not ready within %s", d))
}

// An embedder sees each step of a plugin's life, with its reason, and then the end of the channel.
func TestEventsOfALife(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	events := s.Events(t.Context())
	spec := playing("good", "good")
	spec.Restart = Restart{MaxCrashes: 1, Window: time.Hour}
	p := add(t, s, spec)
	_, _ = call(t, p, "die", "one")
	mustReload(t, p, spec)
	mustCall(t, p, "echo", "")
	mustReload(t, p, spec)
	_, _ = call(t, p, "die", "two")
	_, _ = call(t, p, "die", "three")
	soon(t, "quarantine", patience, func() bool { return p.Status().State == Quarantined })
	_ = s.Close()
	var got []Event
	for e := range events {
		got = append(got, e)
		if e.Time.IsZero() || e.Reason == "" || e.Plugin != "good" || e.Lost != 0 {
			t.Errorf("%+v", e)
		}
		if down := e.To == Crashed || e.To == Quarantined; down && e.Error == "" || (e.To == Quarantined) == e.RetryAt.IsZero() {
			t.Errorf("%+v", e)
		} else if down && (len(e.Stderr) == 0 || !strings.HasPrefix(e.Stderr[len(e.Stderr)-1], "dying of ")) {
			t.Errorf("the last words are missing: %+v", e)
		}
	}
	want := []Event{
		{From: "", To: Known}, {From: Known, To: Starting, Generation: 1}, {From: Starting, To: Ready, Generation: 1}, {From: Ready, To: Crashed, Generation: 1},
		{From: Crashed, To: Known, Generation: 1}, {From: Known, To: Starting, Generation: 2}, {From: Starting, To: Ready, Generation: 2},
		{From: Ready, To: Ready, Generation: 3}, {From: Ready, To: Crashed, Generation: 3},
		{From: Crashed, To: Starting, Generation: 4}, {From: Starting, To: Ready, Generation: 4}, {From: Ready, To: Quarantined, Generation: 4},
		{From: Quarantined, To: Draining, Generation: 4}, {From: Draining, To: Stopped, Generation: 4},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Event{}, "Time", "Plugin", "Reason", "Error", "Stderr", "RetryAt")); diff != "" {
		t.Error(diff)
	}
	if _, open := <-s.Events(t.Context()); open {
		t.Error("a closed supervisor has events")
	}
}

// A reader that is too slow loses the oldest events and hears how many; one that keeps up loses none.
func TestSlowReadersOfEvents(t *testing.T) {
	const told = 3*maxEvents + 7
	synctest.Test(t, func(t *testing.T) {
		var e events
		slow, quick := e.subscribe(t.Context()), e.subscribe(t.Context())
		var heard []int
		go func() {
			for one := range quick {
				heard = append(heard, one.Generation)
			}
		}()
		for i := range told {
			e.tell(Event{Generation: i})
			synctest.Wait()
		}
		e.close()
		synctest.Wait()
		if len(heard) != told {
			t.Errorf("the quick reader heard %d of %d", len(heard), told)
		}
		read, lost, next := 0, 0, 0
		for one := range slow {
			if one.Generation < next {
				t.Errorf("%d after %d", one.Generation, next)
			}
			read, lost, next = read+1, lost+one.Lost, one.Generation+1
		}
		if read != maxEvents || read+lost != told || next != told {
			t.Errorf("the slow reader read %d, was told of %d more, of %d; the last was %d", read, lost, told, next-1)
		}
	})
}

// Reader and teller at the same time: nothing comes twice or out of order, and what is lost is told.
func TestEventsAreCountedWhileTheyAreRead(t *testing.T) {
	const told = 200_000
	var e events
	events := e.subscribe(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range told {
			e.tell(Event{Generation: i})
		}
		e.close()
	})
	read, lost, next := 0, 0, 0
	for one := range events {
		if one.Generation < next {
			t.Fatalf("%d after %d", one.Generation, next)
		}
		read, lost, next = read+1, lost+one.Lost, one.Generation+1
	}
	wg.Wait()
	if read+lost != told || next != told {
		t.Errorf("read %d and lost %d of %d, the last was %d", read, lost, told, next-1)
	}
}

// No event comes after the end of the reader's context.
func TestEventsEndWithTheirContext(t *testing.T) {
	var e events
	ctx, cancel := context.WithCancel(t.Context())
	events := e.subscribe(ctx)
	e.tell(Event{Generation: 1})
	cancel()
	soon(t, "nobody listens", patience, func() bool { e.mu.Lock(); defer e.mu.Unlock(); return len(e.listeners) == 0 })
	e.tell(Event{Generation: 2})
	var got []int
	for one := range events {
		got = append(got, one.Generation)
	}
	if diff := cmp.Diff([]int{1}, got); diff != "" {
		t.Error(diff)
	}
	if _, open := <-e.subscribe(ctx); open {
		t.Error("an ended context hears something")
	}
	e.close()
}
