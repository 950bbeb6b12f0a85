package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

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
	l := limit{proctree.LimitsFor(ctx, s.callTimeout)}
	o := s.follow(ctx, r, c, dir, l)
	start, notStarted := errors.AsType[*proctree.StartError](o.err)
	switch {
	case o.late && notStarted:
		return nil, l.exceeded(fmt.Sprintf("there was no time to start %v; nothing was run", c))
	case o.late:
		return o.timeout(c, l)
	case o.exit.Canceled:
		return o.canceled(ctx, c)
	case notStarted && ctx.Err() != nil:
		return nil, ended(ctx, fmt.Sprintf("the call was canceled before %v was started; nothing was run", c))
	case notStarted:
		return nil, s.notStarted(start, dir)
	case o.err == nil && o.exit.Signal == 0 && o.exit.Code == 0:
		return o.success(), nil
	case errors.Is(o.err, proctree.ErrLost):
		return o.failure(&sdk.Error{Name: "OutcomeUnknown", Message: o.err.Error(),
			Suggestion: "Look at what the tool was to change before calling it again."})
	}
	return o.failure(&sdk.Error{Name: "ToolFailed", Message: o.lines(shownInMessage),
		Suggestion: "The tool's program failed. Change the arguments if they are the cause; otherwise its author must mend it."})
}

// follow runs the command to its end, or to that of the time it has.
func (s *settings) follow(ctx context.Context, r *sdk.Request, c command, dir string, l limit) outcome {
	stdout := newStream(r, "stdout", s.maxOutput)
	stderr := newStream(r, "stderr", min(s.maxOutput, keptStderr))
	cmd := c.in(dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input(r)), stdout, stderr
	cmd.Grace = l.Grace
	timed, cancel := context.WithTimeoutCause(ctx, l.Run, errTimeout)
	defer cancel()
	exit, err := cmd.Run(timed)
	o := outcome{exit: exit, err: err, stdout: stdout.close(), stderr: stderr.close()}
	o.late = errors.Is(context.Cause(timed), errTimeout) && (exit.Canceled || errors.Is(err, context.DeadlineExceeded))
	return o
}

// notStarted tells why none of the command ran.
func (s *settings) notStarted(err *proctree.StartError, dir string) error {
	if _, missing := os.Stat(dir); missing != nil {
		return &sdk.Error{Name: "WorkdirNotFound", Message: fmt.Sprintf("the work folder %s cannot be used: %v; nothing was run", dir, missing)}
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
