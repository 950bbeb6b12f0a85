package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// lasting refuses what would have to run on after the call where the plugin ends with it: a job would be killed at once.
func (in *execArgs) lasting(r *sdk.Request) error {
	if !in.Background || !r.SingleCall {
		return nil
	}
	return &sdk.Error{Name: "NeedsLastingHost", Message: "background: this host makes one call and ends, and the job would be killed with it; nothing was run",
		Suggestion: fmt.Sprintf("Leave background out: the call then waits for the command to end, for timeout_seconds (at most %d). What has to go on longer must be started by the user.", int(maxTimeout.Seconds()))}
}

// background starts the command as a job, and answers with what it has to say at first.
func (s *shell) background(ctx context.Context, r *sdk.Request, cmd *proctree.Cmd, in *execArgs) (*sdk.Result, error) {
	t := s.transcript(r.SessionID)
	defer t.attach(cmd, r)()
	var limit time.Duration
	if in.TimeoutSeconds > 0 {
		limit = in.timeout()
	}
	j, err := s.jobs.begin(r.SessionID, in.Command, cmd, t, s.config.Load().MaxJobs, limit)
	if err != nil {
		return nil, err
	}
	if err := s.await(ctx, j); err != nil {
		return nil, err
	}
	j.settle(ctx, proctree.LimitsFor(ctx, s.jobs.first).Run, s.jobs.more)
	if ctx.Err() != nil { // nobody would know of it
		j.stop(errStopped)
		return nil, ended(ctx, "the call was canceled and the job is stopped, with everything it has started")
	}
	return j.begins(), nil
}

// await waits until a job runs. One that never does is none.
func (s *shell) await(ctx context.Context, j *job) error {
	select {
	case <-j.started:
		return nil
	case <-j.done:
	case <-ctx.Done():
		j.stop(errStopped)
		return ended(ctx, "the call was canceled while the job was started; it is stopped")
	}
	if e, ok := errors.AsType[*proctree.StartError](j.err); ok {
		s.jobs.drop(j)
		return notStarted(ctx, e, limit{})
	}
	return nil
}

// begins is the answer to the call that started the job.
func (j *job) begins() *sdk.Result {
	v := j.look(0)
	line := j.line()
	o := outcome{shown: v.shown(), DurationMS: line.DurationMS, Job: &line}
	text := v.text() + v.where()
	if j.over() {
		o.ExitCode, o.Signal, o.TimedOut = &j.exit.Code, j.exit.SignalName(), line.State == stateTimedOut
		return &sdk.Result{Content: []sdk.Content{sdk.TextContent(text + j.tell())}, Structured: sdk.Encode(o), Truncated: v.truncated}
	}
	if v.combined == "" {
		text = "(no output yet)\n"
	}
	text += j.tell() + "\nThe tool job shows more of its output (action output or wait) and ends it (stop)."
	return &sdk.Result{Content: []sdk.Content{sdk.TextContent(text)}, Structured: sdk.Encode(o), Truncated: v.truncated}
}
