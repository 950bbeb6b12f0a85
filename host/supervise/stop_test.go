//go:build unix

package supervise

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

func init() {
	fixtures["halves"] = func() { socketAnd(cutFrame) }
	fixtures["hoards"] = func() { signal.Ignore(syscall.SIGTERM); leaveBehind(os.Stdout); ignoreSignals() }
}

// cutFrame serves well until its tool wait has reported that it waits: then it sends half an HTTP/2 frame, and nothing
// more. Only SIGKILL ends it.
func cutFrame(lis net.Listener) {
	signal.Ignore(syscall.SIGTERM)
	p := sdk.New("halves", "1")
	sdk.AddTool(p, sdk.Tool{Name: "wait", Description: "waits"}, waitTool)
	_ = sdktest.ServeListener(context.Background(), p, cutting{lis})
}

type cutting struct{ net.Listener }

func (l cutting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return cut{c}, err
}

type cut struct{ net.Conn }

func (c cut) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if bytes.Contains(p, []byte("waiting")) {
		_, _ = c.Conn.Write([]byte{0, 0x40, 0, 0, 0, 0, 0, 0, 1, 'x'})
		forever()
	}
	return n, err
}

// closes ends the plugin, checks that it took no longer than allowed, and that nothing is left of it.
func closes(t *testing.T, p *Process) {
	t.Helper()
	pid, began := p.Status().PID, time.Now()
	_ = p.Close()
	if took := time.Since(began); took > slack*stopTime {
		t.Errorf("closing took %s", took)
	}
	if pid != 0 && alive(pid) {
		t.Error("the process is still there")
	}
	if s := p.Status(); s.State != Stopped || s.PID != 0 || s.Calls != 0 || s.Draining != 0 {
		t.Errorf("status: %+v", s)
	}
}

// In any state, a plugin ends in time, and its calls are answered at once.
func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		role string
		then func(t *testing.T, p *Process)
	}{
		"serving":              {"good", nil},
		"stopped":              {"good", func(t *testing.T, p *Process) { stop(t, p.Status().PID) }},
		"stopped and deaf":     {"deaf", func(t *testing.T, p *Process) { stop(t, p.Status().PID) }},
		"deaf to SIGTERM":      {"deaf", nil},
		"in half a frame":      {"halves", nil},
		"with its pipes held":  {"hoards", nil},
		"killed while it ends": {"deaf", func(t *testing.T, p *Process) { go kill(p, Draining) }},
		"killed just before": {"good",
			func(t *testing.T, p *Process) { _ = syscall.Kill(p.Status().PID, syscall.SIGKILL) }},
		"while the old drains": {"deaf", func(t *testing.T, p *Process) {
			mustReload(t, p, fixture("x", "deaf"))
			begin(t, t.Context(), p, "deaf")
		}},
		"while a reload starts": {"good", func(t *testing.T, p *Process) { go p.Reload(t.Context(), fixture("x", "mute")) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := add(t, supervisor(t), fixture("x", c.role))
			ended := begin(t, t.Context(), p, "deaf")
			if c.then != nil {
				c.then(t, p)
			}
			began := time.Now()
			go p.Close()
			err := <-ended
			if took := time.Since(began); took > slack*time.Second {
				t.Errorf("the call had its answer after %s", took)
			}
			if code := sdk.CodeOf(err); code != sdk.CodeCanceled &&
				(code != sdk.CodePluginCrashed || name != "killed just before") {
				t.Errorf("the call: %v", err)
			}
			closes(t, p)
			_, err = call(t, p, "wait", "")
			checkError(t, err, sdk.CodePluginUnavailable, "closed")
		})
	}
}

// kill ends the process as soon as the plugin is in the state.
func kill(p *Process, in State) {
	pid := p.Status().PID
	for p.Status().State != in && !isClosed(p.done) {
		<-time.After(time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// A plugin that takes no calls ends in time too, and those who wait for it get an error.
func TestCloseWithoutAProcess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		role string
		in   State
	}{
		"never started":           {"good", Known},
		"starting, silent":        {"silent", Starting},
		"starting, half a line":   {"half", Starting},
		"starting, stopped":       {"stopped", Starting},
		"starting, mute":          {"mute", Starting},
		"starting, socket shared": {"bequeaths", Starting},
		"crashed":                 {"exits", Crashed},
		"in backoff":              {"exits", Backoff},
		"quarantined":             {"exits", Quarantined},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := fixture("x", c.role)
			spec.Restart = Restart{MaxCrashes: 2, Backoff: time.Minute, BackoffMax: time.Minute}
			spec.StartTimeout = time.Minute
			if c.in == Quarantined {
				spec.Restart.Backoff, spec.Restart.BackoffMax = time.Nanosecond, time.Nanosecond
			}
			p := add(t, supervisor(t), spec)
			ended := make(chan error, 1)
			if c.in == Starting {
				go func() { _, err := call(t, p, "echo", ""); ended <- err }()
			}
			soon(t, string(c.in), patience, func() bool {
				if c.in != Known && c.in != Starting {
					_, _ = call(t, p, "echo", "")
				}
				return p.Status().State == c.in
			})
			closes(t, p)
			if c.in == Starting {
				checkError(t, <-ended, sdk.CodePluginUnavailable, "closed")
			}
		})
	}
}

// A process that has ended is distinguished from one that continues, also when its launcher takes long to report it.
func TestDeathBeforeItIsReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		dies   bool
	}{"ends": {"exit 3", true}, "goes on": {"read line", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("/bin/sh", "-c", c.script)
			in := must(cmd.StdinPipe())
			check(t, cmd.Start())
			defer func() { _ = in.Close(); _ = cmd.Wait() }()
			g := &generation{child: &child{handle: must(os.FindProcess(cmd.Process.Pid)), treeEnded: make(chan struct{})}}
			if knows := g.child.handle.WithHandle(func(uintptr) {}) == nil; !knows {
				c.dies = false // the kernel does not report it
			}
			soon(t, "it has ended", patience, func() bool { return g.child.kernelReportsEnd() == c.dies })
			if c.dies {
				defer time.AfterFunc(exitDelay+exitDelay/4, func() { close(g.child.treeEnded) }).Stop()
			}
			if got := g.awaitTreeEnd(); got != c.dies {
				t.Errorf("it has ended: %t, want %t", got, c.dies)
			}
		})
	}
}

// Concurrent and repeated calls of Close wait for the same end.
func TestCloseManyTimes(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	p := add(t, s, fixture("x", "good"))
	mustCall(t, p, "echo", "")
	pid := p.Status().PID
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			_ = p.Close()
			if alive(pid) || p.Status().State != Stopped {
				t.Error("a Close returned before the end")
			}
		})
		wg.Go(func() { _ = s.Close() })
	}
	wg.Wait()
	closes(t, p)
}

// A removed plugin with running calls does not delay the supervisor's end.
func TestCloseDuringARemoval(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	p := add(t, s, fixture("x", "deaf"))
	ended := begin(t, t.Context(), p, "deaf")
	if problems := s.Reload(t.Context(), nil); len(problems) > 0 {
		t.Fatal(problems)
	}
	soon(t, "draining", patience, func() bool { return p.Status().State == Draining })
	began := time.Now()
	_ = s.Close()
	if took := time.Since(began); took > slack*stopTime {
		t.Errorf("closing took %s", took)
	}
	checkError(t, <-ended, sdk.CodeCanceled, "closed")
	closes(t, p)
	if problems := s.Reload(t.Context(), nil); len(problems) != 1 {
		t.Errorf("a closed supervisor is reloaded: %v", problems)
	}
}

func init() {
	fixtures["tidies up"] = func() {
		p := goodPlugin()
		p.AtEnd(func() { _ = os.WriteFile(os.Getenv("TIDIED"), nil, 0o600) })
		sdk.Serve(p)
	}
}

// A plugin that is replaced, or closed, may first end by itself, and clean up.
func TestPluginsEndByThemselves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tidying := func(name string) Spec {
		spec := fixture("x", "tidies up")
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

// A running call ends in the process that it began in, while new calls go to the new one.
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

// The crash of an old process fails its calls and changes nothing else.
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
				if e, _ := errors.AsType[*sdk.Error](err); e == nil || !strings.Contains(e.Suggestion, "before you repeat it") {
					t.Errorf("no advice: %#v", err)
				}
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

// Calls in a plugin that is closed are ended at once, not when its process has ended.
func TestClosingEndsCallsFirst(t *testing.T) {
	withFakeProcess(t, nil, func(t *testing.T, p *Process, a *fakeProcess) {
		v := must(p.beginCall(t.Context(), new(time.Duration)))
		defer v.end()
		go p.Close()
		synctest.Wait()
		if !v.stopped() || isClosed(p.done) {
			t.Errorf("the call is let go: %t; the plugin has ended: %t", v.stopped(), isClosed(p.done))
		}
	})
}

// The calls of a replaced process have the time of the longest of them, up to a limit.
func TestTimeToDrain(t *testing.T) {
	const none, limit = time.Duration(0), time.Hour
	for name, c := range map[string]struct {
		calls []time.Duration // until their deadlines
		want  time.Duration
	}{
		"no call":          {nil, 0},
		"a deadline":       {[]time.Duration{time.Minute}, time.Minute + exitDelay},
		"the last of many": {[]time.Duration{time.Second, time.Minute, time.Millisecond}, time.Minute + exitDelay},
		"no deadline":      {[]time.Duration{none}, limit},
		"one without":      {[]time.Duration{time.Minute, none, time.Second}, limit},
		"a late one":       {[]time.Duration{2 * limit}, limit},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // with fake time
				s := newInFlightCalls()
				for _, left := range c.calls {
					ctx, cancel := t.Context(), context.CancelFunc(func() {})
					if left != none {
						ctx, cancel = context.WithTimeout(ctx, left)
					}
					defer cancel()
					s.add(&inFlightCall{ctx: ctx})
				}
				if empty, longest := s.close(limit); longest != c.want || isClosed(empty) != (len(c.calls) == 0) {
					t.Errorf("they have %s, want %s; there are none: %t", longest, c.want, isClosed(empty))
				}
			})
		})
	}
}

// A plugin that is closed ends within the time of one stop, also when neither its process nor the previous ones end.
func TestClosingStopsAllAtOnce(t *testing.T) {
	withFakeProcess(t, nil, func(t *testing.T, p *Process, a *fakeProcess) {
		for _, version := range []string{"1", "2", "3"} {
			spec := fixture("x", "good")
			spec.Env["VERSION"] = version
			mustReload(t, p, spec)
			v := must(p.beginCall(t.Context(), new(time.Duration)))
			defer v.end()
			v.generation.child.over, v.generation.child.killAll = true, func() {} // no signal ends it
		}
		began := time.Now()
		_ = p.Close()
		if took := time.Since(began); took != stopTime || p.Status().State != Stopped {
			t.Errorf("closing took %s, and it is %s", took, p.Status().State)
		}
	})
}

// A cache on a file system that hangs does not keep the host from ending.
func TestCloseDoesNotWaitForTheCache(t *testing.T) {
	dir := shortDir(t)
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{RunDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		hangs := make(chan struct{})
		defer close(hangs)
		s.storing.Go(func() { <-hangs })
		began := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != storeTime {
			t.Errorf("closing took %s", took)
		}
	})
}
