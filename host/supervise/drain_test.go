package supervise

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

func init() {
	plays["tidies up"] = func() {
		p := goodPlugin()
		p.AtEnd(func() { _ = os.WriteFile(os.Getenv("TIDIED"), nil, 0o600) })
		sdk.Serve(p)
	}
}

// A plugin that is replaced, or closed, may end by itself first, and do what it has to.
func TestPluginsEndByThemselves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tidying := func(name string) Spec {
		spec := playing("x", "tidies up")
		spec.Env["TIDIED"] = filepath.Join(dir, name)
		return spec
	}
	p := add(t, supervisor(t), tidying("replaced"))
	mustCall(t, p, "echo", "")
	mustReload(t, p, tidying("closed"))
	soon(t, "the old process has ended", patience, func() bool { return p.Status().Draining == 0 })
	_ = p.Close()
	for _, name := range []string{"replaced", "closed"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("what it does at its end is not done: %v", err)
		}
	}
}

// A call that runs ends in the process that it began in, while new calls go to the new one.
func TestReloadDrains(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), counting("1"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := begin(t, ctx, p, "")
	old := p.Status().PID
	mustReload(t, p, counting("2"))
	if got := mustCall(t, p, "count", ""); got != "2" {
		t.Errorf("version %s answers", got)
	}
	if s := p.Status(); s.Draining != 1 || s.Calls != 1 || s.PID == old || !alive(old) {
		t.Errorf("while the old call runs: %+v", s)
	}
	cancel()
	checkError(t, <-ended, sdk.CodeCanceled)
	soon(t, "the old process ends", patience, func() bool { return p.Status().Draining == 0 && !alive(old) })
}

// The crash of an old process is told to its calls and changes nothing else.
func TestCrashWhileDraining(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), counting("1"))
	ended := begin(t, t.Context(), p, "")
	old := p.Status().PID
	mustReload(t, p, counting("2"))
	_ = syscall.Kill(old, syscall.SIGKILL)
	checkError(t, <-ended, sdk.CodePluginCrashed, "SIGKILL")
	soon(t, "it is forgotten", patience, func() bool { return p.Status().Draining == 0 })
	if s := p.Status(); s.State != Ready || s.Crashes != 0 || s.LastError != "" || s.Generation != 2 {
		t.Errorf("status: %+v", s)
	}
}

// An old process gets no more time than the spec or its calls' deadlines allow.
func TestDrainEnds(t *testing.T) {
	t.Parallel()
	for name, byDeadline := range map[string]bool{"by the spec": false, "by the deadline": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := add(t, supervisor(t), counting("1"))
			mustCall(t, p, "count", "")
			ctx := lateIn(t)
			ended := begin(t, ctx, p, "deaf")
			old := p.Status().PID
			_ = syscall.Kill(old, syscall.SIGSTOP)
			spec := counting("2")
			if !byDeadline {
				spec.DrainTimeout = 100 * time.Millisecond
			}
			mustReload(t, p, spec)
			if byDeadline {
				ctx.pass()
				checkError(t, <-ended, sdk.CodeTimeout)
			} else {
				err := <-ended
				checkError(t, err, sdk.CodeCanceled, "reloaded or removed")
				checkOutcome(t, err, sdk.OutcomeUnknown)
			}
			soon(t, "the old process ends", patience, func() bool { return p.Status().Draining == 0 && !alive(old) })
			if s := p.Status(); s.State != Ready || s.Crashes != 0 {
				t.Errorf("status: %+v", s)
			}
		})
	}
}

// Calls that never end cannot be used to pile up processes.
func TestTooManyOldProcesses(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), counting("1"))
	for range maxDraining {
		begin(t, t.Context(), p, "")
		mustReload(t, p, counting("1"))
	}
	checkError(t, p.Reload(t.Context(), counting("2")), sdk.CodePluginUnavailable, "still have calls")
}

// Calls in a plugin that is closed are let go at once, and not when its process has ended.
func TestClosingLetsCallsGoFirst(t *testing.T) {
	play(t, nil, func(t *testing.T, p *Process, a *actor) {
		v := must(p.enter(t.Context()))
		defer v.leave()
		go p.Close()
		synctest.Wait()
		if !v.cut() || isClosed(p.done) {
			t.Errorf("the call is let go: %t; the plugin has ended: %t", v.cut(), isClosed(p.done))
		}
	})
}

// The calls of a process that is replaced have the time of the longest of them, and a limit.
func TestTimeToDrain(t *testing.T) {
	const none, limit = time.Duration(0), time.Hour
	for name, c := range map[string]struct {
		calls []time.Duration // until their deadlines
		want  time.Duration
	}{
		"no call":          {nil, 0},
		"a deadline":       {[]time.Duration{time.Minute}, time.Minute + settle},
		"the last of many": {[]time.Duration{time.Second, time.Minute, time.Millisecond}, time.Minute + settle},
		"no deadline":      {[]time.Duration{none}, limit},
		"one without":      {[]time.Duration{time.Minute, none, time.Second}, limit},
		"a late one":       {[]time.Duration{2 * limit}, limit},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // where no time passes
				var s visits
				for _, left := range c.calls {
					ctx, cancel := t.Context(), context.CancelFunc(func() {})
					if left != none {
						ctx, cancel = context.WithTimeout(ctx, left)
					}
					defer cancel()
					s.add(&visit{ctx: ctx})
				}
				if empty, longest := s.close(limit); longest != c.want || isClosed(empty) != (len(c.calls) == 0) {
					t.Errorf("they have %s, want %s; there are none: %t", longest, c.want, isClosed(empty))
				}
			})
		})
	}
}

// A plugin that is closed ends within the time of one stop, also when neither its process nor those before it do.
func TestClosingStopsAllAtOnce(t *testing.T) {
	play(t, nil, func(t *testing.T, p *Process, a *actor) {
		for _, version := range []string{"1", "2", "3"} {
			spec := playing("x", "good")
			spec.Env["VERSION"] = version
			mustReload(t, p, spec)
			v := must(p.enter(t.Context()))
			defer v.leave()
			v.generation.child.over, v.generation.child.end = true, func() {} // no signal ends it
		}
		began := time.Now()
		_ = p.Close()
		if took := time.Since(began); took != stopTime || p.Status().State != Stopped {
			t.Errorf("closing took %s, and it is %s", took, p.Status().State)
		}
	})
}
