package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// handler runs the call command for the tool that the project knows as original.
func (s *settings) handler(original string) sdk.Handler {
	return func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		dir := r.Workdir
		if dir == "" {
			dir = s.workdir
		}
		return s.run(ctx, r, s.call.with(original), dir)
	}
}

// input is the arguments byte for byte: what was checked and approved is what the project gets.
func input(r *sdk.Request) []byte {
	if len(r.Arguments) == 0 {
		return []byte("{}")
	}
	return r.Arguments
}

// run runs the command and makes a result of however it ends.
func (s *settings) run(ctx context.Context, r *sdk.Request, c command, dir string) (*sdk.Result, error) {
	limit := limitFor(ctx, s.callTimeout)
	o := s.follow(ctx, r, c, dir, limit)
	start, notStarted := errors.AsType[*proctree.StartError](o.err)
	switch {
	case o.late:
		return o.timeout(c, limit.Round(time.Millisecond))
	case ctx.Err() != nil && (o.exit.Canceled || notStarted):
		return nil, ctx.Err()
	case notStarted:
		return nil, s.notStarted(start, dir)
	case o.err == nil && o.exit.Signal == 0 && o.exit.Code == 0:
		return o.success(), nil
	}
	return o.failure(&sdk.Error{Name: "ToolFailed", Message: o.lines(shownInMessage),
		Suggestion: "The tool's program failed. Change the arguments if they are the cause; otherwise its author must mend it."})
}

// follow runs the command to its end, or to that of the time it has.
func (s *settings) follow(ctx context.Context, r *sdk.Request, c command, dir string, limit time.Duration) outcome {
	stdout := newStream(r, "stdout", s.maxOutput)
	stderr := newStream(r, "stderr", min(s.maxOutput, keptStderr))
	cmd := c.in(dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input(r)), stdout, stderr
	timed, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	exit, err := cmd.Run(timed)
	o := outcome{exit: exit, err: err, stdout: stdout.close(), stderr: stderr.close()}
	o.late = errors.Is(context.Cause(timed), errTimeout) && (exit.Canceled || errors.Is(err, context.DeadlineExceeded))
	return o
}

// notStarted tells why none of the command ran.
func (s *settings) notStarted(err *proctree.StartError, dir string) error {
	if _, missing := os.Stat(dir); missing != nil {
		return &sdk.Error{Name: "WorkdirNotFound", Message: fmt.Sprintf("the work folder %s cannot be used: %v", dir, missing)}
	}
	e := &sdk.Error{Name: "NotStarted", Message: "call_command: " + s.call.whyNot(err, s.workdir),
		Suggestion: "The operator must make the call_command of the plugin's config a program that can be run."}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Name = "CommandNotFound"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		e.Name = "NotExecutable"
	}
	return e
}

// limitFor is the time a call gets: its own limit or, when the caller's deadline comes first, a little less than that
// leaves, so that what was printed still reaches the caller.
func limitFor(ctx context.Context, limit time.Duration) time.Duration {
	const answerTime = 3 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		limit = min(limit, max(left-answerTime, left/2))
	}
	return limit
}
