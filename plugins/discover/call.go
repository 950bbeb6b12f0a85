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

// A job is the program to run for one call.
type job struct {
	command
	input       []byte // what its standard input holds; nil is nothing at all
	timeout     time.Duration
	setting     string // where the command was configured
	timeSetting string // where the timeout was
}

// handler runs the call command for the tool that the project knows as original.
func (s *settings) handler(original string) sdk.Handler {
	return func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		return s.run(ctx, r, job{command: s.call.with(original), input: input(r), timeout: s.callTimeout,
			setting: "call_command", timeSetting: "call_timeout_seconds"})
	}
}

// input is the arguments byte for byte: what was checked and approved is what the project gets.
func input(r *sdk.Request) []byte {
	if len(r.Arguments) == 0 {
		return []byte("{}")
	}
	return r.Arguments
}

// run runs the job and makes a result of however it ends.
func (s *settings) run(ctx context.Context, r *sdk.Request, j job) (*sdk.Result, error) {
	dir := r.Workdir
	if dir == "" {
		dir = s.workdir
	}
	l := limit{proctree.LimitsFor(ctx, j.timeout), j.timeSetting}
	o := s.follow(ctx, r, j, dir, l)
	start, notStarted := errors.AsType[*proctree.StartError](o.err)
	switch {
	case o.late && notStarted:
		return nil, l.exceeded(fmt.Sprintf("there was no time to start %s; nothing was run", j.short()))
	case o.late:
		return o.timeout(j.command, l)
	case o.exit.Canceled:
		return o.canceled(ctx, j.command)
	case notStarted && ctx.Err() != nil:
		return nil, ended(ctx, fmt.Sprintf("the call was canceled before %s was started; nothing was run", j.short()))
	case notStarted:
		return nil, j.notStarted(start, dir, s.workdir)
	case o.err == nil && o.exit.Signal == 0 && o.exit.Code == 0:
		return o.success(), nil
	case errors.Is(o.err, proctree.ErrLost):
		return o.failure(&sdk.Error{Name: "OutcomeUnknown", Outcome: sdk.OutcomeUnknown, Message: o.err.Error(),
			Suggestion: "Look at what the tool was to change before calling it again."})
	}
	return o.failure(&sdk.Error{Name: "ToolFailed", Message: o.lines(shownInMessage),
		Suggestion: "The tool's program failed. Change the arguments if they are the cause; otherwise its author must mend it."})
}

// follow runs the job to its end, or to that of the time it has.
func (s *settings) follow(ctx context.Context, r *sdk.Request, j job, dir string, l limit) outcome {
	stdout := newStream(r, "stdout", s.maxOutput)
	stderr := newStream(r, "stderr", min(s.maxOutput, keptStderr))
	cmd := j.in(dir, l.Limits)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if j.input != nil {
		cmd.Stdin = bytes.NewReader(j.input)
	}
	timed, cancel := context.WithTimeoutCause(ctx, l.Run, errTimeout)
	defer cancel()
	exit, err := cmd.Run(timed)
	o := outcome{exit: exit, err: err, stdout: stdout.close(), stderr: stderr.close()}
	o.late = errors.Is(context.Cause(timed), errTimeout) && (exit.Canceled || errors.Is(err, context.DeadlineExceeded))
	return o
}

// notStarted tells why none of the job ran. Programs with a path were looked for in root.
func (j job) notStarted(err *proctree.StartError, dir, root string) error {
	if _, missing := os.Stat(dir); missing != nil {
		return &sdk.Error{Name: "WorkdirNotFound", Message: fmt.Sprintf("the work folder %s cannot be used: %v; nothing was run", dir, missing)}
	}
	e := &sdk.Error{Name: "NotStarted", Message: j.setting + ": " + j.whyNot(err, root),
		Suggestion: "The operator must make the " + j.setting + " of the plugin's config a program that can be run."}
	switch {
	case errors.Is(err, syscall.E2BIG):
		e.Name, e.Suggestion = "ArgumentsTooLong", "Pass less in the arguments, or the path of a file."
	case errors.Is(err, fs.ErrNotExist):
		e.Name = "CommandNotFound"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		e.Name = "NotExecutable"
	}
	return e
}
