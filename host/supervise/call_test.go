//go:build unix

package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

func TestLazySingleFlightStart(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), fixture("good", "good"))
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
	spec := fixture("good", "good")
	spec.Eager = true
	p := add(t, supervisor(t), spec)
	soon(t, "ready", patience, func() bool { return p.Status().State == Ready })
}

func TestEnvironmentIsAnAllowList(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "s3cret")
	t.Setenv("LC_TEST", "kept")
	spec := fixture("good", "good")
	spec.Env["EXTRA"] = "given"
	spec.Env["TOOLHOST_HOST_PID"] = "1"
	out := mustCall(t, add(t, supervisor(t), spec), "env", "")
	var env []string
	if err := json.Unmarshal([]byte(out), &env); err != nil {
		t.Fatal(err)
	}
	all := "\n" + strings.Join(env, "\n") + "\n"
	for _, want := range []string{"\nEXTRA=given\n", "\nLC_TEST=kept\n", "\nPATH=",
		fmt.Sprintf("\nTOOLHOST_HOST_PID=%d\n", os.Getpid())} {
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
	if got := mustCall(t, add(t, s, fixture("good", "good")), "workdir", ""); got != dir {
		t.Errorf("started in %s, want %s", got, dir)
	}
}

// A plugin that is killed during a call fails that call alone, at once; the next call has a new process.
func TestKilledDuringACall(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	p, other := add(t, s, fixture("good", "good")), add(t, s, fixture("other", "good"))
	before := mustCall(t, other, "pid", "")
	ended := begin(t, t.Context(), p, "")
	died := time.Now()
	if err := syscall.Kill(p.Status().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	err := <-ended
	// typically 3 ms; the bound only distinguishes it from a timeout
	if took := time.Since(died); took > slack*time.Second {
		t.Errorf("the call heard of the death after %s", took)
	}
	checkError(t, err, sdk.CodePluginCrashed, "SIGKILL")
	checkOutcome(t, err, sdk.OutcomeUnknown)
	facts := factsOf(t, err)
	if facts["signal"] != "SIGKILL" || facts["delivered"] != true || facts["generation"] != 1.0 ||
		facts["plugin"] != "good" {
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

func TestExitDuringACallReportsCodeAndLastLines(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), fixture("good", "good"))
	_, err := call(t, p, "die", "boredom")
	checkError(t, err, sdk.CodePluginCrashed, "exited with code 7", "dying of boredom")
	facts := factsOf(t, err)
	if facts["exit_code"] != 7.0 || !strings.Contains(fmt.Sprint(facts["last_stderr"]), "dying of boredom") {
		t.Errorf("details: %v", facts)
	}
}

// A grandchild that holds the plugin's pipes must not hide the plugin's death.
func TestDeathIsSeenThroughAGrandchild(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), fixture("good", "good"))
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
	spec := fixture("good", "good")
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
	p := add(t, supervisor(t), fixture("good", "good"))
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

// A plugin that answers at its deadline that it was canceled ran out of time: nobody has canceled the call.
func TestCanceledAtTheDeadline(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), fixture("good", "good"))
	mustCall(t, p, "echo", "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	switch result, err := p.Call(ctx, request("canceled", "")); {
	case err != nil: // the host gave up first
		checkError(t, err, sdk.CodeTimeout)
	default:
		checkError(t, result.Error, sdk.CodeTimeout, "canceled")
	}
}

// A plugin that stops itself answers nothing: its call ends at the deadline, and the plugin is replaced.
func TestStoppedDuringACall(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), fixture("good", "good"))
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

// A call without a near deadline ends too when its plugin is stopped, and a plugin that goes on keeps its calls.
func TestStoppedDuringALongCall(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells whether a process is stopped")
	}
	p := add(t, supervisor(t), fixture("good", "good"))
	p.stopCheck = 50 * time.Millisecond
	slow := begin(t, t.Context(), p, "deaf")
	ended := make(chan error, 1)
	go func() { _, err := p.Call(t.Context(), request("stop", "")); ended <- err }()
	checkError(t, <-ended, sdk.CodePluginCrashed, "it was stopped (SIGSTOP)")
	checkError(t, <-slow, sdk.CodePluginCrashed, "it was stopped (SIGSTOP)")
	mustCall(t, p, "echo", "")
	if s := p.Status(); s.Generation != 2 || s.Crashes != 1 {
		t.Errorf("status: %+v", s)
	}
}

func TestCloseEndsCallsAndProcess(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"good", "deaf"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			s := supervisor(t)
			p := add(t, s, fixture("good", role))
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
	p := add(t, s, fixture("silent", "silent"))
	ended := make(chan error, 1)
	go func() { _, err := call(t, p, "echo", ""); ended <- err }()
	soon(t, "starting", patience, func() bool { return p.Status().State == Starting })
	_ = s.Close()
	checkError(t, <-ended, sdk.CodePluginUnavailable, "closed")
}

func TestToolsAreKnownWhileThePluginIsDown(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), fixture("good", "good"))
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
	one, two := fixture("good", "good"), fixture("good", "good")
	one.Source, two.Source = "a.hcl:1", "b.hcl:2"
	add(t, s, one)
	if _, err := s.Add(two); err == nil || !strings.Contains(err.Error(), "a.hcl:1 and b.hcl:2") {
		t.Error(err)
	}
}

// checkError checks the code and the message of an error.
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

// A request for a dead process is provably not sent.
func TestDeadProcessGetsNoRequest(t *testing.T) {
	p := add(t, supervisor(t), fixture("good", "good"))
	g, err := p.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(g.child.pid, syscall.SIGKILL)
	<-g.done()
	soon(t, "the connection is cut", patience, func() bool {
		_, err := g.client.Call(t.Context(), request("echo", ""))
		b, ok := errors.AsType[*client.BrokenError](err)
		return ok && !b.Delivered
	})
}

// Only a cut connection is a reason to repeat a call, not an invalid answer.
func TestDisconnectedErrors(t *testing.T) {
	for name, c := range map[string]struct {
		broken client.BrokenError
		want   bool
	}{
		"not delivered":    {client.BrokenError{Err: status.Error(codes.Internal, "")}, true},
		"connection cut":   {client.BrokenError{Delivered: true, Err: status.Error(codes.Unavailable, "")}, true},
		"our end closed":   {client.BrokenError{Delivered: true, Err: status.Error(codes.Canceled, "")}, true},
		"no result":        {client.BrokenError{Delivered: true, Err: context.Canceled}, false},
		"another status":   {client.BrokenError{Delivered: true, Err: status.Error(codes.Internal, "")}, false},
		"parts that lie":   {client.BrokenError{Delivered: true, Err: errors.New("a part began")}, false},
		"method not there": {client.BrokenError{Delivered: true, Err: status.Error(codes.Unimplemented, "")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := disconnected(&c.broken); got != c.want {
				t.Errorf("it is %t, want %t", got, c.want)
			}
		})
	}
}

// A call also counts as cut when the host knew of the plugin's end first, and closed the connection.
func TestConnectionClosedByTheHost(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), fixture("good", "good"))
	g, err := p.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	begun, ended := make(chan struct{}), make(chan error, 1)
	r := request("wait", "")
	r.Events = func(e sdk.Event) {
		if e.Type == sdk.EventProgress {
			close(begun)
		}
	}
	go func() { _, err := g.client.Call(t.Context(), r); ended <- err }()
	<-begun
	g.client.Close()
	if b, ok := errors.AsType[*client.BrokenError](<-ended); !ok || !b.Delivered || !disconnected(b) {
		t.Errorf("it is reported as %+v", b)
	}
}

// The second attempt has the remaining time, the ids of the first, and a process that records its run once more.
func TestSecondAttemptHasTheRemainingTime(t *testing.T) {
	spec := fixture("marks", "marks")
	marker := filepath.Join(t.TempDir(), "runs")
	spec.Env["MARKER"], spec.Idempotent = marker, []string{"dies"}
	p := add(t, supervisor(t), spec)
	at := time.Now().Add(2 * time.Hour)
	ctx := shrinkingContext{t.Context(), at, at.Add(-time.Hour), marker}
	_, err := p.Call(ctx, request("dies", ""))
	checkError(t, err, sdk.CodePluginCrashed)
	checkOutcome(t, err, sdk.OutcomeUnknown)
	text, _ := os.ReadFile(marker)
	lines := strings.Fields(string(text))
	if len(lines) != 4 || lines[0] != "c1" || lines[2] != "c1" {
		t.Fatalf("runs: %q", lines)
	}
	for i, deadline := range map[int]time.Time{1: ctx.first, 3: ctx.then} {
		at, err := time.Parse(time.RFC3339Nano, lines[i])
		if d := at.Sub(deadline).Abs(); err != nil || d > patience {
			t.Errorf("the deadline of a run is %s off, %v", d, err)
		}
	}
}

// A shrinkingContext has an hour less after the call has run, as if the call had taken that long.
type shrinkingContext struct {
	context.Context
	first, then time.Time
	marker      string
}

func (s shrinkingContext) Deadline() (time.Time, bool) {
	if size(s.marker) > 0 {
		return s.then, true
	}
	return s.first, true
}

// When there is no plugin for the second attempt, the outcome of the first is still unknown.
func TestSecondAttemptWithoutAPlugin(t *testing.T) {
	spec := fixture("marks", "marks")
	spec.Env["MARKER"], spec.Env["ONCE"], spec.Idempotent = filepath.Join(t.TempDir(), "runs"), "1", []string{"dies"}
	_, err := call(t, add(t, supervisor(t), spec), "dies", "")
	checkError(t, err, sdk.CodePluginUnavailable)
	checkOutcome(t, err, sdk.OutcomeUnknown)
}

// runMarks is a plugin whose tool records its run and its deadline, and dies. With ONCE it does not start again after
// that.
func runMarks() {
	marker := os.Getenv("MARKER")
	if _, err := os.Stat(marker); err == nil && os.Getenv("ONCE") != "" {
		os.Exit(3)
	}
	p := sdk.New("marks", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "dies", Description: "for tests"},
		func(ctx context.Context, r *sdk.Request, _ textArgs) (*sdk.Result, error) {
			deadline, _ := ctx.Deadline()
			f := must(os.OpenFile(marker, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))
			must(f.WriteString(r.CallID + " " + deadline.Format(time.RFC3339Nano) + "\n"))
			os.Exit(7)
			return nil, nil
		})
	sdk.Serve(p)
}

// A call that was decided on before a reload is refused if its tool has changed, whether or not the plugin was
// running.
func TestCallOfAChangedToolIsRefused(t *testing.T) {
	t.Parallel()
	for name, runs := range map[string]bool{"runs": true, "does not run": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := t.TempDir()
			p := add(t, supervisor(t), counting("1", "TOOLS=gone"))
			listed := map[string]sdk.Tool{}
			for _, tool := range must(p.Tools(t.Context())) {
				listed[tool.Name] = tool
			}
			if !runs {
				p.Reset()
				_ = mustStop(t, p)
			}
			mustReload(t, p, counting("2", "DIR="+ran))
			ask := func(name string, was sdk.Tool) error {
				r := request(name, "")
				r.CallID, r.Listed = name, &was
				_, err := p.Call(t.Context(), r)
				return err
			}
			if err := ask("count", listed["count"]); err != nil {
				t.Error(err)
			}
			err := ask("gone", listed["gone"])
			checkError(t, err, sdk.CodeToolNotFound, "nothing was run")
			checkOutcome(t, err, sdk.OutcomeNotSent)
			other := listed["count"]
			other.Hints.Destructive = sdk.Yes
			err = ask("count", other)
			checkError(t, err, sdk.CodePluginUnavailable, "has changed since it was listed")
			checkOutcome(t, err, sdk.OutcomeNotSent)
			if text, _ := os.ReadFile(filepath.Join(ran, "count")); string(text) != "x" {
				t.Errorf("runs: %q", text)
			}
		})
	}
}

// mustStop kills the plugin's process, and waits until that is known.
func mustStop(t *testing.T, p *Process) error {
	t.Helper()
	g, err := p.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g.child.kill("")
	soon(t, "its end is known", patience, func() bool { return p.Status().State == Crashed })
	return err
}

// A difference in any field makes another definition.
func TestSameDefinition(t *testing.T) {
	full := func() *sdk.Tool {
		return &sdk.Tool{Name: "n", InputSchema: []byte("{}"), OutputSchema: []byte("{}"),
			Hints: sdk.Hints{ReadOnly: new(true)}}
	}
	if !sameDefinition(full(), full()) || sameDefinition(full(), nil) || !sameDefinition(nil, nil) {
		t.Error("equal definitions are not the same, or others are")
	}
	fields := reflect.TypeFor[sdk.Tool]()
	for i := range fields.NumField() {
		other := full()
		change(t, reflect.ValueOf(other).Elem().Field(i))
		if sameDefinition(full(), other) {
			t.Errorf("another %s is not seen", fields.Field(i).Name)
		}
	}
	hints := reflect.TypeFor[sdk.Hints]()
	for i := range hints.NumField() {
		other := full()
		reflect.ValueOf(&other.Hints).Elem().Field(i).Set(reflect.ValueOf(new(false)))
		if sameDefinition(full(), other) {
			t.Errorf("another hint %s is not seen", hints.Field(i).Name)
		}
	}
}

// change sets a field to another value.
func change(t *testing.T, f reflect.Value) {
	t.Helper()
	switch f.Kind() {
	case reflect.String:
		f.SetString("other")
	case reflect.Int64:
		f.SetInt(7)
	case reflect.Bool:
		f.SetBool(true)
	case reflect.Slice:
		f.SetBytes([]byte("[]"))
	case reflect.Struct:
		f.SetZero()
	default:
		t.Fatalf("a field of kind %s is not known here", f.Kind())
	}
}

// The error of a call whose process is ended depends on how far the call had come.
func TestErrorsOfCutCalls(t *testing.T) {
	for name, c := range map[string]struct {
		err       error
		broken    bool
		delivered bool
	}{
		"not sent":         {&sdk.Error{Code: sdk.CodeCanceled, Outcome: sdk.OutcomeNotSent}, true, false},
		"sent":             {&sdk.Error{Code: sdk.CodeCanceled, Outcome: sdk.OutcomeUnknown}, true, true},
		"answered":         {&sdk.Error{Code: sdk.CodeResultTooLarge, Outcome: sdk.OutcomeFailed}, false, false},
		"broken before":    {&client.BrokenError{Err: errors.New("no stream")}, true, false},
		"broken in it":     {&client.BrokenError{Delivered: true, Err: errors.New("no answer")}, true, true},
		"of a preview":     {&sdk.Error{Code: sdk.CodeCanceled}, true, true},
		"ended by success": {nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := &inFlightCall{}
			v.stoppedByHost.Store(true)
			b, ok := v.asBroken(c.err)
			if ok != c.broken || ok && b.Delivered != c.delivered {
				t.Errorf("broken %t, %+v", ok, b)
			}
		})
	}
}

// A lookup of a spec is discarded when the plugin has another spec meanwhile.
func TestRecalledForAnotherSpec(t *testing.T) {
	p := add(t, supervisor(t), counting("1"))
	p.recall = func(context.Context, Spec) *sdk.Description {
		p.recall = nil
		mustReload(t, p, counting("2", "TOOLS=new"))
		return &sdk.Description{Tools: []sdk.Tool{{Name: "old"}}}
	}
	if got := toolNames(t, p); len(got) != 4 || got[3] != "new" {
		t.Errorf("the tools are %v", got)
	}
}

// A host that cannot open a session, because it has no file left, does not take that for the plugin's fault.
func TestPluginSurvivesASessionThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), fixture("good", "good"))
	g, err := p.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tries := make(chan struct{}, 1)
	g.client.UseSessions(func(context.Context) (net.Conn, error) {
		tries <- struct{}{}
		return nil, os.NewSyscallError("socket", syscall.EMFILE)
	}, "")
	if pid := mustCall(t, p, "pid", ""); pid != strconv.Itoa(g.child.pid) || len(tries) != 1 {
		t.Errorf("process %s served the call, not %d, after %d tries to open a session", pid, g.child.pid, len(tries))
	}
	if s := p.Status(); s.Crashes != 0 || s.State != Ready {
		t.Errorf("it is %s after %d crashes", s.State, s.Crashes)
	}
}
