package supervise

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// An actor is a plugin whose process is made up, so that hours pass in no time. Each start takes the next entry of its
// script: nil is a start that works.
type actor struct {
	script []error
	mu     sync.Mutex
	began  []time.Time
	live   *generation
	told   []State
}

func (a *actor) start(ctx context.Context, _ Spec, number int) (*generation, error) {
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
	g := &generation{number: number, child: &child{exited: make(chan struct{}), tail: &tail{}, reason: "it was told to end"}}
	g.said.Store(&sdk.Description{Name: "made up"})
	a.live = g
	return g, nil
}

// starts are when it was started.
func (a *actor) starts() []time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.began)
}

// note remembers the states that were told.
func (a *actor) note(s Status) { a.told = append(a.told, s.State) }

// crash ends the live process.
func (a *actor) crash() {
	close(a.live.child.exited)
	synctest.Wait()
}

func play(t *testing.T, script []error, f func(t *testing.T, p *Process, a *actor)) {
	synctest.Test(t, func(t *testing.T) {
		a := &actor{script: script}
		p := newProcess(Spec{Name: "x"}.withDefaults(), slog.New(slog.DiscardHandler), a.start, a.note)
		f(t, p, a)
		if a.live != nil && !isClosed(a.live.done()) {
			close(a.live.child.exited) // stop finds it ended
		}
		_ = p.Close()
	})
}

// Every change of state is told once, in order.
func TestStatesAreTold(t *testing.T) {
	var a *actor
	play(t, []error{errors.New("not yet")}, func(t *testing.T, p *Process, playing *actor) {
		a = playing
		if _, err := p.acquire(t.Context()); err == nil {
			t.Fatal("the first start went well")
		}
		if _, err := p.acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	if want := []State{Known, Starting, Crashed, Starting, Ready, Backoff, Draining, Stopped}; !slices.Equal(a.told, want) {
		t.Errorf("told %v, want %v", a.told, want)
	}
}

func TestFirstRestartIsAtOnceLaterOnesWait(t *testing.T) {
	play(t, nil, func(t *testing.T, p *Process, a *actor) {
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
				time.Sleep(time.Second) // of made-up time
			}
		}
		if _, err := p.acquire(t.Context()); err != nil || len(a.starts()) != 4 {
			t.Errorf("%d starts, %v", len(a.starts()), err)
		}
	})
}

// checkBackoff: a call fails at once and says when to come back.
func checkBackoff(t *testing.T, p *Process) {
	t.Helper()
	before := time.Now()
	_, err := p.acquire(t.Context())
	checkError(t, err, sdk.CodePluginUnavailable, "not started again for another")
	if time.Since(before) != 0 {
		t.Error("the refusal took time")
	}
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok || !e.Retryable || e.Suggestion == "" || p.Status().RetryAt.IsZero() {
		t.Errorf("the refusal does not say when to come back: %+v", e)
	}
}

func TestACrashWhileIdleStartsNothing(t *testing.T) {
	play(t, nil, func(t *testing.T, p *Process, a *actor) {
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
	play(t, []error{bad, bad, bad, bad, bad, bad, bad, nil}, func(t *testing.T, p *Process, a *actor) {
		for range 6 {
			_, err := p.acquire(t.Context())
			checkError(t, err, sdk.CodePluginUnavailable, "bad")
			time.Sleep(5 * time.Second)
		}
		if got := p.Status().State; got != Quarantined {
			t.Fatal(got)
		}
		_, err := p.acquire(t.Context())
		checkError(t, err, sdk.CodePluginUnavailable, "left alone")
		time.Sleep(quarantine)
		_, err = p.acquire(t.Context()) // the probe, which fails
		checkError(t, err, sdk.CodePluginUnavailable, "bad")
		if got := p.Status().State; got != Quarantined || len(a.starts()) != 7 {
			t.Fatalf("after a failed probe: %s, %d starts", got, len(a.starts()))
		}
		time.Sleep(quarantine)
		if _, err := p.acquire(t.Context()); err != nil || p.Status().State != Ready {
			t.Errorf("after a good probe: %v, %s", err, p.Status().State)
		}
	})
}

func TestInvalidIsNeverStartedAgain(t *testing.T) {
	play(t, []error{&invalidError{errors.New("wrong checksum")}}, func(t *testing.T, p *Process, a *actor) {
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

// A generation that died a moment ago, unnoticed yet, is not handed out.
func TestADeadGenerationIsNotHandedOut(t *testing.T) {
	play(t, nil, func(t *testing.T, p *Process, a *actor) {
		first, _ := p.acquire(t.Context())
		close(a.live.child.exited)
		second, err := p.acquire(t.Context())
		if err != nil || second.number != first.number+1 {
			t.Errorf("got generation %d, %v", second.number, err)
		}
	})
}
