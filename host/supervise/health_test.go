//go:build unix

package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/toolhost/toolhost/sdk"
)

func init() {
	fixtures["unwell"] = func() { socketAnd(unresponsive) }
}

// unresponsive leaves calls unanswered, answers everything else with empty messages, and has its own health service.
func unresponsive(lis net.Listener) {
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }() // its lifeline
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if method, _ := grpc.MethodFromServerStream(stream); strings.HasSuffix(method, "/Call") {
			_ = mark(os.Getenv("CALLED"))
			<-stream.Context().Done()
		} else if strings.HasSuffix(method, "/Overdue") {
			return overdueOf(stream)
		}
		return stream.SendMsg(&emptypb.Empty{})
	}))
	healthpb.RegisterHealthServer(s, &probeRecorder{})
	_ = s.Serve(lis)
}

// A probeRecorder records each probe in the file ASKED, and answers as HEALTH says.
type probeRecorder struct {
	healthpb.UnimplementedHealthServer
}

func (probeRecorder) Check(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	first := size(os.Getenv("ASKED")) == 0
	_ = mark(os.Getenv("ASKED"))
	switch how := os.Getenv("HEALTH"); {
	case how == "none":
		return nil, status.Error(codes.Unimplemented, "no such service")
	case how == "not serving":
		return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_NOT_SERVING}, nil
	case how == "silent", how == "silent once" && first:
		forever() // also past the probe's deadline, which may pass here a moment earlier than in the host
	case how == "held":
		for size(os.Getenv("GO")) == 0 && ctx.Err() == nil {
			<-time.After(time.Millisecond)
		}
	}
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

func size(path string) int {
	text, _ := os.ReadFile(path)
	return len(text)
}

// A sickPlugin is such a plugin with calls in flight that the test cancels.
type sickPlugin struct {
	*Process
	asked, called, held string // files
	ended               chan error
}

func (s *sickPlugin) call(t *testing.T, ctx context.Context) {
	t.Helper()
	before := size(s.called)
	go func() { _, err := s.Call(ctx, request("any", "")); s.ended <- err }()
	soon(t, "the plugin has the call", patience, func() bool { return size(s.called) > before })
}

func startSick(t *testing.T, health string, env ...string) *sickPlugin {
	t.Helper()
	dir := t.TempDir()
	s := &sickPlugin{asked: filepath.Join(dir, "asked"), called: filepath.Join(dir, "called"),
		held:  filepath.Join(dir, "go"),
		ended: make(chan error, 20)}
	spec := fixture("sick", "unwell")
	spec.Env["HEALTH"], spec.Env["ASKED"], spec.Env["CALLED"], spec.Env["GO"] = health, s.asked, s.called, s.held
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		spec.Env[name] = value
	}
	s.Process = add(t, supervisor(t), spec)
	return s
}

// After an abandoned call the plugin is probed: it is killed only when it does not answer and, when other calls run
// in it, only after three probes.
func TestAbandonedCallAsksForHealth(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		health string
		others int
		asked  int
		killed bool
	}{
		"serving":                     {"serving", 0, 1, false},
		"no such service":             {"none", 0, 1, false},
		"not serving":                 {"not serving", 0, 1, true},
		"silent":                      {"silent", 0, 1, true},
		"silent once":                 {"silent once", 0, 1, true},
		"silent, beside a call":       {"silent", 1, maxMissedProbes, true},
		"silent once, beside a call":  {"silent once", 1, 2, false},
		"not serving, beside a call":  {"not serving", 1, maxMissedProbes, true},
		"serving, beside other calls": {"serving", 3, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startSick(t, c.health)
			ctx, giveUp := context.WithCancel(t.Context())
			p.call(t, ctx)
			for range c.others {
				p.call(t, t.Context())
			}
			g, err := p.acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			giveUp()
			checkError(t, <-p.ended, sdk.CodeCanceled)
			awaitVerdict(t, g)
			if n := size(p.asked); n != c.asked {
				t.Errorf("asked %d times, want %d", n, c.asked)
			}
			if c.killed {
				soon(t, "it is killed", patience,
					func() bool { return strings.Contains(p.Status().LastError, "no longer answered") })
				for range c.others {
					checkError(t, <-p.ended, sdk.CodePluginCrashed)
				}
			} else if s := p.Status(); s.State != Ready || s.Generation != 1 || s.Calls != c.others {
				t.Errorf("status: %+v", s)
			}
		})
	}
}

// Two calls that are abandoned at once cause one health check.
func TestOneCheckForCallsAbandonedAtOnce(t *testing.T) {
	t.Parallel()
	p := startSick(t, "held")
	ctx, giveUp := context.WithCancel(t.Context())
	for range 5 {
		p.call(t, ctx)
	}
	giveUp()
	for range 5 {
		checkError(t, <-p.ended, sdk.CodeCanceled)
	}
	soon(t, "it is asked", patience, func() bool { return size(p.asked) > 0 })
	if err := mark(p.held); err != nil {
		t.Fatal(err)
	}
	g, _ := p.acquire(t.Context())
	awaitVerdict(t, g)
	if n := size(p.asked); n != 1 || p.Status().State != Ready {
		t.Errorf("asked %d times, %+v", n, p.Status())
	}
}

// awaitVerdict waits for the end of the running health check.
func awaitVerdict(t *testing.T, g *generation) {
	t.Helper()
	g.health.mu.Lock()
	end := g.health.done
	g.health.mu.Unlock()
	select {
	case <-end:
	case <-time.After(patience):
		t.Fatal("the question has no end")
	}
}

// stop stops the plugin and waits until all its threads have stopped.
func stop(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	awaitStopped(t, pid)
}

// awaitStopped waits until all threads of a process have stopped.
func awaitStopped(t *testing.T, pid int) {
	t.Helper()
	soon(t, "it is stopped", patience, func() bool {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, task := range tasks {
			if stat, err := os.ReadFile(task); err == nil && !strings.Contains(string(stat), ") T ") {
				return false
			}
		}
		return len(tasks) > 0
	})
}

// agePlugin makes the plugin look idle for an hour.
func agePlugin(t *testing.T, p *Process) {
	t.Helper()
	g, err := p.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g.calls.mu.Lock()
	defer g.calls.mu.Unlock()
	g.calls.lastAnswer = time.Now().Add(-time.Hour)
}

// A plugin that stopped while idle loses no call: it is detected before the next one, however many come at once.
func TestStoppedWhileIdle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := add(t, supervisor(t), counting("1", "DIR="+dir))
	mustCall(t, p, "count", "")
	stop(t, p.Status().PID)
	agePlugin(t, p)
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			r := &sdk.Request{CallID: fmt.Sprint("id", i), Tool: "count", Arguments: []byte(`{}`), Workdir: "/"}
			if _, err := p.Call(t.Context(), r); err != nil || size(filepath.Join(dir, r.CallID)) != 1 {
				t.Errorf("%v, run %d times", err, size(filepath.Join(dir, r.CallID)))
			}
		})
	}
	wg.Wait()
	if s := p.Status(); s.Generation != 2 || s.Crashes != 1 {
		t.Errorf("status: %+v", s)
	}
}

// A caller who gives up while an idle plugin is probed is no reason to kill it.
func TestCanceledWhileAnIdlePluginIsProbed(t *testing.T) {
	t.Parallel()
	p := startSick(t, "held")
	g, err := p.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	agePlugin(t, p.Process)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, err := p.Call(ctx, request("any", "")); p.ended <- err }()
	soon(t, "it is asked", patience, func() bool { return size(p.asked) == 1 })
	cancel()
	checkError(t, <-p.ended, sdk.CodeCanceled)
	if err := mark(p.held); err != nil {
		t.Fatal(err)
	}
	awaitVerdict(t, g)
	if s := p.Status(); s.State != Ready || s.Generation != 1 || size(p.asked) != 1 || size(p.called) != 0 {
		t.Errorf("asked %d times, called %d times, %+v", size(p.asked), size(p.called), s)
	}
}

// A plugin is not probed because of a long call, nor while it is idle.
func TestLongCallsAreNotProbed(t *testing.T) {
	t.Parallel()
	p := startSick(t, "silent")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.call(t, ctx)
	agePlugin(t, p.Process)
	p.call(t, ctx)
	if n := size(p.asked); n != 0 {
		t.Errorf("asked %d times", n)
	}
}

func init() {
	fixtures["lingers"] = func() {
		p := goodPlugin()
		sdk.AddTool(p, sdk.Tool{Name: "linger", Description: "for tests"},
			func(ctx context.Context, r *sdk.Request, in textArgs) (*sdk.Result, error) {
				r.Progress(0, 0, "waiting")
				<-ctx.Done()
				for size(in.Text) == 0 {
					<-time.After(time.Millisecond)
				}
				return nil, ctx.Err()
			})
		sdk.Serve(p)
	}
}

// overdueOf answers for unwell how many handlers still run: as OVERDUE says, recorded in the file COUNTED.
func overdueOf(stream grpc.ServerStream) error {
	_ = mark(os.Getenv("COUNTED"))
	m := &emptypb.Empty{}
	switch how := os.Getenv("OVERDUE"); how {
	case "none":
		return status.Error(codes.Unimplemented, "unknown method Overdue")
	case "silent":
		forever()
	case "lies", "overtaken":
		handlers := uint64(1 << 40)
		if how == "overtaken" { // the first questions come before the cancellation of the one call
			handlers = 1
			if size(os.Getenv("COUNTED")) <= 3 {
				handlers = 0
			}
		}
		b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), handlers)
		m.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), handlers))
	}
	return stream.SendMsg(m)
}

// often makes handlers overdue from the end of their calls on.
var often = overdueLimits{interval: 5 * time.Millisecond, settle: 2 * time.Second, most: maxOverdue}

// leave makes calls of a tool that has its own way of ending, and cancels them when all of them run.
func leave(t *testing.T, p *Process, n int, tool, text string) {
	t.Helper()
	ctx, giveUp := context.WithCancel(t.Context())
	var ended []<-chan error
	for range n {
		ended = append(ended, beginTool(t, ctx, p, tool, text))
	}
	giveUp()
	for _, e := range ended {
		checkError(t, <-e, sdk.CodeCanceled)
	}
}

// counted waits until the plugin is no longer asked.
func counted(t *testing.T, g *generation) {
	t.Helper()
	soon(t, "it is asked no more", patience, func() bool {
		g.abandoned.mu.Lock()
		defer g.abandoned.mu.Unlock()
		return !g.abandoned.counting
	})
}

// A plugin that ignores 300 cancellations is stuck, and is replaced with all that it started. Other calls in it
// continue, and no other plugin notices.
func TestIgnoredCancellations(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	events := s.Events(t.Context())
	p, beside := add(t, s, fixture("good", "good")), add(t, s, fixture("beside", "good"))
	p.overdue, beside.overdue = often, often
	before := mustCall(t, beside, "pid", "")
	running := begin(t, t.Context(), beside, "")
	var child int
	must(fmt.Sscan(mustCall(t, p, "child", ""), &child))
	old := p.Status().PID
	ctx, giveUp := context.WithCancel(t.Context())
	other := begin(t, ctx, p, "")
	leave(t, p, 300, "wait", "deaf")
	soon(t, "it is replaced", patience, func() bool { s := p.Status(); return s.State == Ready && s.Generation == 2 })
	if s := p.Status(); s.Restarts != 1 || s.Crashes != 1 || s.Draining != 1 || s.Overdue != 0 ||
		!strings.Contains(s.Reason, "canceled or timed out did not end in it") {
		t.Errorf("status: %+v", s)
	}
	if mustCall(t, p, "echo", "served") != "served" || !alive(old) || len(other) > 0 {
		t.Error("the other call did not go on in the old process")
	}
	giveUp()
	checkError(t, <-other, sdk.CodeCanceled)
	soon(t, "the old process and its child have ended", patience,
		func() bool { return p.Status().Draining == 0 && !alive(old) && !alive(child) })
	if s := beside.Status(); mustCall(t, beside, "pid", "") != before || s.Generation != 1 || s.Overdue != 0 ||
		len(running) > 0 {
		t.Errorf("the plugin beside it: %+v", s)
	}
	var reported []State
	for len(reported) == 0 || reported[len(reported)-1] != Stuck {
		if e := <-events; e.Plugin == "good" {
			reported = append(reported, e.To)
			if e.To == Stuck && (!strings.Contains(e.Reason, "did not end in it") || e.From != Ready || e.Generation != 1) {
				t.Errorf("the event: %+v", e)
			}
		}
	}
}

// Other calls in a stuck process have a bounded time, and an error that says why it ended.
func TestStuckProcessEnds(t *testing.T) {
	t.Parallel()
	spec := fixture("good", "good")
	spec.DrainTimeout = 50 * time.Millisecond
	p := add(t, supervisor(t), spec)
	p.overdue = often
	other := begin(t, t.Context(), p, "deaf")
	old := p.Status().PID
	leave(t, p, maxOverdue+1, "wait", "deaf")
	err := <-other
	checkError(t, err, sdk.CodeCanceled, `plugin "good" was restarted`, "did not end in it", "ran out of time")
	checkOutcome(t, err, sdk.OutcomeUnknown)
	soon(t, "the old process has ended", patience, func() bool { return p.Status().Draining == 0 && !alive(old) })
}

// Handlers up to the limit are counted and shown, and forgotten when they end.
func TestOverdueHandlersAreShown(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "go")
	p := add(t, supervisor(t), fixture("lingers", "lingers"))
	p.overdue = often
	leave(t, p, maxOverdue, "linger", release)
	soon(t, "they are shown", patience, func() bool { return p.Status().Overdue == maxOverdue })
	g := must(p.acquire(t.Context()))
	check(t, mark(release))
	soon(t, "they are forgotten", patience, func() bool { return p.Status().Overdue == 0 })
	counted(t, g)
	if s := p.Status(); s.State != Ready || s.Generation != 1 || s.Crashes != 0 {
		t.Errorf("status: %+v", s)
	}
}

// Handlers that end slightly late do not count, however many they are.
func TestHandlersThatEndALittleLate(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "go")
	p := add(t, supervisor(t), fixture("lingers", "lingers"))
	p.overdue = often
	p.overdue.after = time.Hour
	leave(t, p, 3*maxOverdue, "linger", release)
	g := must(p.acquire(t.Context()))
	soon(t, "all have heard that their calls are canceled", patience, func() bool {
		handlers, late, err := g.client.Overdue(t.Context(), p.overdue.after)
		if late != 0 || err != nil {
			t.Errorf("%d handlers, %d of them late, %v", handlers, late, err)
		}
		return handlers == 3*maxOverdue
	})
	check(t, mark(release))
	counted(t, g)
	if s := p.Status(); s.State != Ready || s.Generation != 1 || s.Overdue != 0 || s.Crashes != 0 {
		t.Errorf("status: %+v", s)
	}
}

// A plugin without the sdk may be unable to count, may lie, or leave the question unanswered: none of that ends a
// healthy plugin. A question that overtakes a cancellation is asked again.
func TestPluginsThatCannotCount(t *testing.T) {
	t.Parallel()
	for how, c := range map[string]struct{ calls, overdue, asked int }{
		"none":      {maxOverdue + 1, 0, 1},
		"silent":    {maxOverdue + 1, 0, maxMissedProbes},
		"overtaken": {1, 1, -1},
		"lies":      {maxOverdue, maxOverdue, -1}, // it cannot have more of them than abandoned calls
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "counted")
			p := startSick(t, "serving", "OVERDUE="+how, "COUNTED="+file)
			p.overdue = often
			ctx, giveUp := context.WithCancel(t.Context())
			for range c.calls {
				p.call(t, ctx)
			}
			g := must(p.acquire(t.Context()))
			giveUp()
			for range c.calls {
				checkError(t, <-p.ended, sdk.CodeCanceled)
			}
			if c.asked < 0 {
				soon(t, "it is believed so far", patience, func() bool { return p.Status().Overdue == c.overdue })
			} else {
				counted(t, g)
				if n := size(file); n != c.asked {
					t.Errorf("asked %d times, want %d", n, c.asked)
				}
			}
			if s := p.Status(); s.State != Ready || s.Generation != 1 || s.Overdue != c.overdue {
				t.Errorf("status: %+v", s)
			}
			if how == "none" {
				ctx, giveUp = context.WithCancel(t.Context())
				p.call(t, ctx)
				giveUp()
				checkError(t, <-p.ended, sdk.CodeCanceled)
				counted(t, g)
				if n := size(file); n != 1 {
					t.Errorf("asked %d times", n)
				}
			}
		})
	}
}

// A plugin that is stuck repeatedly waits longer for its next process, and ends in quarantine, like one that crashes.
func TestStuckAgainAndAgain(t *testing.T) {
	withFakeProcess(t, nil, func(t *testing.T, p *Process, a *fakeProcess) {
		for i := range Defaults.Restart.MaxCrashes {
			g := must(p.acquire(t.Context()))
			getStuck(p, g)
			// the first is replaced at once
			if s := p.Status(); i > 0 && (s.State != Stuck || s.Generation != g.number) || s.Crashes != i+1 {
				t.Fatalf("stuck for the %d. time: %+v", i+1, s)
			}
			if again := must(p.acquire(t.Context())); i > 0 && again != g {
				t.Error("it takes no calls meanwhile")
			}
			time.Sleep(2 * time.Second)
			if s := p.Status(); s.State != Ready || s.Generation != g.number+1 || s.Restarts != i+1 {
				t.Fatalf("replaced for the %d. time: %+v", i+1, s)
			}
		}
		g := must(p.acquire(t.Context()))
		getStuck(p, g)
		_, err := p.acquire(t.Context())
		checkError(t, err, sdk.CodePluginUnavailable, "quarantined for another", "did not end in it")
		if s := p.Status(); s.State != Quarantined || s.Draining == 0 {
			t.Errorf("stuck once too often: %+v", s)
		}
	})
}

// A stuck process stays in use when no other can be started, until there were too many tries.
func TestStuckWithoutReplacement(t *testing.T) {
	bad := errors.New("bad")
	withFakeProcess(t, []error{nil, bad, bad, bad, bad, bad, bad}, func(t *testing.T, p *Process, a *fakeProcess) {
		g := must(p.acquire(t.Context()))
		getStuck(p, g)
		if s := p.Status(); s.State != Stuck || s.Generation != 1 || s.Crashes != 2 ||
			!strings.Contains(s.LastError, "bad") || must(p.acquire(t.Context())) != g {
			t.Errorf("while it goes on: %+v", s)
		}
		time.Sleep(10 * time.Second)
		if s := p.Status(); s.State != Quarantined {
			t.Errorf("at the end: %+v", s)
		}
	})
}

// Without a drain_timeout, calls have a minute in a stuck process.
func TestTimeInAStuckProcess(t *testing.T) {
	withFakeProcess(t, nil, func(t *testing.T, p *Process, a *fakeProcess) {
		v := must(p.beginCall(t.Context(), new(time.Duration)))
		defer v.end()
		began := time.Now()
		getStuck(p, v.generation)
		if <-v.generation.calls.life.Done(); !v.stopped() || time.Since(began) != stuckDrain {
			t.Errorf("it is cut: %t, after %s", v.stopped(), time.Since(began))
		}
	})
}

// A process that died or was replaced meanwhile is not stuck.
func TestStuckTooLate(t *testing.T) {
	withFakeProcess(t, nil, func(t *testing.T, p *Process, a *fakeProcess) {
		first := must(p.acquire(t.Context()))
		a.crash()
		second := must(p.acquire(t.Context()))
		getStuck(p, first)
		if s := p.Status(); s.State != Ready || s.Generation != second.number || s.Crashes != 1 {
			t.Errorf("status: %+v", s)
		}
	})
}

// getStuck reports that a generation has too many overdue handlers.
func getStuck(p *Process, g *generation) {
	g.child.over, g.child.killAll = true, func() {} // no signal ends it
	g.abandoned.record(maxOverdue+1, maxOverdue+1, maxOverdue+1, maxOverdue, true)
	p.stuck <- g
	synctest.Wait()
}
