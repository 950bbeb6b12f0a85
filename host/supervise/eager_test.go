package supervise

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// playEager is play for an eager plugin.
func playEager(t *testing.T, script []error, f func(t *testing.T, p *Process, a *actor)) {
	synctest.Test(t, func(t *testing.T) {
		a := &actor{script: script}
		p := newProcess(Spec{Name: "x", Eager: true}.withDefaults(), slog.New(slog.DiscardHandler), a.start, a.note)
		synctest.Wait()
		f(t, p, a)
		if a.live != nil && !isClosed(a.live.done()) {
			close(a.live.child.exited)
		}
		_ = p.Close()
	})
}

func TestEagerComesBackByItself(t *testing.T) {
	playEager(t, nil, func(t *testing.T, p *Process, a *actor) {
		for i, wait := range []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond} {
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
			time.Sleep(quarantine)
			synctest.Wait()
			if len(a.starts()) != before+1 || p.Status().State != Ready {
				t.Fatalf("probe %d: %d starts, %+v", probe, len(a.starts())-before, p.Status())
			}
			a.crash()
		}
		if got := p.Status().Reason; !strings.Contains(got, "the one try") {
			t.Errorf("reason: %s", got)
		}
	})
}

// Crashes do not add up over a life in which the plugin ran well.
func TestEagerThatRunsWellIsNeverQuarantined(t *testing.T) {
	playEager(t, nil, func(t *testing.T, p *Process, a *actor) {
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
	play(t, []error{&invalidError{errors.New("wrong checksum")}}, func(t *testing.T, p *Process, a *actor) {
		_, _ = p.acquire(t.Context())
		p.Reset()
		if got := p.Status(); got.State != Known || !strings.Contains(got.Reason, "reset") {
			t.Errorf("%+v", got)
		}
		if _, err := p.acquire(t.Context()); err != nil || p.Status().State != Ready {
			t.Errorf("%v, %+v", err, p.Status())
		}
		p.Reset() // leaves one that runs alone
		if got := p.Status(); got.State != Ready || got.Generation != 2 {
			t.Errorf("%+v", got)
		}
	})
}

func TestQuarantineIsLeftByReset(t *testing.T) {
	bad := errors.New("bad")
	for _, eager := range []bool{false, true} {
		t.Run(fmt.Sprintf("eager=%v", eager), func(t *testing.T) {
			playing := play
			if eager {
				playing = playEager
			}
			playing(t, []error{bad, bad, bad, bad, bad, bad}, func(t *testing.T, p *Process, a *actor) {
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
	play(t, nil, func(t *testing.T, p *Process, _ *actor) {
		_ = p.Close()
		p.Reset()
	})
}

// What really runs is counted by what ran, not by what the owner believes.
func TestStartsAreCounted(t *testing.T) {
	dir := t.TempDir()
	marks, program := filepath.Join(dir, "marks"), filepath.Join(dir, "program")
	script := "#!/bin/sh\necho x >> " + marks + "\necho I cannot >&2\nexit 3\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := playing("bad", "good")
	spec.Command, spec.Eager = []string{program}, true
	spec.Restart = Restart{MaxCrashes: 3, Window: time.Hour, Backoff: time.Millisecond, BackoffMax: time.Millisecond}
	runs := func() int { text, _ := os.ReadFile(marks); return len(text) / 2 }
	p := add(t, supervisor(t), spec)
	quarantined := func(want int) {
		t.Helper()
		soon(t, "quarantine", patience, func() bool { return p.Status().State == Quarantined })
		if got := runs(); got != want {
			t.Errorf("run %d times, want %d", got, want)
		}
	}
	quarantined(4)
	if got := p.Status(); got.Crashes != 4 || got.Restarts != 3 || len(got.Stderr) == 0 || got.Stderr[0] != "I cannot" || got.Since.IsZero() || got.Reason == "" {
		t.Errorf("status: %+v", got)
	}
	_, err := call(t, p, "echo", "")
	checkError(t, err, sdk.CodePluginUnavailable, "left alone")
	p.Reset()
	quarantined(8)
	spec.Env["MORE"] = "1"
	mustReload(t, p, spec) // another spec
	quarantined(12)
	replace(t, program, os.Args[0]) // another program
	if got := mustCall(t, p, "echo", "mended"); got != "mended" || runs() != 12 {
		t.Errorf("%q after %d runs", got, runs())
	}
	if got := p.Status(); got.Crashes != 0 || got.LastError != "" || got.RetryAt != (time.Time{}) {
		t.Errorf("status: %+v", got)
	}
}

// A start that hangs in the system holds nobody for longer than its time and that of a stop.
func TestStartThatHangsInTheSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := contextFor(t, 10*time.Second)
		defer cancel()
		never, began := make(chan answer), time.Now()
		_, err := inTime(ctx, never)
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "hangs in the system") || took != 10*time.Second+stopTime {
			t.Errorf("after %s: %v", took, err)
		}
		close(never)
	})
}
