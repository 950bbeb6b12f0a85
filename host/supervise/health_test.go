package supervise

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/toolhost/toolhost/sdk"
)

func init() {
	plays["unwell"] = func() { socketAnd(unwell) }
}

// unwell leaves calls unanswered, answers everything else with nothing, and has a health of its own.
func unwell(lis net.Listener) {
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
	healthpb.RegisterHealthServer(s, &sickbed{})
	_ = s.Serve(lis)
}

// A sickbed notes each question in the file ASKED, and answers as HEALTH says.
type sickbed struct {
	healthpb.UnimplementedHealthServer
}

func (sickbed) Check(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	first := size(os.Getenv("ASKED")) == 0
	_ = mark(os.Getenv("ASKED"))
	switch how := os.Getenv("HEALTH"); {
	case how == "none":
		return nil, status.Error(codes.Unimplemented, "no such service")
	case how == "not serving":
		return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_NOT_SERVING}, nil
	case how == "silent", how == "silent once" && first:
		forever() // also past the question's deadline, which may end here a moment earlier than there
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

// A sick plugin is one of those, with calls in it that its caller ends.
type sick struct {
	*Process
	asked, called, held string // files
	ended               chan error
}

func (s *sick) call(t *testing.T, ctx context.Context) {
	t.Helper()
	before := size(s.called)
	go func() { _, err := s.Call(ctx, request("any", "")); s.ended <- err }()
	soon(t, "the plugin has the call", patience, func() bool { return size(s.called) > before })
}

func sickening(t *testing.T, health string, env ...string) *sick {
	t.Helper()
	dir := t.TempDir()
	s := &sick{asked: filepath.Join(dir, "asked"), called: filepath.Join(dir, "called"), held: filepath.Join(dir, "go"), ended: make(chan error, 20)}
	spec := playing("sick", "unwell")
	spec.Env["HEALTH"], spec.Env["ASKED"], spec.Env["CALLED"], spec.Env["GO"] = health, s.asked, s.called, s.held
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		spec.Env[name] = value
	}
	s.Process = add(t, supervisor(t), spec)
	return s
}

// After a call that was given up the plugin is asked whether it lives: it is killed only when it does not say so, and when
// other calls run in it, only after three questions.
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
		"silent, beside a call":       {"silent", 1, misses, true},
		"silent once, beside a call":  {"silent once", 1, 2, false},
		"not serving, beside a call":  {"not serving", 1, misses, true},
		"serving, beside other calls": {"serving", 3, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := sickening(t, c.health)
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
				soon(t, "it is killed", patience, func() bool { return strings.Contains(p.Status().LastError, "no longer answered") })
				for range c.others {
					checkError(t, <-p.ended, sdk.CodePluginCrashed)
				}
			} else if s := p.Status(); s.State != Ready || s.Generation != 1 || s.Calls != c.others {
				t.Errorf("status: %+v", s)
			}
		})
	}
}

// Two calls that are given up at once are one reason to ask.
func TestOneCheckForCallsAbandonedAtOnce(t *testing.T) {
	t.Parallel()
	p := sickening(t, "held")
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

// awaitVerdict waits for the end of the question that is under way.
func awaitVerdict(t *testing.T, g *generation) {
	t.Helper()
	g.doubt.mu.Lock()
	end := g.doubt.settled
	g.doubt.mu.Unlock()
	select {
	case <-end:
	case <-time.After(patience):
		t.Fatal("the question has no end")
	}
}

// stop stops the plugin and waits until all its threads have.
func stop(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	awaitStopped(t, pid)
}

// awaitStopped waits until a process has been stopped, by whom ever, with all its threads.
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

// agePlugin makes the plugin idle for an hour.
func agePlugin(t *testing.T, p *Process) {
	t.Helper()
	g, err := p.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g.visits.mu.Lock()
	defer g.visits.mu.Unlock()
	g.visits.last = time.Now().Add(-time.Hour)
}

// A plugin that stopped while nobody called it loses no call: it is found out ahead of the next, however many come at once.
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

// A caller who gives up while an idle plugin is asked is no reason to kill it.
func TestGivenUpWhileAnIdlePluginIsAsked(t *testing.T) {
	t.Parallel()
	p := sickening(t, "held")
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

// Nobody asks a plugin with a call in it, however long that takes, or one that nobody calls.
func TestLongCallsAreNotAskedAbout(t *testing.T) {
	t.Parallel()
	p := sickening(t, "silent")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.call(t, ctx)
	agePlugin(t, p.Process)
	p.call(t, ctx)
	if n := size(p.asked); n != 0 {
		t.Errorf("asked %d times", n)
	}
}
