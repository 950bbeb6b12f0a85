package supervise

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

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
	soon(t, "the old process ends", 5*time.Second, func() bool { return p.Status().Draining == 0 && !alive(old) })
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
	soon(t, "it is forgotten", 5*time.Second, func() bool { return p.Status().Draining == 0 })
	if s := p.Status(); s.State != Ready || s.Crashes != 0 || s.LastError != "" || s.Generation != 2 {
		t.Errorf("status: %+v", s)
	}
}

// An old process gets no more time than the spec or its calls' deadlines allow.
func TestDrainEnds(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]struct{ spec, call time.Duration }{
		"by the spec":     {100 * time.Millisecond, time.Hour},
		"by the deadline": {time.Hour, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := add(t, supervisor(t), counting("1"))
			mustCall(t, p, "count", "")
			ctx, cancel := context.WithTimeout(t.Context(), limit.call)
			defer cancel()
			ended := begin(t, ctx, p, "deaf")
			old := p.Status().PID
			_ = syscall.Kill(old, syscall.SIGSTOP)
			spec := counting("2")
			spec.DrainTimeout = limit.spec
			mustReload(t, p, spec)
			err := <-ended
			if limit.call > time.Minute {
				checkError(t, err, sdk.CodeCanceled, "reloaded or removed")
				checkOutcome(t, err, sdk.OutcomeUnknown)
			} else {
				checkError(t, err, sdk.CodeTimeout)
			}
			soon(t, "the old process ends", stopTime+2*time.Second, func() bool { return p.Status().Draining == 0 && !alive(old) })
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
