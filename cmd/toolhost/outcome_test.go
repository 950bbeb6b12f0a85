//go:build unix

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk"
)

// faultyVar makes the test binary a plugin that fails in its calls, and records each run in the file it names.
const faultyVar = "FAULTY_PLUGIN"

type faultyArgs struct {
	Text string `json:"text,omitempty"`
}

func serveFaulty(marker string) {
	if exists(marker + ".dead") {
		os.Exit(3)
	}
	p := sdk.New("faulty", "1.0.0")
	add := func(name string, f func(context.Context, *sdk.Request) (*sdk.Result, error)) {
		sdk.AddTool(p, sdk.Tool{Name: name, Description: "for tests"},
			func(ctx context.Context, r *sdk.Request, _ faultyArgs) (*sdk.Result, error) {
				if err := addLine(marker, name); err != nil {
					return nil, err
				}
				r.Progress(1, 0, "it runs")
				return f(ctx, r)
			})
	}
	add("fails", func(context.Context, *sdk.Request) (*sdk.Result, error) {
		return nil, &sdk.Error{Name: "No", Message: "no"}
	})
	add("loses", func(context.Context, *sdk.Request) (*sdk.Result, error) {
		return nil, &sdk.Error{Name: "Lost", Outcome: sdk.OutcomeUnknown, Message: "lost sight of it"}
	})
	add("dies", func(context.Context, *sdk.Request) (*sdk.Result, error) { os.Exit(7); return nil, nil })
	add("stops", func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	add("large", func(context.Context, *sdk.Request) (*sdk.Result, error) {
		return sdk.JSON(map[string]string{"x": strings.Repeat("x", sdk.MaxResult+1)}), nil // text alone goes to a file
	})
	add("waits", func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		for ctx.Err() == nil { // progress does not extend the deadline
			r.Progress(1, 0, "still here")
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Millisecond):
			}
		}
		for !exists(marker + ".over") { // the caller gives up first
			<-time.After(5 * time.Millisecond)
		}
		return nil, ctx.Err()
	})
	add("babbles", func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) {
		serveInvalidHTTP2()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	addOneCallTools(p)
	sdk.Serve(p)
}

func addLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// serveInvalidHTTP2 writes invalid HTTP/2 to all that are connected.
func serveInvalidHTTP2() {
	for fd := 3; fd < 64; fd++ {
		if _, err := syscall.Getpeername(fd); err == nil {
			_, _ = syscall.Write(fd, []byte(strings.Repeat("I speak no HTTP/2. ", 100)))
		}
	}
}

// A faultyHost is a host with that plugin.
type faultyHost struct {
	*host.Host
	process *supervise.Process
	marker  string
}

func startFaulty(t *testing.T, idempotent ...string) *faultyHost {
	t.Helper()
	dir, err := os.MkdirTemp("", "th") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s, err := supervise.New(supervise.Options{RunDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	f := &faultyHost{marker: filepath.Join(dir, "runs")}
	t.Cleanup(func() { writeText(t, f.marker+".over", "") })
	f.process, err = s.Add(supervise.Spec{Name: "faulty", Command: []string{os.Args[0]},
		Env: map[string]string{faultyVar: f.marker}, Idempotent: idempotent,
		Sandbox: sandbox.Spec{Write: []string{dir}}})
	if err != nil {
		t.Fatal(err)
	}
	f.Host, err = host.New(map[string]host.Plugin{"faulty": f.process}, host.Options{
		Policy: deniesFails{}, Tools: map[string]host.ToolOptions{"faulty__waits": {Limits: host.Limits{Concurrency: 1,
			Queue: 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if _, problems := f.Tools(t.Context()); len(problems) > 0 {
		t.Fatal(problems)
	}
	return f
}

// deniesFails denies calls of the tool fails whose argument is "denied".
type deniesFails struct{}

func (deniesFails) Decide(q *policy.Query) policy.Decision {
	if strings.Contains(string(q.Arguments), "denied") {
		return policy.Decision{Effect: policy.Deny, Reason: "a test says so"}
	}
	return policy.Decision{Effect: policy.Allow}
}

// runs counts the real runs of the plugin.
func (f *faultyHost) runs(tool string) int {
	text, _ := os.ReadFile(f.marker)
	return strings.Count(string(text), tool+"\n")
}

// hold occupies the tool waits until the test ends.
func (f *faultyHost) hold(t *testing.T) {
	begun := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	c := host.Call{Tool: "faulty__waits", Events: func(e sdk.Event) {
		if e.Type == sdk.EventProgress && e.Message == "it runs" {
			close(begun)
		}
	}}
	go func() { defer close(ended); f.Call(ctx, c) }()
	t.Cleanup(func() { cancel(); <-ended })
	select {
	case <-begun:
	case <-ended:
		t.Fatal("the call ended before it ran")
	}
}

// kill returns when the death has been noticed: a request to a plugin that has just died may have reached it.
func (f *faultyHost) kill(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(f.process.Status().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the death is noticed", func() bool { return f.process.Status().State != supervise.Ready })
}

// die makes the plugin die now, and at every start from now on.
func (f *faultyHost) die(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(f.marker+".dead", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.kill(t)
}

// An expiring context is that of a caller whose deadline passes when the tool has begun, however busy the machine is.
type expiring struct {
	context.Context
	over chan struct{}
}

func (f *faultyHost) expiring(t *testing.T, tool string) context.Context {
	e := &expiring{t.Context(), make(chan struct{})}
	go func() {
		defer close(e.over)
		for f.runs(tool) == 0 && t.Context().Err() == nil {
			<-time.After(5 * time.Millisecond)
		}
	}()
	return e
}

func (e *expiring) Done() <-chan struct{} { return e.over }

func (e *expiring) Err() error {
	select {
	case <-e.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// For each way in which a call can fail: what its result says, and how often the tool really ran.
func TestOutcomes(t *testing.T) {
	canceled := func(c *host.Call, cancel func()) {
		c.Events = func(e sdk.Event) {
			if e.Type == sdk.EventProgress {
				cancel()
			}
		}
	}
	for name, c := range map[string]struct {
		tool, arguments string
		before          func(*testing.T, *faultyHost)
		call            func(*host.Call, func()) // may cancel it
		idempotent      bool
		limit           time.Duration // of the caller
		expires         bool          // the caller's limit, which passes once the tool has begun
		clock           bool          // whether the tool begins in time is not known
		code            sdk.Code
		want            sdk.Outcome
		runs            int
	}{
		"the tool fails":       {tool: "fails", code: sdk.CodeTool, want: sdk.OutcomeFailed, runs: 1},
		"the tool cannot tell": {tool: "loses", code: sdk.CodeTool, want: sdk.OutcomeUnknown, runs: 1},
		"it cannot tell, idempotent": {tool: "loses", idempotent: true, code: sdk.CodeTool, want: sdk.OutcomeUnknown,
			runs: 1},
		"result too large": {tool: "large", code: sdk.CodeResultTooLarge, want: sdk.OutcomeFailed, runs: 1},
		"no such tool":     {tool: "nothing", code: sdk.CodeToolNotFound, want: sdk.OutcomeNotSent},
		"invalid arguments": {tool: "fails", arguments: `{"text":1}`, code: sdk.CodeInvalidArgs,
			want: sdk.OutcomeNotSent},
		"denied": {tool: "fails", arguments: `{"text":"denied"}`, code: sdk.CodeDenied,
			want: sdk.OutcomeNotSent},
		"host closed": {tool: "fails", before: func(_ *testing.T, f *faultyHost) { _ = f.Close() },
			code: sdk.CodeCanceled, want: sdk.OutcomeNotSent},
		"cannot be started": {tool: "fails", before: func(t *testing.T, f *faultyHost) { f.die(t) },
			code: sdk.CodePluginUnavailable, want: sdk.OutcomeNotSent},
		"in backoff": {tool: "fails", before: func(t *testing.T,
			f *faultyHost) {
			f.die(t)
			f.Call(t.Context(),
				host.Call{Tool: "faulty__fails"})
		}, code: sdk.CodePluginUnavailable, want: sdk.OutcomeNotSent},
		"died before the call": {tool: "fails", before: func(t *testing.T, f *faultyHost) { f.kill(t) },
			code: sdk.CodeTool, want: sdk.OutcomeFailed, runs: 1},
		"dies in the call": {tool: "dies", code: sdk.CodePluginCrashed, want: sdk.OutcomeUnknown, runs: 1},
		"dies in it, idempotent": {tool: "dies", idempotent: true, code: sdk.CodePluginCrashed, want: sdk.OutcomeUnknown,
			runs: 2},
		"stops itself": {tool: "stops", expires: true, code: sdk.CodeTimeout, want: sdk.OutcomeUnknown,
			runs: 1},
		"garbage on the wire": {tool: "babbles", code: sdk.CodeProtocol, want: sdk.OutcomeUnknown, runs: 1},
		"garbage, idempotent": {tool: "babbles", idempotent: true, code: sdk.CodeProtocol, want: sdk.OutcomeUnknown,
			runs: 1},
		"canceled in the call": {tool: "waits", call: canceled, code: sdk.CodeCanceled, want: sdk.OutcomeUnknown,
			runs: 1},
		"deadline in the call": {tool: "waits", call: func(c *host.Call,
			_ func()) {
			c.Timeout = 200 * time.Millisecond
		}, clock: true, code: sdk.CodeTimeout, want: sdk.OutcomeUnknown, runs: 1},
		"caller's deadline in it": {tool: "waits", expires: true, code: sdk.CodeTimeout, want: sdk.OutcomeUnknown,
			runs: 1},
		"canceled in line": {tool: "waits", before: func(t *testing.T, f *faultyHost) { f.hold(t) },
			call: func(_ *host.Call, cancel func()) {
				time.AfterFunc(50*time.Millisecond,
					cancel)
			}, code: sdk.CodeCanceled, want: sdk.OutcomeNotSent, runs: 1},
		"deadline in line": {tool: "waits", before: func(t *testing.T, f *faultyHost) { f.hold(t) },
			limit: 100 * time.Millisecond, code: sdk.CodeTimeout, want: sdk.OutcomeNotSent, runs: 1},
		"canceled before it was made": {tool: "fails", call: func(_ *host.Call, cancel func()) { cancel() },
			code: sdk.CodeCanceled, want: sdk.OutcomeNotSent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var idempotent []string
			if c.idempotent {
				idempotent = []string{c.tool}
			}
			f := startFaulty(t, idempotent...)
			if c.before != nil {
				c.before(t, f)
			}
			ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(c.limit, time.Minute))
			defer cancel()
			if c.expires {
				ctx = f.expiring(t, c.tool)
			}
			made := host.Call{Tool: "faulty__" + c.tool, Arguments: json.RawMessage(c.arguments)}
			if c.call != nil {
				c.call(&made, cancel)
			}
			started := time.Now()
			r := f.Call(ctx, made)
			if took := time.Since(started); took > 15*time.Second {
				t.Errorf("it took %s", took)
			}
			got := f.runs(c.tool)
			if c.clock && got == 0 && r.Error != nil {
				c.runs, c.want = 0, r.Error.Outcome // nothing that could be reported wrongly has happened
			}
			checkOutcome(t, r, c.code, c.want)
			if got != c.runs {
				t.Errorf("the tool ran %d times, want %d", got, c.runs)
			}
		})
	}
}

// checkOutcome checks the result as a program and as a model reads it.
func checkOutcome(t *testing.T, r *host.Result, code sdk.Code, want sdk.Outcome) {
	t.Helper()
	if r.Error == nil || r.Error.Code != code || r.Error.Outcome != want {
		t.Fatalf("error %+v, want %s and %s", r.Error, code, want)
	}
	if reported := strings.Count(r.Text(),
		"not known whether"); reported != map[bool]int{true: 1}[want == sdk.OutcomeUnknown] {
		t.Errorf("it is reported %d times that the outcome is not known: %s", reported, r.Text())
	}
	if text, err := json.Marshal(r); err != nil || !strings.Contains(string(text), fmt.Sprintf(`"outcome":%q`, want)) {
		t.Errorf("the JSON is %s, %v", text, err)
	}
}
