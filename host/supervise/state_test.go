//go:build unix

package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolhost/toolhost/sdk"
)

// A fakeProcess is a plugin without a real process, so that hours pass in no time. Each start takes the next entry of
// its script: nil is a start that works.
type fakeProcess struct {
	script   []error
	before   func(number int) // called by each start; or nil
	mu       sync.Mutex
	began    []time.Time
	live     *generation
	all      []*generation
	reported []State
}

func (a *fakeProcess) start(ctx context.Context, _ Spec, number int) (*generation, error) {
	if a.before != nil {
		a.before(number)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.began = append(a.began, time.Now())
	var err error
	if len(a.script) > 0 {
		err, a.script = a.script[0], a.script[1:]
	}
	if err != nil {
		return nil, err
	}
	g := &generation{number: number, calls: newInFlightCalls(), replaced: make(chan struct{}),
		released: make(chan struct{}),
		child: &child{programEnded: make(chan struct{}), treeEnded: make(chan struct{}), released: closed, stderrRead: closed,
			tail: &tail{}, killReason: "it was asked to end"}}
	g.described.Store(&sdk.Description{Name: "made up"})
	a.live, a.all = g, append(a.all, g)
	return g, nil
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// starts are the times of its starts.
func (a *fakeProcess) starts() []time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.began)
}

// note records the reported states.
func (a *fakeProcess) note(s Status) { a.reported = append(a.reported, s.State) }

// crash ends the live process.
func (a *fakeProcess) crash() {
	a.live.end()
	synctest.Wait()
}

// endAll ends all of its processes: stop finds them ended.
func (a *fakeProcess) endAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range a.all {
		if !isClosed(g.done()) {
			g.end()
		}
	}
}

// end ends a process that is a fake.
func (g *generation) end() {
	close(g.child.programEnded)
	close(g.child.treeEnded)
}

func withFakeProcess(t *testing.T, script []error, f func(t *testing.T, p *Process, a *fakeProcess)) {
	synctest.Test(t, func(t *testing.T) {
		a := &fakeProcess{script: script}
		p := newProcess(Spec{Name: "x"}.complete(""), slog.New(slog.DiscardHandler), a.start, a.note)
		f(t, p, a)
		if a.live != nil && !isClosed(a.live.done()) {
			a.crash() // stop finds it ended
		}
		_ = p.Close()
	})
}

// Every change of state is reported once, in order.
func TestStatesAreReported(t *testing.T) {
	var a *fakeProcess
	withFakeProcess(t, []error{errors.New("not yet")}, func(t *testing.T, p *Process, fixture *fakeProcess) {
		a = fixture
		if _, err := p.acquire(t.Context()); err == nil {
			t.Fatal("the first start went well")
		}
		if _, err := p.acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	if want := []State{Known, Starting, Crashed, Starting, Ready, Backoff, Draining, Stopped}; !slices.Equal(a.reported,
		want) {
		t.Errorf("reported %v, want %v", a.reported, want)
	}
}

// What a dead process held is released when the next start no longer waits for it, at once when the plugin is closed.
func TestDeadProcessIsReleasedAfterTheRestart(t *testing.T) {
	withFakeProcess(t, nil, func(t *testing.T, p *Process, a *fakeProcess) {
		first := must(p.acquire(t.Context()))
		a.crash()
		second := must(p.acquire(t.Context()))
		if isClosed(first.released) {
			t.Error("it was released beside the restart")
		}
		time.Sleep(releaseDelay)
		synctest.Wait()
		if !isClosed(first.released) || isClosed(second.released) {
			t.Errorf("after %s: released %t, its successor %t", releaseDelay, isClosed(first.released),
				isClosed(second.released))
		}
		a.crash()
		began := time.Now()
		_ = p.Close()
		if took := time.Since(began); took != 0 || !isClosed(second.released) {
			t.Errorf("closing took %s; released %t", took, isClosed(second.released))
		}
	})
}

func TestFirstRestartIsAtOnceLaterOnesWait(t *testing.T) {
	withFakeProcess(t, nil, func(t *testing.T, p *Process, a *fakeProcess) {
		for i, want := range []State{Crashed, Backoff, Backoff} {
			if _, err := p.acquire(t.Context()); err != nil {
				t.Fatal(i, err)
			}
			a.crash()
			if got := p.Status(); got.State != want || got.LastError == "" {
				t.Fatalf("after crash %d: %+v", i+1, got)
			}
			if want == Backoff {
				checkBackoff(t, p)
				time.Sleep(time.Second) // of fake time
			}
		}
		if _, err := p.acquire(t.Context()); err != nil || len(a.starts()) != 4 {
			t.Errorf("%d starts, %v", len(a.starts()), err)
		}
	})
}

// checkBackoff checks that a call fails at once and says when to retry.
func checkBackoff(t *testing.T, p *Process) {
	t.Helper()
	before := time.Now()
	_, err := p.acquire(t.Context())
	checkError(t, err, sdk.CodePluginUnavailable, "can be restarted in")
	if time.Since(before) != 0 {
		t.Error("the refusal took time")
	}
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok || !e.Retryable || e.Suggestion == "" || p.Status().RetryAt.IsZero() {
		t.Errorf("the refusal does not say when to come back: %+v", e)
	}
}

func TestCrashWhileIdleStartsNothing(t *testing.T) {
	withFakeProcess(t, nil, func(t *testing.T, p *Process, a *fakeProcess) {
		_, _ = p.acquire(t.Context())
		a.crash()
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(a.starts()) != 1 {
			t.Errorf("%d starts without a call", len(a.starts()))
		}
	})
}

func TestQuarantineIsLeftAfterFiveMinutesByOneProbe(t *testing.T) {
	bad := errors.New("bad")
	withFakeProcess(t, []error{bad, bad, bad, bad, bad, bad, bad, nil}, func(t *testing.T, p *Process, a *fakeProcess) {
		for range 6 {
			_, err := p.acquire(t.Context())
			checkError(t, err, sdk.CodePluginUnavailable, "bad")
			time.Sleep(5 * time.Second)
		}
		if got := p.Status().State; got != Quarantined {
			t.Fatal(got)
		}
		_, err := p.acquire(t.Context())
		checkError(t, err, sdk.CodePluginUnavailable, "quarantined for another")
		time.Sleep(quarantineTime)
		_, err = p.acquire(t.Context()) // the probe, which fails
		checkError(t, err, sdk.CodePluginUnavailable, "bad")
		if got := p.Status().State; got != Quarantined || len(a.starts()) != 7 {
			t.Fatalf("after a failed probe: %s, %d starts", got, len(a.starts()))
		}
		time.Sleep(quarantineTime)
		if _, err := p.acquire(t.Context()); err != nil || p.Status().State != Ready {
			t.Errorf("after a good probe: %v, %s", err, p.Status().State)
		}
	})
}

func TestInvalidIsNeverStartedAgain(t *testing.T) {
	withFakeProcess(t, []error{&invalidError{errors.New("wrong checksum")}},
		func(t *testing.T, p *Process, a *fakeProcess) {
			for range 3 {
				_, err := p.acquire(t.Context())
				checkError(t, err, sdk.CodePluginUnavailable, "cannot be used", "wrong checksum")
				time.Sleep(time.Hour)
			}
			if got := p.Status().State; got != Invalid || len(a.starts()) != 1 {
				t.Errorf("%s after %d starts", got, len(a.starts()))
			}
		})
}

// A generation that has just died, not noticed yet, is not returned.
func TestDeadGenerationIsNotReturned(t *testing.T) {
	withFakeProcess(t, nil, func(t *testing.T, p *Process, a *fakeProcess) {
		first, _ := p.acquire(t.Context())
		close(a.live.child.treeEnded)
		second, err := p.acquire(t.Context())
		if err != nil || second.number != first.number+1 {
			t.Errorf("got generation %d, %v", second.number, err)
		}
	})
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestBackoffGrowsAndEndsInQuarantine(t *testing.T) {
	h := crashHistory{limits: Restart{MaxCrashes: 5, Window: time.Minute, Backoff: 100 * time.Millisecond,
		BackoffMax: 300 * time.Millisecond}}
	now := epoch
	for i, want := range []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond,
		300 * time.Millisecond} {
		retryAt, quarantined := h.add(now, time.Time{})
		if wait := retryAt.Sub(now); quarantined || wait < want*8/10 || wait > want*12/10 {
			t.Errorf("crash %d: wait %s, want %s and a fifth more or less; quarantined %v", i+1, wait, want, quarantined)
		}
		now = retryAt
	}
	retryAt, quarantined := h.add(now, time.Time{})
	if !quarantined || retryAt.Sub(now) != quarantineTime {
		t.Errorf("crash 6: quarantined %v for %s", quarantined, retryAt.Sub(now))
	}
}

func TestOneProbeAfterQuarantine(t *testing.T) {
	h := crashHistory{limits: Restart{MaxCrashes: 1, Window: time.Minute, Backoff: time.Second, BackoffMax: time.Second}}
	h.add(epoch, time.Time{})
	probe, quarantined := h.add(epoch, time.Time{})
	if !quarantined {
		t.Fatal("not quarantined")
	}
	if _, again := h.add(probe.Add(time.Second), probe); !again {
		t.Error("a probe that crashes goes straight back into quarantineTime")
	}
	healthy := probe.Add(time.Hour)
	if retryAt, again := h.add(healthy.Add(2*time.Minute), healthy); again || !retryAt.Equal(healthy.Add(2*time.Minute)) {
		t.Error("a plugin that ran well for the window has its crashes forgotten")
	}
}

func TestOldCrashesAreForgotten(t *testing.T) {
	h := crashHistory{limits: Restart{MaxCrashes: 2, Window: time.Minute, Backoff: time.Second, BackoffMax: time.Second}}
	for i := range 20 {
		now := epoch.Add(time.Duration(i) * 31 * time.Second)
		if _, quarantined := h.add(now, now.Add(-30*time.Second)); quarantined {
			t.Fatalf("crash %d: two crashes a minute are within the limit", i)
		}
	}
}

func TestDelayNeverOverflows(t *testing.T) {
	h := crashHistory{limits: Restart{Backoff: time.Hour, BackoffMax: 30 * time.Second}}
	for n := range 200 {
		if d := h.delay(n); d < 0 || d > 36*time.Second {
			t.Fatalf("delay(%d) = %s", n, d)
		}
	}
}

// Many plugins that crash together do not restart together.
func TestDelaysDiffer(t *testing.T) {
	h := crashHistory{limits: Restart{Backoff: time.Second, BackoffMax: time.Minute}}
	soonest, latest := time.Minute, time.Duration(0)
	for range 200 {
		d := h.delay(2)
		soonest, latest = min(soonest, d), max(latest, d)
	}
	if soonest < 800*time.Millisecond || soonest > 900*time.Millisecond || latest < 1100*time.Millisecond ||
		latest > 1200*time.Millisecond {
		t.Errorf("from %s to %s", soonest, latest)
	}
}

// withEagerFake is withFake for an eager plugin.
func withEagerFake(t *testing.T, script []error, f func(t *testing.T, p *Process, a *fakeProcess)) {
	synctest.Test(t, func(t *testing.T) {
		a := &fakeProcess{script: script}
		p := newProcess(Spec{Name: "x", Eager: true}.complete(""), slog.New(slog.DiscardHandler), a.start, a.note)
		synctest.Wait()
		f(t, p, a)
		if a.live != nil && !isClosed(a.live.done()) {
			close(a.live.child.treeEnded)
		}
		_ = p.Close()
	})
}

func TestEagerRestartsByItself(t *testing.T) {
	withEagerFake(t, nil, func(t *testing.T, p *Process, a *fakeProcess) {
		for i, wait := range []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond,
			800 * time.Millisecond} {
			before := time.Now()
			a.crash()
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if p.Status().State != Ready || len(a.starts()) != i+2 {
				t.Fatalf("after crash %d: %+v, %d starts", i+1, p.Status(), len(a.starts()))
			}
			if took := a.starts()[i+1].Sub(before); took < wait*8/10 || took > wait*12/10 {
				t.Errorf("came back %s after crash %d, want about %s", took, i+1, wait)
			}
		}
		a.crash() // the sixth within a minute
		for probe := range 3 {
			if got := p.Status(); got.State != Quarantined || got.Crashes == 0 || got.RetryAt.IsZero() {
				t.Fatalf("%+v", got)
			}
			before := len(a.starts())
			time.Sleep(quarantineTime)
			synctest.Wait()
			if len(a.starts()) != before+1 || p.Status().State != Ready {
				t.Fatalf("probe %d: %d starts, %+v", probe, len(a.starts())-before, p.Status())
			}
			a.crash()
		}
		if got := p.Status().Reason; !strings.Contains(got, "the one start") {
			t.Errorf("reason: %s", got)
		}
	})
}

// Crashes do not add up over a life in which the plugin ran well.
func TestEagerThatRunsWellIsNeverQuarantined(t *testing.T) {
	withEagerFake(t, nil, func(t *testing.T, p *Process, a *fakeProcess) {
		for range 30 {
			time.Sleep(Defaults.Restart.Window)
			if got := p.Status().Crashes; got != 0 {
				t.Errorf("%d crashes are held against it", got)
			}
			a.crash()
			if got := p.Status(); got.State != Ready || got.Crashes != 1 {
				t.Fatalf("%+v", got)
			}
		}
	})
}

func TestInvalidIsLeftByReset(t *testing.T) {
	withFakeProcess(t, []error{&invalidError{errors.New("wrong checksum")}},
		func(t *testing.T, p *Process, a *fakeProcess) {
			_, _ = p.acquire(t.Context())
			p.Reset()
			if got := p.Status(); got.State != Known || !strings.Contains(got.Reason, "reset") {
				t.Errorf("%+v", got)
			}
			if _, err := p.acquire(t.Context()); err != nil || p.Status().State != Ready {
				t.Errorf("%v, %+v", err, p.Status())
			}
			p.Reset() // does not affect one that runs
			if got := p.Status(); got.State != Ready || got.Generation != 2 {
				t.Errorf("%+v", got)
			}
		})
}

func TestQuarantineIsLeftByReset(t *testing.T) {
	bad := errors.New("bad")
	for _, eager := range []bool{false, true} {
		t.Run(fmt.Sprintf("eager=%v", eager), func(t *testing.T) {
			fixture := withFakeProcess
			if eager {
				fixture = withEagerFake
			}
			fixture(t, []error{bad, bad, bad, bad, bad, bad}, func(t *testing.T, p *Process, a *fakeProcess) {
				for range 6 {
					_, _ = p.acquire(t.Context())
					time.Sleep(5 * time.Second)
				}
				if got := p.Status(); got.State != Quarantined || len(a.starts()) != 6 {
					t.Fatalf("%+v, %d starts", got, len(a.starts()))
				}
				p.Reset()
				synctest.Wait()
				if eager != (p.Status().State == Ready) {
					t.Errorf("an eager plugin comes back at once, a lazy one with the next call: %+v", p.Status())
				}
				if _, err := p.acquire(t.Context()); err != nil {
					t.Error(err)
				}
				a.crash()
				if got := p.Status().Crashes; got != 1 {
					t.Errorf("%d crashes are remembered", got)
				}
			})
		})
	}
}

func TestResetOfAClosedPluginReturns(t *testing.T) {
	withFakeProcess(t, nil, func(t *testing.T, p *Process, _ *fakeProcess) {
		_ = p.Close()
		p.Reset()
	})
}

// Starts are counted by the running processes, not by what the owner assumes.
func TestStartsAreCounted(t *testing.T) {
	dir := t.TempDir()
	marks, program := filepath.Join(dir, "marks"), filepath.Join(dir, "program")
	script := "#!/bin/sh\necho x >> " + marks + "\necho I cannot >&2\nexit 3\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := fixture("bad", "good")
	spec.Command, spec.Eager = []string{program}, true
	spec.Restart = Restart{MaxCrashes: 3, Window: time.Hour, Backoff: time.Millisecond, BackoffMax: time.Millisecond}
	runs := func() int { text, _ := os.ReadFile(marks); return len(text) / 2 }
	p := add(t, supervisor(t), spec)
	quarantined := func(want int) {
		t.Helper()
		soon(t, "the quarantine", patience, func() bool { return p.Status().State == Quarantined })
		if got := runs(); got != want {
			t.Errorf("run %d times, want %d", got, want)
		}
	}
	quarantined(4)
	if got := p.Status(); got.Crashes != 4 || got.Restarts != 3 || len(got.Stderr) == 0 || got.Stderr[0] != "I cannot" ||
		got.Since.IsZero() || got.Reason == "" {
		t.Errorf("status: %+v", got)
	}
	_, err := call(t, p, "echo", "")
	checkError(t, err, sdk.CodePluginUnavailable, "quarantined for another")
	p.Reset()
	quarantined(8)
	spec.Env["MORE"] = "1"
	mustReload(t, p, spec) // another spec
	quarantined(12)
	replace(t, program, os.Args[0]) // another program
	if got := mustCall(t, p, "echo", "works"); got != "works" || runs() != 12 {
		t.Errorf("%q after %d runs", got, runs())
	}
	if got := p.Status(); got.Crashes != 0 || got.LastError != "" || got.RetryAt != (time.Time{}) {
		t.Errorf("status: %+v", got)
	}
}

// A start that hangs in the kernel delays callers by its timeout and that of a stop at most.
func TestStartThatHangsInTheSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := contextFor(t, 10*time.Second)
		defer cancel()
		never, began := make(chan startResult), time.Now()
		_, err := awaitStart(ctx, never)
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "hangs in the kernel") ||
			took != 10*time.Second+stopTime {
			t.Errorf("after %s: %v", took, err)
		}
		close(never)
	})
}

func contextFor(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(t.Context(), d, fmt.Errorf("it was not ready within %s", d))
}

// An embedder receives each step of a plugin's life, with its reason, and then the end of the channel.
func TestEventsOfALife(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	events := s.Events(t.Context())
	spec := fixture("good", "good")
	spec.Restart = Restart{MaxCrashes: 1, Window: time.Hour}
	p := add(t, s, spec)
	_, _ = call(t, p, "die", "one")
	soon(t, "the crash", patience, func() bool { return p.Status().State == Crashed }) // the call fails before
	mustReload(t, p, spec)
	mustCall(t, p, "echo", "")
	mustReload(t, p, spec)
	_, _ = call(t, p, "die", "two")
	_, _ = call(t, p, "die", "three")
	soon(t, "the quarantine", patience, func() bool { return p.Status().State == Quarantined })
	_ = s.Close()
	var got []Event
	for e := range events {
		got = append(got, e)
		if e.Time.IsZero() || e.Reason == "" || e.Plugin != "good" || e.Lost != 0 {
			t.Errorf("%+v", e)
		}
		if down := e.To == Crashed || e.To == Quarantined; down && e.Error == "" ||
			(e.To == Quarantined) == e.RetryAt.IsZero() {
			t.Errorf("%+v", e)
		} else if down && (len(e.Stderr) == 0 || !strings.HasPrefix(e.Stderr[len(e.Stderr)-1], "dying of ")) {
			t.Errorf("the last words are missing: %+v", e)
		}
	}
	want := []Event{
		{From: "", To: Known}, {From: Known, To: Starting, Generation: 1}, {From: Starting, To: Ready, Generation: 1},
		{From: Ready, To: Crashed, Generation: 1},
		{From: Crashed, To: Known, Generation: 1}, {From: Known, To: Starting, Generation: 2},
		{From: Starting, To: Ready, Generation: 2},
		{From: Ready, To: Ready, Generation: 3}, {From: Ready, To: Crashed, Generation: 3},
		{From: Crashed, To: Starting, Generation: 4}, {From: Starting, To: Ready, Generation: 4},
		{From: Ready, To: Quarantined, Generation: 4},
		{From: Quarantined, To: Draining, Generation: 4}, {From: Draining, To: Stopped, Generation: 4},
	}
	if diff := cmp.Diff(want, got,
		cmpopts.IgnoreFields(Event{}, "Time", "Plugin", "Reason", "Error", "Stderr", "RetryAt")); diff != "" {
		t.Error(diff)
	}
	if _, open := <-s.Events(t.Context()); open {
		t.Error("a closed supervisor has events")
	}
}

// A reader that is too slow loses the oldest events and learns how many; one that keeps up loses none.
func TestSlowReadersOfEvents(t *testing.T) {
	const reported = 3*maxEvents + 7
	synctest.Test(t, func(t *testing.T) {
		var e events
		slow, quick := e.subscribe(t.Context()), e.subscribe(t.Context())
		var heard []int
		go func() {
			for one := range quick {
				heard = append(heard, one.Generation)
			}
		}()
		for i := range reported {
			e.publish(Event{Generation: i})
			synctest.Wait()
		}
		e.close()
		synctest.Wait()
		if len(heard) != reported {
			t.Errorf("the quick reader heard %d of %d", len(heard), reported)
		}
		read, lost, next := 0, 0, 0
		for one := range slow {
			if one.Generation < next {
				t.Errorf("%d after %d", one.Generation, next)
			}
			read, lost, next = read+1, lost+one.Lost, one.Generation+1
		}
		if read != maxEvents || read+lost != reported || next != reported {
			t.Errorf("the slow reader read %d, lost %d, of %d; the last was %d", read, lost, reported, next-1)
		}
	})
}

// With a concurrent reader and publisher no event comes twice or out of order, and lost events are counted.
func TestEventsAreCountedWhileTheyAreRead(t *testing.T) {
	const reported = 200_000
	var e events
	events := e.subscribe(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range reported {
			e.publish(Event{Generation: i})
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
	if read+lost != reported || next != reported {
		t.Errorf("read %d and lost %d of %d, the last was %d", read, lost, reported, next-1)
	}
}

// No event comes after the end of the reader's context.
func TestEventsEndWithTheirContext(t *testing.T) {
	var e events
	ctx, cancel := context.WithCancel(t.Context())
	events := e.subscribe(ctx)
	e.publish(Event{Generation: 1})
	cancel()
	soon(t, "nobody listens", patience, func() bool { e.mu.Lock(); defer e.mu.Unlock(); return len(e.subscribers) == 0 })
	e.publish(Event{Generation: 2})
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
