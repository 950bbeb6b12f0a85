package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// execArgs are the arguments of the tool exec.
type execArgs struct {
	Command        string            `json:"command" jsonschema:"The command line, as typed into a shell."`
	Workdir        string            `json:"workdir,omitempty" jsonschema:"The folder to run in: relative to the workspace, or inside it. Default: the workspace."`
	TimeoutSeconds float64           `json:"timeout_seconds,omitempty" minimum:"0.001" maximum:"3600" default:"120" jsonschema:"How long the command may run."`
	Env            map[string]string `json:"env,omitempty" jsonschema:"Environment variables to add."`
	Stdin          string            `json:"stdin,omitempty" jsonschema:"What the command reads from its standard input. Default: nothing."`
}

const (
	defaultTimeout = 2 * time.Minute
	maxTimeout     = time.Hour
	// answerTime is what a caller's deadline must leave for ending the command and telling what it printed.
	answerTime = 3 * time.Second
)

// errTimeout is why the context of a command that ran too long ended.
var errTimeout = errors.New("timed out")

func (s *shell) exec(ctx context.Context, r *sdk.Request, in execArgs) (*sdk.Result, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	dir, err := findWorkdir(r.Workdir, in.Workdir)
	if err != nil {
		return nil, err
	}
	c := s.config.Load()
	path, err := findShell(c.Shell)
	if err != nil {
		return nil, err
	}
	cmd := proctree.Command(path, append(shells[c.Shell], in.Command)...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, environ(in.Env, dir), in.input()
	return run(ctx, r, cmd, in.timeout(ctx), c.MaxOutputBytes)
}

// check finds what the schema does not say, or what came past it.
func (in *execArgs) check() error {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return invalid("command is blank; give the command line to run")
	case strings.ContainsRune(in.Command, 0):
		return invalid("command has a NUL character, which no command line can hold; use printf '\\0' or a file")
	case in.TimeoutSeconds < 0 || in.TimeoutSeconds > maxTimeout.Seconds():
		return invalid("timeout_seconds is %v; it must be more than 0 and at most %v", in.TimeoutSeconds, maxTimeout.Seconds())
	}
	return checkEnv(in.Env)
}

func invalid(format string, a ...any) error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidArguments", Message: fmt.Sprintf(format, a...)}
}

func (in *execArgs) input() io.Reader {
	if in.Stdin == "" {
		return nil
	}
	return strings.NewReader(in.Stdin)
}

// timeout is how long the command may run. When the caller's own deadline comes first, it is a little less than that
// leaves, so that what was printed still reaches the caller.
func (in *execArgs) timeout(ctx context.Context) time.Duration {
	limit := time.Duration(in.TimeoutSeconds * float64(time.Second))
	if limit == 0 {
		limit = defaultTimeout
	}
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		limit = min(limit, max(left-answerTime, left/2))
	}
	return limit
}

// run runs the command and makes a result of however it ends.
func run(ctx context.Context, r *sdk.Request, cmd *proctree.Cmd, limit time.Duration, keep int) (*sdk.Result, error) {
	stdout, stderr := newStream(r, "stdout", keep), newStream(r, "stderr", keep)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	timed, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	exit, err := cmd.Run(timed)
	out, errs := stdout.close(), stderr.close()
	if e, ok := errors.AsType[*proctree.StartError](err); ok {
		return nil, notStarted(ctx, e, limit)
	}
	timedOut := exit.Canceled && errors.Is(context.Cause(timed), errTimeout)
	result := report(exit, timedOut, out, errs)
	switch {
	case timedOut:
		return result, timeoutError(limit, err)
	case exit.Canceled:
		return result, ctx.Err()
	}
	return result, incomplete(err)
}

// timeoutError tells of a command that was stopped after the limit, and of what went wrong with stopping it, if anything.
func timeoutError(limit time.Duration, trouble error) error {
	e := &sdk.Error{Code: sdk.CodeTimeout, Name: "Timeout",
		Message: fmt.Sprintf("the command was not done after %v and was stopped, with everything it had started",
			limit.Round(time.Millisecond)),
		Suggestion: "Give it more time with timeout_seconds (at most 3600), or do the work in smaller steps."}
	if trouble != nil {
		e.Message += "; " + trouble.Error()
	}
	return e
}

// notStarted tells why none of the command ran.
func notStarted(ctx context.Context, err *proctree.StartError, limit time.Duration) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return timeoutError(limit, nil)
	case errors.Is(err, syscall.E2BIG):
		return &sdk.Error{Name: "CommandTooLong", Message: "the command and its environment are longer than the system allows",
			Suggestion: "Pass long text through stdin, or write a file first."}
	}
	return &sdk.Error{Name: "NotStarted", Message: "the shell was not started: " + err.Error(), Retryable: true}
}

// incomplete makes the error for a command that ran but was not followed to its very end.
func incomplete(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, proctree.ErrLost):
		return &sdk.Error{Name: "OutcomeUnknown", Message: err.Error() + "; it was started, and what came of it is not known",
			Suggestion: "Look at what the command was to change before running it again."}
	case errors.Is(err, proctree.ErrLeft):
		return &sdk.Error{Name: "ProcessesLeft", Message: "the command ended, but " + err.Error()}
	}
	return &sdk.Error{Name: "OutputIncomplete", Message: "some of the output is missing: " + err.Error()}
}
