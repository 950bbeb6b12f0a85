//go:build unix

package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// A namedPipe is a pipe with a name, at which commands wait for a line.
type namedPipe string

func newNamedPipe(t *testing.T) namedPipe {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return namedPipe(path)
}

// wait is the command that waits.
func (g namedPipe) wait() string { return `read go <"` + string(g) + `"; ` }

// open lets one command continue, once it waits.
func (g namedPipe) open(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(string(g), []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
}

// startJob starts a background command for a session.
func startJob(t *testing.T, p *sdktest.Plugin, session, command string, more map[string]any) *sdk.Result {
	t.Helper()
	args := map[string]any{"command": command, "background": true}
	for name, value := range more {
		args[name] = value
	}
	return callIn(t, p, "exec", t.TempDir(), session, args)
}

// wantLines compares a text, in which "…" stands for parts that vary.
func wantLines(t *testing.T, got, want string) {
	t.Helper()
	rest := got
	for i, part := range strings.Split(want, "…") {
		at := strings.Index(rest, part)
		if at < 0 || i == 0 && at > 0 {
			t.Errorf("got\n%s\nwant\n%s", got, want)
			return
		}
		rest = rest[at+len(part):]
	}
	if rest != "" && !strings.HasSuffix(want, "…") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestJob(t *testing.T) {
	p, g, last := patient(t, 0), newNamedPipe(t), newNamedPipe(t)
	r := startJob(t, p, "s", "echo one; "+g.wait()+"echo two; echo three >&2; "+last.wait()+"exit 3", nil)
	wantLines(t, textOf(t, r),
		"one\njob-1 runs, for …, as process …: echo one; read go …\nThe tool job shows more of its output (action output "+
			"or wait) and ends it (stop).")
	o := outcomeOf(t, r)
	if o.Job == nil || o.Job.ID != "job-1" || o.Job.State != "running" || o.Job.PID < 2 || o.Job.ExitCode != nil ||
		strings.Contains(string(r.Structured), `"exit_code"`) {
		t.Errorf("structured %s", r.Structured)
	}
	ask := func(args jobArgs) string { return textOf(t, jobIn(t, p, "s", args)) }
	wantLines(t, ask(jobArgs{Action: "output", ID: "job-1"}), "(no new output)\njob-1 runs, …")
	g.open(t)
	last.open(t)
	wantLines(t, ask(jobArgs{Action: "wait", ID: "job-1"}), "two\n[stderr]\nthree\njob-1 ended after …: exit code 3")
	wantLines(t, ask(jobArgs{Action: "output", ID: "job-1"}), "(no new output)\njob-1 ended after …: exit code 3")
	wantLines(t, ask(jobArgs{Action: "output", ID: "job-1", Tail: 3}),
		"two\n[stderr]\nthree\njob-1 ended after …: exit code 3")
	wantLines(t, ask(jobArgs{Action: "list"}), "job-1 ended after …: exit code 3: echo one; …")
	list := outcomeOf(t, jobIn(t, p, "s", jobArgs{Action: "list"})).Jobs
	if len(list) != 1 || list[0].State != "ended" || *list[0].ExitCode != 3 {
		t.Errorf("list %+v", list)
	}
	wantLines(t, ask(jobArgs{Action: "stop", ID: "job-1"}), "(no new output)\njob-1 ended after …: exit code 3")
}

func TestStopAJob(t *testing.T) {
	t.Parallel()
	for name, deaf := range map[string]string{"that ends": "", "that is deaf": `trap "" TERM HUP; `} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, l := sdktest.Start(t, newPlugin()), newLifeline(t)
			startJob(t, p, "", deaf+l.leftBehind()+`exec 8>"`+l.path+`"; echo up; while :; do sleep 60 || :; done`, nil)
			r := jobIn(t, p, "", jobArgs{Action: "stop", ID: "job-1"})
			wantLines(t, textOf(t, r), "…job-1 was stopped after …, with everything it had started")
			if o := outcomeOf(t, r); o.Job.State != "stopped" || o.Job.Signal == "" {
				t.Errorf("structured %s", r.Structured)
			}
			l.wantEnd(t)
		})
	}
}

func TestJobsEndWithThePlugin(t *testing.T) {
	l := newLifeline(t)
	t.Run("plugin", func(t *testing.T) {
		startJob(t, sdktest.Start(t, newPlugin()), "", l.leftBehind()+`exec 8>"`+l.path+`"; echo up; sleep 600`, nil)
	})
	l.wantEnd(t)
}

func TestJobTimeout(t *testing.T) {
	p := sdktest.Start(t, newPlugin())
	startJob(t, p, "", "echo up; exec sleep 600", map[string]any{"timeout_seconds": 0.5})
	r := jobIn(t, p, "", jobArgs{Action: "wait", ID: "job-1"})
	wantLines(t, textOf(t, r), "…job-1 was stopped after …, since its timeout_seconds were over")
	if o := outcomeOf(t, r); o.Job.State != "timed_out" {
		t.Errorf("structured %s", r.Structured)
	}
}

func TestJobThatEndsAtOnce(t *testing.T) {
	p := patient(t, time.Minute)
	r := startJob(t, p, "", "echo no such port >&2; exit 2", nil)
	wantLines(t, textOf(t, r), "[stderr]\nno such port\njob-1 ended after …: exit code 2")
	if o := outcomeOf(t, r); o.ExitCode != 2 || o.Job.State != "ended" {
		t.Errorf("structured %s", r.Structured)
	}
}

// The call that starts a job waits a second for its first output, and a moment for more.
func TestFirstOutputOfAJob(t *testing.T) {
	for name, c := range map[string]struct{ speaks, ends, want time.Duration }{
		"silent":            {time.Hour, time.Hour, time.Second},
		"speaks":            {300 * time.Millisecond, time.Hour, 500 * time.Millisecond},
		"speaks at the end": {300 * time.Millisecond, 350 * time.Millisecond, 350 * time.Millisecond},
		"ends":              {time.Hour, 300 * time.Millisecond, 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				jobs, j := newJobs(), &job{transcript: &transcript{begun: make(chan struct{})}, done: make(chan struct{})}
				defer time.AfterFunc(c.speaks, func() { close(j.transcript.begun) }).Stop()
				defer time.AfterFunc(c.ends, func() { close(j.done) }).Stop()
				began := time.Now()
				j.awaitFirstOutput(t.Context(), jobs.first, jobs.more)
				if took := time.Since(began); took != c.want {
					t.Errorf("it waits for %s, want %s", took, c.want)
				}
			})
		})
	}
}

func TestWaitEndsBeforeTheJob(t *testing.T) {
	p := sdktest.Start(t, newPlugin())
	wantLines(t, textOf(t, startJob(t, p, "", "exec sleep 600", nil)), "(no output yet)\njob-1 runs, …")
	wantLines(t, textOf(t, jobIn(t, p, "", jobArgs{Action: "wait", ID: "job-1", TimeoutSeconds: 0.05})),
		"(no new output)\njob-1 runs, …")
}

func TestJobOnATerminal(t *testing.T) {
	p, g := patient(t, 0), newNamedPipe(t)
	r := startJob(t, p, "", `test -t 1 && printf '\033[32mName:\033[0m '; `+g.wait()+`echo done`,
		map[string]any{"pty": true})
	wantLines(t, textOf(t, r), "Name: \njob-1 runs, …")
	g.open(t)
	wantLines(t, textOf(t, jobIn(t, p, "", jobArgs{Action: "wait", ID: "job-1"})),
		"Name: done\njob-1 ended after …: exit code 0")
}

func TestJobsOfASession(t *testing.T) {
	p := sdktest.Start(t, newPlugin())
	p.MustConfigure(t, `{"max_jobs":2}`)
	for _, session := range []string{"a", "a", "b"} {
		if r := startJob(t, p, session, "echo up; exec sleep 600", nil); r.Error != nil {
			t.Fatalf("%+v", r.Error)
		}
	}
	wantError(t, startJob(t, p, "a", "echo no", nil), sdk.CodeTool, "TooManyJobs",
		"2 background jobs run already, at most 2 may: job-1 (echo up; exec sleep 600), job-2 (echo up; exec sleep 600); "+
			"nothing was run")
	wantError(t, jobIn(t, p, "b", jobArgs{Action: "output", ID: "job-1"}), sdk.CodeTool, "JobNotFound",
		`this session has no job "job-1"; it has job-3`)
	wantError(t, jobIn(t, p, "c", jobArgs{Action: "stop", ID: "job-1"}), sdk.CodeTool, "JobNotFound", "this session has no jobs")
	wantLines(t, textOf(t, jobIn(t, p, "c", jobArgs{Action: "list"})),
		"This session has no background jobs. exec with background starts one.")
	jobIn(t, p, "a", jobArgs{Action: "stop", ID: "job-1"})
	if r := startJob(t, p, "a", "echo up", nil); r.Error != nil {
		t.Errorf("%+v", r.Error)
	}
}

func TestEndedJobsAreForgotten(t *testing.T) {
	p := patient(t, 0)
	startJob(t, p, "", "echo up; exec sleep 600", nil)
	for range keptJobs + 3 {
		startJob(t, p, "", "true", nil)
	}
	list := outcomeOf(t, jobIn(t, p, "", jobArgs{Action: "list"})).Jobs
	if len(list) != keptJobs+2 || list[0].ID != "job-1" || list[1].ID != "job-4" { // the last one was running when it was added
		t.Errorf("%d jobs: %+v", len(list), list)
	}
}

func TestJobThatCannotStart(t *testing.T) {
	p := sdktest.Start(t, newPlugin())
	r := startJob(t, p, "", ": "+strings.Repeat("x", 900<<10), nil)
	if r.Error == nil {
		return // systems differ in how long a command may be
	}
	wantError(t, r, sdk.CodeTool, "CommandTooLong")
	if list := outcomeOf(t, jobIn(t, p, "", jobArgs{Action: "list"})).Jobs; len(list) != 0 {
		t.Errorf("there are jobs: %+v", list)
	}
}

func TestJobArgumentsRefused(t *testing.T) {
	p := sdktest.Start(t, newPlugin())
	for want, args := range map[string]jobArgs{
		`action is "kill"; it must be list, output, wait or stop`: {Action: "kill", ID: "job-1"},
		"action is \"\"": {},
		"action stop needs the id of a job; action list shows them": {Action: "stop"},
		"tail is -1; it must be from 1 to 10000":                    {Action: "output", ID: "job-1", Tail: -1},
		"timeout_seconds is 601; it must be more than 0 and at most 600": {Action: "wait", ID: "job-1",
			TimeoutSeconds: 601},
	} {
		wantError(t, jobIn(t, p, "", args), sdk.CodeInvalidArgs, "InvalidArguments", want)
	}
}

// A job's output between looks is in its file; the shown part says so.
func TestLongOutputOfAJob(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p, g := sdktest.Start(t, newPlugin()), newNamedPipe(t)
	p.MustConfigure(t, `{"max_output_bytes":1024}`)
	startJob(t, p, "", "echo up; "+g.wait()+"seq 1 5000", nil)
	g.open(t)
	r := jobIn(t, p, "", jobArgs{Action: "wait", ID: "job-1"})
	o := outcomeOf(t, r)
	wantLines(t, textOf(t, r), "1\n2\n…[... … bytes left out ...]\n…\n5000\nAll 23896 bytes of stdout: "+o.StdoutFile+
		"\njob-1 ended after …: exit code 0")
	text, err := os.ReadFile(o.StdoutFile)
	if err != nil || len(text) != 23896 || !r.Truncated {
		t.Errorf("%d bytes in the file, %v, truncated %v", len(text), err, r.Truncated)
	}
	tail := textOf(t, jobIn(t, p, "", jobArgs{Action: "output", ID: "job-1", Tail: 2}))
	wantLines(t, tail, "4999\n5000\n"+fmt.Sprintf("All 23896 bytes of stdout: %s\njob-1 …", o.StdoutFile))
}

func TestCallThatStartsAJobIsCanceled(t *testing.T) {
	l := newLifeline(t)
	p := patient(t, time.Minute)
	ctx, cancel := contextUntilOutput(t)
	_, err := withDeadline(ctx, t, p, cancel,
		map[string]any{"background": true, "command": `exec 9>"` + l.path + `"; echo up; sleep 600`})
	if code := sdk.CodeOf(err); code != sdk.CodeCanceled {
		t.Errorf("code %s: %v", code, err)
	}
	l.wantEnd(t)
}

func TestStoppingDoesNotHang(t *testing.T) {
	s := testShell(t)
	begin := time.Now()
	s.end()
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("without jobs the end took %v", took)
	}
	_, err := s.jobs.begin("", "true", nil, nil, 1, 0)
	if err == nil || !strings.Contains(err.Error(), "the plugin is shutting down") {
		t.Errorf("a job after the end: %v", err)
	}
}

func TestJobReportsLeftProcesses(t *testing.T) {
	p := patient(t, time.Minute)
	wantLines(t, textOf(t, startJob(t, p, "", "sleep 600 & echo up", nil)),
		"up\njob-1 ended after …: exit code 0; background processes ended with it: 1")
}

// A host that ends after the call would kill the job at once, so it is refused, also before a person is asked about
// it.
func TestNoJobWhereTheHostEnds(t *testing.T) {
	p, dir := sdktest.Start(t, newPlugin()), t.TempDir()
	request := func(arguments string) *sdk.Request {
		return &sdk.Request{CallID: t.Name(), RunID: rand.Text(), Tool: "exec", Arguments: json.RawMessage(arguments),
			Workdir: dir, Attempt: 1, SingleCall: true}
	}
	r, err := p.Call(t.Context(), request(`{"command":"touch ran","background":true}`))
	if err != nil || r.Error == nil || r.Error.Name != "NeedsLastingHost" {
		t.Errorf("the call gives %+v, %v", r, err)
	}
	if _, err := p.Preview(t.Context(), request(`{"command":"touch ran","background":true}`)); err == nil ||
		!strings.Contains(err.Error(), "this host makes one call and ends") {
		t.Errorf("the preview gives %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("it ran")
	}
	if r, err := p.Call(t.Context(), request(`{"command":"echo here"}`)); err != nil ||
		!strings.HasPrefix(textOf(t, r), "here\n") {
		t.Errorf("without background: %+v, %v", r, err)
	}
	r, err = p.Call(t.Context(), request(`{"command":"sleep 600","timeout_seconds":0.01}`))
	if err != nil || r.Error == nil || r.Error.Code != sdk.CodeTimeout ||
		strings.Contains(r.Error.Suggestion, "background") {
		t.Errorf("a timeout suggests %+v, %v", r.Error, err)
	}
}
