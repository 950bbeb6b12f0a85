package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

func TestLazySingleFlightStart(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), playing("good", "good"))
	if s := p.Status(); s.State != Known || s.PID != 0 {
		t.Fatalf("before the first call: %+v", s)
	}
	var wg sync.WaitGroup
	pids := make([]string, 20)
	for i := range pids {
		wg.Go(func() { pids[i] = mustCall(t, p, "pid", "") })
	}
	wg.Wait()
	for _, pid := range pids {
		if pid != pids[0] {
			t.Fatalf("calls ran in several processes: %v", pids)
		}
	}
	if s := p.Status(); s.State != Ready || s.Generation != 1 || strconv.Itoa(s.PID) != pids[0] || s.Version != "1.2.3" {
		t.Errorf("after the calls: %+v", s)
	}
}

func TestEagerStartsByItself(t *testing.T) {
	spec := playing("good", "good")
	spec.Eager = true
	p := add(t, supervisor(t), spec)
	soon(t, "ready", patience, func() bool { return p.Status().State == Ready })
}

func TestEnvironmentIsAnAllowList(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "s3cret")
	t.Setenv("LC_TEST", "kept")
	spec := playing("good", "good")
	spec.Env["EXTRA"] = "given"
	spec.Env["TOOLHOST_HOST_PID"] = "1"
	out := mustCall(t, add(t, supervisor(t), spec), "env", "")
	var env []string
	if err := json.Unmarshal([]byte(out), &env); err != nil {
		t.Fatal(err)
	}
	all := "\n" + strings.Join(env, "\n") + "\n"
	for _, want := range []string{"\nEXTRA=given\n", "\nLC_TEST=kept\n", "\nPATH=", fmt.Sprintf("\nTOOLHOST_HOST_PID=%d\n", os.Getpid())} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(all, "SECRET_TOKEN") {
		t.Error("a variable of the host leaked")
	}
}

func TestPluginStartsInTheWorkdir(t *testing.T) {
	dir := t.TempDir()
	s, err := New(Options{RunDir: shortDir(t), Workdir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := mustCall(t, add(t, s, playing("good", "good")), "workdir", ""); got != dir {
		t.Errorf("started in %s, want %s", got, dir)
	}
}

// A plugin that is killed in a call costs that call alone, which hears of it at once; the next call has a new process.
func TestKilledDuringACall(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	p, other := add(t, s, playing("good", "good")), add(t, s, playing("other", "good"))
	before := mustCall(t, other, "pid", "")
	ended := begin(t, t.Context(), p, "")
	died := time.Now()
	if err := syscall.Kill(p.Status().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	err := <-ended
	if took := time.Since(died); took > slack*time.Second { // typically 3 ms; the bound only tells it from a timeout
		t.Errorf("the call heard of the death after %s", took)
	}
	checkError(t, err, sdk.CodePluginCrashed, "SIGKILL")
	checkOutcome(t, err, sdk.OutcomeUnknown)
	facts := factsOf(t, err)
	if facts["signal"] != "SIGKILL" || facts["delivered"] != true || facts["generation"] != 1.0 || facts["plugin"] != "good" {
		t.Errorf("details: %v", facts)
	}
	if got := mustCall(t, p, "echo", "again"); got != "again" {
		t.Errorf("the next call gave %q", got)
	}
	if s := p.Status(); s.Generation != 2 || s.Restarts != 1 {
		t.Errorf("after the restart: %+v", s)
	}
	if after := mustCall(t, other, "pid", ""); after != before {
		t.Error("the other plugin was restarted too")
	}
}

func TestExitDuringACallTellsCodeAndLastWords(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), playing("good", "good"))
	_, err := call(t, p, "die", "boredom")
	checkError(t, err, sdk.CodePluginCrashed, "exit code 7", "dying of boredom")
	facts := factsOf(t, err)
	if facts["exit_code"] != 7.0 || !strings.Contains(fmt.Sprint(facts["last_stderr"]), "dying of boredom") {
		t.Errorf("details: %v", facts)
	}
}

// A grandchild that holds the plugin's pipes must not hide the plugin's death.
func TestDeathIsSeenThroughAGrandchild(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), playing("good", "good"))
	grandchild, _ := strconv.Atoi(mustCall(t, p, "child", ""))
	ended := begin(t, t.Context(), p, "")
	_ = syscall.Kill(p.Status().PID, syscall.SIGKILL)
	select {
	case err := <-ended:
		checkError(t, err, sdk.CodePluginCrashed, "SIGKILL")
	case <-time.After(patience):
		t.Fatal("the death was not seen")
	}
	soon(t, "the grandchild ends too", patience, func() bool { return !alive(grandchild) })
}

func TestIdempotentCallIsMadeAgain(t *testing.T) {
	t.Parallel()
	spec := playing("good", "good")
	spec.Idempotent = []string{"wait"}
	p := add(t, supervisor(t), spec)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := make(chan int, 2)
	r := request("wait", "")
	r.Events = func(e sdk.Event) {
		if e.Type == sdk.EventProgress {
			begun <- r.Attempt
		}
	}
	ended := make(chan error, 1)
	go func() { _, err := p.Call(ctx, r); ended <- err }()
	<-begun
	_ = syscall.Kill(p.Status().PID, syscall.SIGKILL)
	select {
	case attempt := <-begun:
		if attempt != 2 {
			t.Errorf("the second start of the call is attempt %d", attempt)
		}
	case err := <-ended:
		t.Fatalf("the call was not made again: %v", err)
	}
	cancel()
	checkError(t, <-ended, sdk.CodeCanceled)
	if r.Generation != 2 {
		t.Errorf("generation %d", r.Generation)
	}
}

func TestCallsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), playing("good", "good"))
	for _, how := range []string{"", "deaf"} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := begin(t, ctx, p, how)
		cancel()
		checkError(t, <-ended, sdk.CodeCanceled)
	}
	ctx := lateIn(t)
	ended := begin(t, ctx, p, "deaf")
	ctx.pass()
	checkError(t, <-ended, sdk.CodeTimeout)
	if got := mustCall(t, p, "echo", "fine"); got != "fine" || p.Status().Generation != 1 {
		t.Error("a tool that takes long is no reason to restart its plugin")
	}
}

// A plugin that stops itself answers nobody: its call ends with its deadline, and the plugin is replaced.
func TestStoppedDuringACall(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), playing("good", "good"))
	mustCall(t, p, "echo", "")
	ctx, ended := lateIn(t), make(chan error, 1)
	go func() { _, err := p.Call(ctx, request("stop", "")); ended <- err }()
	awaitStopped(t, p.Status().PID)
	ctx.pass()
	checkError(t, <-ended, sdk.CodeTimeout)
	soon(t, "the stopped process is killed", patience, func() bool { return p.Status().State == Crashed })
	if got := p.Status().LastError; !strings.Contains(got, "no longer answered") {
		t.Errorf("last error: %s", got)
	}
	mustCall(t, p, "echo", "")
}

func TestCloseEndsCallsAndProcess(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"good", "deaf"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			s := supervisor(t)
			p := add(t, s, playing("good", role))
			ended := begin(t, t.Context(), p, "deaf")
			pid := p.Status().PID
			started := time.Now()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(started); took > slack*stopTime {
				t.Errorf("closing took %s", took)
			}
			checkError(t, <-ended, sdk.CodeCanceled, "closed")
			if alive(pid) {
				t.Error("the process is still there")
			}
			_, err := call(t, p, "echo", "")
			checkError(t, err, sdk.CodePluginUnavailable, "closed")
			if got := p.Status().State; got != Stopped {
				t.Errorf("state %s", got)
			}
		})
	}
}

func TestCloseDuringTheStart(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	p := add(t, s, playing("silent", "silent"))
	ended := make(chan error, 1)
	go func() { _, err := call(t, p, "echo", ""); ended <- err }()
	soon(t, "starting", patience, func() bool { return p.Status().State == Starting })
	_ = s.Close()
	checkError(t, <-ended, sdk.CodePluginUnavailable, "closed")
}

func TestToolsAreKnownWhileThePluginIsDown(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), playing("good", "good"))
	tools, err := p.Tools(t.Context())
	if err != nil || len(tools) == 0 {
		t.Fatal(tools, err)
	}
	_, _ = call(t, p, "die", "listing")
	again, err := p.Tools(t.Context())
	if err != nil || len(again) != len(tools) || p.Status().Generation != 1 {
		t.Errorf("listing again gave %d tools, %v, generation %d", len(again), err, p.Status().Generation)
	}
}

func TestSameNameTwice(t *testing.T) {
	s := supervisor(t)
	one, two := playing("good", "good"), playing("good", "good")
	one.Source, two.Source = "a.hcl:1", "b.hcl:2"
	add(t, s, one)
	if _, err := s.Add(two); err == nil || !strings.Contains(err.Error(), "a.hcl:1 and b.hcl:2") {
		t.Error(err)
	}
}

// checkError checks a typed error's code and words.
func checkError(t testing.TB, err error, code sdk.Code, words ...string) {
	t.Helper()
	if got := sdk.CodeOf(err); got != code {
		t.Fatalf("code %s, want %s: %v", got, code, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func checkOutcome(t testing.TB, err error, want sdk.Outcome) {
	t.Helper()
	if e, ok := errors.AsType[*sdk.Error](err); !ok || e.Outcome != want {
		t.Errorf("outcome of %#v, want %s", err, want)
	}
}

func factsOf(t testing.TB, err error) map[string]any {
	t.Helper()
	var out map[string]any
	if e, ok := errors.AsType[*sdk.Error](err); !ok || json.Unmarshal(e.Details, &out) != nil {
		t.Fatalf("no details in %#v", err)
	}
	return out
}
