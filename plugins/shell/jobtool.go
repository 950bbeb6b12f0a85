package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// jobArgs are the arguments of the tool job.
type jobArgs struct {
	Action         string  `json:"action" enum:"list|output|wait|stop" jsonschema:"What to do."`
	ID             string  `json:"id,omitempty" jsonschema:"The job, such as job-1. Needed for all but list."`
	Tail           int     `json:"tail,omitempty" minimum:"1" maximum:"10000" jsonschema:"Show this many of the last lines, instead of what is new."`
	TimeoutSeconds float64 `json:"timeout_seconds,omitempty" minimum:"0.001" maximum:"600" default:"30" jsonschema:"How long wait waits at most. The job goes on after that."`
}

const (
	defaultWait = 30 * time.Second
	maxWait     = 10 * time.Minute
	maxTail     = 10_000
	// stopLimit is more than stopping takes, unless a process is stuck in the kernel.
	stopLimit = 6 * time.Second
)

// A jobLine is what the structured results say of a job.
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
		return invalidJob("action %s needs the id of a job; action list tells which there are", in.Action)
	case in.Tail < 0 || in.Tail > maxTail:
		return invalidJob("tail is %d; it must be from 1 to %d", in.Tail, maxTail)
	case in.TimeoutSeconds < 0 || in.TimeoutSeconds > maxWait.Seconds():
		return invalidJob("timeout_seconds is %v; it must be more than 0 and at most %v", in.TimeoutSeconds, maxWait.Seconds())
	}
	return nil
}

func invalidJob(format string, a ...any) error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidArguments", Message: fmt.Sprintf(format, a...)}
}

func (in *jobArgs) wait() time.Duration {
	return cmp.Or(time.Duration(in.TimeoutSeconds*float64(time.Second)), defaultWait)
}

// wait waits for the end of a job, no longer than the call has time to tell of it.
func (j *job) wait(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(proctree.LimitsFor(ctx, limit).Run)
	defer timer.Stop()
	select {
	case <-j.done:
	case <-timer.C:
	case <-ctx.Done():
		return ended(ctx, "the call was canceled; "+j.id+" goes on, unless it was told to stop")
	}
	return nil
}

// show is what there is to see of a job.
func (j *job) show(tail int) *sdk.Result {
	v := j.look(tail)
	text := v.text()
	if v.combined == "" {
		text = "(no new output)\n"
	}
	structured := struct {
		Job jobLine `json:"job"`
		shown
	}{j.line(), v.shown()}
	return &sdk.Result{Content: []sdk.Content{sdk.TextContent(text + v.where() + j.tell())}, Structured: sdk.Encode(structured), Truncated: v.truncated}
}

func (j *job) line() jobLine {
	l := jobLine{ID: j.id, Command: j.command, State: j.state(), PID: j.pid.Load(), DurationMS: j.duration().Milliseconds()}
	if j.over() {
		l.ExitCode, l.Signal = &j.exit.Code, j.exit.SignalName()
	}
	return l
}

// tell says in a line how it is with the job.
func (j *job) tell() string {
	took := j.duration().Round(time.Millisecond)
	state := j.state()
	if state == stateRunning {
		return fmt.Sprintf("%s runs, for %v, as process %d: %s", j.id, took.Round(100*time.Millisecond), j.pid.Load(), brief(j.command))
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
		text.WriteString(j.tell())
		if j.over() {
			text.WriteString(": " + brief(j.command))
		}
		text.WriteString("\n")
	}
	if len(all) == 0 {
		text.WriteString("This session has no background jobs. exec with background starts one.\n")
	}
	return &sdk.Result{Content: []sdk.Content{sdk.TextContent(strings.TrimSuffix(text.String(), "\n"))}, Structured: sdk.Encode(map[string]any{"jobs": lines})}
}
