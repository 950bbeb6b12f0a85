//go:build unix

package supervise

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// withStandby adds the fixture "noted" with a standby, and waits for that. Starts counts its processes.
func withStandby(t *testing.T) (p *Process, starts func() int) {
	t.Helper()
	spec, path := fixture("good", "noted"), filepath.Join(t.TempDir(), "starts")
	spec.Standby = true
	spec.Env["STARTS"] = path
	p = add(t, supervisor(t), spec)
	mustCall(t, p, "echo", "")
	awaitStandby(t, p, 0)
	return p, func() int {
		text, _ := os.ReadFile(path)
		return strings.Count(string(text), "\n")
	}
}

// awaitStandby waits for a standby that is another process than before, and returns its pid.
func awaitStandby(t *testing.T, p *Process, before int) (pid int) {
	t.Helper()
	soon(t, "a standby", patience, func() bool {
		pid = p.Status().Standby
		return pid != 0 && pid != before
	})
	return pid
}

func TestStandbyServesTheCallAfterADeath(t *testing.T) {
	t.Parallel()
	p, starts := withStandby(t)
	first, second := p.Status().PID, p.Status().Standby
	for range 3 {
		if pid := mustCall(t, p, "pid", ""); pid != strconv.Itoa(first) {
			t.Fatalf("process %s has served a call, not %d", pid, first)
		}
	}
	if _, err := call(t, p, "die", "boredom"); sdk.CodeOf(err) != sdk.CodePluginCrashed {
		t.Fatal(err)
	}
	if pid := mustCall(t, p, "pid", ""); pid != strconv.Itoa(second) || starts() != 2 {
		t.Errorf("process %s served the call after %d starts, not the standby %d", pid, starts(), second)
	}
	s := p.Status()
	if s.State != Ready || s.PID != second || s.Restarts != 1 || s.Crashes != 1 ||
		!strings.Contains(s.Reason, "standby took over: exited with code 7") || !strings.Contains(s.Reason, "boredom") {
		t.Errorf("status is %+v", s)
	}
	awaitStandby(t, p, second)
	_ = syscall.Kill(second, syscall.SIGKILL)
	soon(t, "a takeover without a call", patience, func() bool { return p.Status().Restarts == 2 })
	mustCall(t, p, "echo", "")
}

// A process that the host kills is replaced as one that dies by itself: no call waits for its launcher, and none is said
// to have been broken by the plugin.
func TestStandbyTakesOverFromAProcessThatTheHostKills(t *testing.T) {
	t.Parallel()
	p, _ := withStandby(t)
	second, g := p.Status().Standby, p.running()
	stop(t, g.child.pid)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Call(ctx, request("echo", "")); sdk.CodeOf(err) != sdk.CodeCanceled {
		t.Fatal(err)
	}
	<-g.checkHealth() // the call has begun it, or this does
	<-g.done()
	if pid := mustCall(t, p, "pid", ""); pid != strconv.Itoa(second) {
		t.Errorf("process %s served the call, not the standby %d", pid, second)
	}
	<-g.child.launcherEnded
	if exit, err := g.child.exit, g.child.followErr; err != nil || exit.Signal != syscall.SIGKILL {
		t.Errorf("the process ended with %v, %v", exit, err)
	}
}

func TestStandbyThatDiesIsReplaced(t *testing.T) {
	t.Parallel()
	p, _ := withStandby(t)
	first := p.Status()
	_ = syscall.Kill(first.Standby, syscall.SIGKILL)
	awaitStandby(t, p, first.Standby)
	if s := p.Status(); s.PID != first.PID || s.Crashes != 0 || s.Restarts != 0 || s.State != Ready {
		t.Errorf("the plugin is %+v; its standby's death should change nothing", s)
	}
}

func TestStandbyEndsWithItsPlugin(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p *Process) error{
		"closed": (*Process).Close,
		"reloaded without it": func(p *Process) error {
			spec := *p.spec.Load()
			spec.Standby = false
			return p.Reload(t.Context(), spec)
		},
		"reloaded": func(p *Process) error { return p.Reload(t.Context(), *p.spec.Load()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := withStandby(t)
			standby := p.Status().Standby
			if err := end(p); err != nil {
				t.Fatal(err)
			}
			soon(t, "the end of the standby", patience, func() bool { return !alive(standby) })
		})
	}
}

// A fake plugin with a standby, whose program is a file that can change.
func withFakeStandby(t *testing.T, script []error, f func(t *testing.T, p *Process, a *fakeProcess, program string)) {
	program := filepath.Join(t.TempDir(), "program")
	write(t, program, "one")
	synctest.Test(t, func(t *testing.T) {
		a := &fakeProcess{script: script}
		spec := Spec{Name: "x", Command: []string{program}, Standby: true}.complete("")
		p := newProcess(spec, slog.New(slog.DiscardHandler), a.start, a.note)
		if _, err := p.acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		f(t, p, a, program)
		a.endAll()
		synctest.Wait()
		_ = p.Close()
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestStandbyIsStartedLaterThanItsPlugin(t *testing.T) {
	withFakeStandby(t, nil, func(t *testing.T, p *Process, a *fakeProcess, _ string) {
		time.Sleep(standbyDelay - 1)
		synctest.Wait()
		if n := len(a.starts()); n != 1 {
			t.Errorf("%d starts before the delay", n)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(a.starts()); n != 2 {
			t.Errorf("%d starts in an hour", n)
		}
	})
}

func TestStandbyOfAnotherProgramDoesNotTakeOver(t *testing.T) {
	withFakeStandby(t, nil, func(t *testing.T, p *Process, a *fakeProcess, program string) {
		first := p.running()
		time.Sleep(2 * standbyDelay)
		synctest.Wait()
		write(t, program, "another")
		first.end()
		synctest.Wait()
		if s := p.Status(); s.State != Crashed || len(a.starts()) != 2 {
			t.Errorf("it is %s after %d starts", s.State, len(a.starts()))
		}
		if g, err := p.acquire(t.Context()); err != nil || g.number != 3 {
			t.Errorf("the next generation is %+v, %v", g, err)
		}
	})
}

// A plugin whose standbys cannot be started is as one without, and they are tried less and less often.
func TestStandbyThatCannotBeStarted(t *testing.T) {
	no := make([]error, 1000)
	for i := range no[1:] {
		no[i+1] = context.DeadlineExceeded
	}
	withFakeStandby(t, no, func(t *testing.T, p *Process, a *fakeProcess, _ string) {
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := len(a.starts()); n < 10 || n > 40 {
			t.Errorf("%d starts in ten minutes", n)
		}
		if s := p.Status(); s.State != Ready || s.Crashes != 0 {
			t.Errorf("it is %+v", s)
		}
	})
}

// A plugin that dies at once, again and again, is quarantined with a standby too.
func TestStandbysOfAPluginThatAlwaysDies(t *testing.T) {
	withFakeStandby(t, nil, func(t *testing.T, p *Process, a *fakeProcess, _ string) {
		for p.Status().State != Quarantined {
			if g := p.running(); g != nil {
				g.end()
			} else if _, err := p.acquire(t.Context()); err == nil {
				continue
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
		if n := len(a.starts()); n > 15 {
			t.Errorf("it was started %d times before its quarantine", n)
		}
		if s := p.Status(); s.Standby != 0 {
			t.Errorf("a quarantined plugin has the standby %d", s.Standby)
		}
	})
}

// A standby that takes over from a stuck process, while that is being replaced, is not stuck itself: it stays, whatever
// becomes of the replacement.
func TestStandbyTakesOverFromAStuckProcess(t *testing.T) {
	for name, third := range map[string]error{"replacement fails": context.DeadlineExceeded, "replacement starts": nil} {
		t.Run(name, func(t *testing.T) {
			withFakeStandby(t, []error{nil, nil, third}, func(t *testing.T, p *Process, a *fakeProcess, _ string) {
				first := p.running()
				time.Sleep(2 * standbyDelay)
				synctest.Wait()
				begun, release := make(chan int, 9), make(chan struct{})
				a.before = func(number int) { begun <- number; <-release }
				getStuck(p, first)
				if number := <-begun; number != 3 {
					t.Fatalf("start %d replaces the stuck process", number)
				}
				first.end()
				synctest.Wait()
				second := p.running()
				if second == nil || second.number != 2 {
					t.Fatalf("the standby has not taken over: %+v", p.Status())
				}
				close(release)
				synctest.Wait()
				if s := p.Status(); s.State != Ready || s.Generation != 2 || s.Crashes != 2 || p.running() != second {
					t.Errorf("after the end of the other start: %+v", s)
				}
				if third != nil {
					return
				}
				a.live.end()
				synctest.Wait()
				if !isClosed(a.live.released) {
					t.Error("the replacement, which is not needed, is kept")
				}
			})
		})
	}
}
