package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// jobs are those of all sessions.
type jobs struct {
	base    context.Context // ends with the plugin
	stop    context.CancelCauseFunc
	running sync.WaitGroup
	first   time.Duration // how long a call waits for a job's first output
	more    time.Duration // and for further output right after it

	mu    sync.Mutex
	all   []*job // the oldest first
	count int
}

const (
	keptJobs    = 16 // most ended ones of a session
	keptJobsAll = 64 // of all sessions
	// endLimit is how long the plugin's end may wait for jobs; the rest is killed by its end.
	endLimit = 700 * time.Millisecond
)

func newJobs() *jobs {
	j := &jobs{first: time.Second, more: 200 * time.Millisecond}
	j.base, j.stop = context.WithCancelCause(context.Background())
	return j
}

// begin starts a job, unless too many run.
func (j *jobs) begin(session, command string, cmd *proctree.Cmd, t *transcript, most int, limit time.Duration) (*job,
	error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.reserve(session, most); err != nil {
		return nil, err
	}
	j.count++
	ctx, stop := context.WithCancelCause(j.base)
	started := &job{id: fmt.Sprintf("job-%d", j.count), session: session, command: command, transcript: t,
		begun: time.Now(), stop: stop,
		started: make(chan struct{}), done: make(chan struct{})}
	j.all = append(j.all, started)
	j.forget(session)
	j.running.Go(func() {
		defer stop(nil)
		started.run(ctx, cmd, limit)
	})
	return started, nil
}

// reserve reports whether one more job may run.
func (j *jobs) reserve(session string, most int) error {
	if j.base.Err() != nil {
		return &sdk.Error{Name: "PluginEnding", Message: "the plugin is shutting down; nothing was run", Retryable: true,
			Suggestion: "Try again after it restarts."}
	}
	var mine []string
	all := 0
	for _, o := range j.all {
		if o.finished() {
			continue
		}
		all++
		if o.session == session {
			mine = append(mine, fmt.Sprintf("%s (%s)", o.id, brief(o.command)))
		}
	}
	if len(mine) < most && all < maxJobs {
		return nil
	}
	e := &sdk.Error{Name: "TooManyJobs", Retryable: true,
		Suggestion: "Stop one that is no longer needed with the tool job, or wait for one to end.",
		Message: fmt.Sprintf("%d background jobs run already, at most %d may: %s; nothing was run", len(mine), most,
			strings.Join(mine, ", ")),
		Details: sdk.Details(map[string]any{"limit": most})}
	if len(mine) < most {
		e.Message = fmt.Sprintf("%d background jobs run in all sessions, no more may; nothing was run", all)
	}
	return e
}

// forget drops the oldest ended jobs over the limits.
func (j *jobs) forget(session string) {
	mine, all := 0, 0
	for _, o := range slices.Backward(slices.Clone(j.all)) {
		if !o.finished() {
			continue
		}
		all++
		if o.session == session {
			mine++
		}
		if all > keptJobsAll || o.session == session && mine > keptJobs {
			j.all = slices.DeleteFunc(j.all, func(x *job) bool { return x == o })
		}
	}
}

// drop removes a job that never ran from the list.
func (j *jobs) drop(o *job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.all = slices.DeleteFunc(j.all, func(x *job) bool { return x == o })
}

// of are the jobs of a session, the oldest first.
func (j *jobs) of(session string) []*job {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(j.all), func(o *job) bool { return o.session != session })
}

func (j *jobs) find(session, id string) (*job, error) {
	mine := j.of(session)
	if i := slices.IndexFunc(mine, func(o *job) bool { return o.id == id }); i >= 0 {
		return mine[i], nil
	}
	e := &sdk.Error{Name: "JobNotFound", Message: fmt.Sprintf("there is no job %q: this session has no jobs", id),
		Suggestion: "Jobs are started by exec with background; they end with the plugin, and those that have ended are " +
			"forgotten in time."}
	if len(mine) > 0 {
		var ids []string
		for _, o := range mine {
			ids = append(ids, o.id)
		}
		e.Message = fmt.Sprintf("this session has no job %q; it has %s", id, strings.Join(ids, ", "))
		e.Suggestion = "Give one of these as id; action list shows them."
	}
	return nil, e
}

// end ends all jobs, and waits for them for a while.
func (j *jobs) end() {
	j.mu.Lock()
	j.stop(errEnding)
	j.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		j.running.Wait()
		close(ended)
	}()
	timer := time.NewTimer(endLimit)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}

// brief is the beginning of a command, in one line.
func brief(command string) string {
	const most = 60
	line := strings.Join(strings.Fields(command), " ")
	if len(line) > most {
		return strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}

// A job is a command that continues after its call.
type job struct {
	id, session, command string
	transcript           *transcript
	begun                time.Time
	stop                 context.CancelCauseFunc
	pid                  atomic.Int64
	started              chan struct{} // closed when it runs
	done                 chan struct{} // closed when all of it has ended

	// Valid after done.
	exit  proctree.Exit
	err   error
	cause error // why it was ended, if so

	mu   sync.Mutex
	seen [2]int64 // how much of its output was shown
}

var (
	errStopped = errors.New("it was stopped")
	errEnding  = errors.New("the plugin was to stop")
)

// The states of a job.
const (
	stateRunning  = "running"
	stateEnded    = "ended"
	stateStopped  = "stopped"
	stateTimedOut = "timed_out"
)

// run runs the command. The limit counts from its start; none means until it is stopped.
func (j *job) run(ctx context.Context, cmd *proctree.Cmd, limit time.Duration) {
	defer close(j.done)
	cmd.Started = func(pid int) {
		j.pid.Store(int64(pid))
		if limit > 0 {
			finished := time.AfterFunc(limit, func() { j.stop(errTimeout) })
			context.AfterFunc(ctx, func() { finished.Stop() })
		}
		close(j.started)
	}
	j.exit, j.err = cmd.Run(ctx)
	j.transcript.close()
	if j.exit.Canceled {
		j.cause = context.Cause(ctx)
	}
}

func (j *job) finished() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

func (j *job) state() string {
	switch {
	case !j.finished():
		return stateRunning
	case errors.Is(j.cause, errTimeout):
		return stateTimedOut
	case j.cause != nil:
		return stateStopped
	}
	return stateEnded
}

func (j *job) duration() time.Duration {
	if j.finished() {
		return j.exit.Duration
	}
	return time.Since(j.begun)
}

// awaitFirstOutput waits for the first output of a job, and briefly for more, or for its end.
func (j *job) awaitFirstOutput(ctx context.Context, limit, more time.Duration) {
	for _, wait := range []struct {
		limit    time.Duration
		finished <-chan struct{}
	}{{limit, j.transcript.begun}, {min(limit, more), nil}} {
		timer := time.NewTimer(wait.limit)
		defer timer.Stop()
		select {
		case <-wait.finished:
			continue
		case <-timer.C:
		case <-j.done:
		case <-ctx.Done():
		}
		return
	}
}

// look returns the output since the last look, or the last lines of it.
func (j *job) look(lines int) outputView {
	j.mu.Lock()
	defer j.mu.Unlock()
	from := j.seen
	if lines > 0 {
		from = [2]int64{}
	}
	v := j.transcript.since(from)
	j.seen = v.next
	if lines > 0 {
		v.last(lines)
	}
	return v
}

// jobArgs are the arguments of the tool job.
type jobArgs struct {
	Action         string  `json:"action" enum:"list|output|wait|stop" jsonschema:"What to do."`
	ID             string  `json:"id,omitempty" jsonschema:"The job, such as job-1. Needed for all but list."`
	Tail           int     `json:"tail,omitempty" minimum:"1" maximum:"10000" jsonschema:"Show this many of the last lines, instead of what is new."`
	TimeoutSeconds float64 `json:"timeout_seconds,omitempty" minimum:"0.001" maximum:"600" default:"30" jsonschema:"How long wait waits at most. The job continues after that."`
}

const (
	defaultWait = 30 * time.Second
	maxWait     = 10 * time.Minute
	maxTail     = 10_000
	// stopLimit is more than stopping takes, unless a process is stuck in the kernel.
	stopLimit = 6 * time.Second
)

// A jobLine is a job in the structured results.
type jobLine struct {
	ID         string `json:"id"`
	Command    string `json:"command"`
	State      string `json:"state"`
	PID        int64  `json:"pid"`
	ExitCode   *int   `json:"exit_code,omitempty"`
	Signal     string `json:"signal,omitempty"`
	DurationMS int64  `json:"duration_ms"`
}

func (s *shell) job(ctx context.Context, r *sdk.Request, in jobArgs) (*sdk.Result, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if in.Action == "list" {
		return list(s.jobs.of(r.SessionID)), nil
	}
	j, err := s.jobs.find(r.SessionID, in.ID)
	if err != nil {
		return nil, err
	}
	switch in.Action {
	case "wait":
		err = j.wait(ctx, in.wait())
	case "stop":
		j.stop(errStopped)
		err = j.wait(ctx, stopLimit)
	}
	if err != nil {
		return nil, err
	}
	return j.show(in.Tail), nil
}

func (in *jobArgs) check() error {
	switch {
	case !slices.Contains([]string{"list", "output", "wait", "stop"}, in.Action):
		return invalidJob("action is %q; it must be list, output, wait or stop", in.Action)
	case in.Action != "list" && in.ID == "":
		return invalidJob("action %s needs the id of a job; action list shows them", in.Action)
	case in.Tail < 0 || in.Tail > maxTail:
		return invalidJob("tail is %d; it must be from 1 to %d", in.Tail, maxTail)
	case in.TimeoutSeconds < 0 || in.TimeoutSeconds > maxWait.Seconds():
		return invalidJob("timeout_seconds is %v; it must be more than 0 and at most %v", in.TimeoutSeconds,
			maxWait.Seconds())
	}
	return nil
}

func invalidJob(format string, a ...any) error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidArguments", Message: fmt.Sprintf(format, a...)}
}

func (in *jobArgs) wait() time.Duration {
	return cmp.Or(time.Duration(in.TimeoutSeconds*float64(time.Second)), defaultWait)
}

// wait waits for the end of a job, up to the time that the call needs to report it.
func (j *job) wait(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(proctree.LimitsFor(ctx, limit).Run)
	defer timer.Stop()
	select {
	case <-j.done:
	case <-timer.C:
	case <-ctx.Done():
		return ended(ctx, "the call was canceled; "+j.id+" continues, unless it was asked to stop")
	}
	return nil
}

// show returns the current view of a job.
func (j *job) show(tail int) *sdk.Result {
	v := j.look(tail)
	text := v.text()
	if v.combined == "" {
		text = "(no new output)\n"
	}
	structured := struct {
		Job jobLine `json:"job"`
		shownOutput
	}{j.line(), v.shown()}
	return &sdk.Result{Content: []sdk.Content{sdk.TextContent(text + v.where() + j.note())},
		Structured: sdk.Encode(structured), Truncated: v.truncated}
}

func (j *job) line() jobLine {
	l := jobLine{ID: j.id, Command: j.command, State: j.state(), PID: j.pid.Load(),
		DurationMS: j.duration().Milliseconds()}
	if j.finished() {
		l.ExitCode, l.Signal = &j.exit.Code, j.exit.SignalName()
	}
	return l
}

// note describes the state of the job in a line.
func (j *job) note() string {
	took := j.duration().Round(time.Millisecond)
	state := j.state()
	if state == stateRunning {
		return fmt.Sprintf("%s runs, for %v, as process %d: %s", j.id, took.Round(100*time.Millisecond), j.pid.Load(),
			brief(j.command))
	}
	text := map[string]string{
		stateEnded:    fmt.Sprintf("%s ended after %v: %s", j.id, took, j.exit),
		stateStopped:  fmt.Sprintf("%s was stopped after %v, with everything it had started", j.id, took),
		stateTimedOut: fmt.Sprintf("%s was stopped after %v, since its timeout_seconds were over", j.id, took),
	}[state]
	if j.exit.Killed > 0 && state == stateEnded {
		text += fmt.Sprintf("; background processes ended with it: %d", j.exit.Killed)
	}
	if j.err != nil {
		text += "; " + j.err.Error()
	}
	return text
}

func list(all []*job) *sdk.Result {
	lines := []jobLine{}
	var text strings.Builder
	for _, j := range all {
		lines = append(lines, j.line())
		text.WriteString(j.note())
		if j.finished() {
			text.WriteString(": " + brief(j.command))
		}
		text.WriteString("\n")
	}
	if len(all) == 0 {
		text.WriteString("This session has no background jobs. exec with background starts one.\n")
	}
	return &sdk.Result{Content: []sdk.Content{sdk.TextContent(strings.TrimSuffix(text.String(), "\n"))},
		Structured: sdk.Encode(map[string]any{"jobs": lines})}
}
