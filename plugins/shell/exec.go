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
	return run(ctx, r, cmd, limit{proctree.LimitsFor(ctx, in.timeout())}, c.MaxOutputBytes)
}

// check finds what the schema does not say, or what came past it.
func (in *execArgs) check() error {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return invalid("command is blank; give the command line to run")
	case strings.ContainsRune(in.Command, 0):
		return invalid("command has a NUL character, which no command line can hold; write it as \\0 for printf, or put it in a file")
	case in.TimeoutSeconds < 0 || in.TimeoutSeconds > maxTimeout.Seconds():
		return invalid("timeout_seconds is %v; it must be more than 0 and at most %v", in.TimeoutSeconds, maxTimeout.Seconds())
	}
	return checkEnv(in.Env)
}

// invalid is for arguments that no command can be run with.
func invalid(format string, a ...any) error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidArguments", Message: fmt.Sprintf(format, a...) + "; nothing was run"}
}

func (in *execArgs) input() io.Reader {
	if in.Stdin == "" {
		return nil
	}
	return strings.NewReader(in.Stdin)
}

// timeout is how long the caller wants the command to run at most.
func (in *execArgs) timeout() time.Duration {
	if in.TimeoutSeconds == 0 {
		return defaultTimeout
	}
	return time.Duration(in.TimeoutSeconds * float64(time.Second))
}

// run runs the command and makes a result of however it ends.
func run(ctx context.Context, r *sdk.Request, cmd *proctree.Cmd, l limit, keep int) (*sdk.Result, error) {
	stdout, stderr := newStream(r, "stdout", keep), newStream(r, "stderr", keep)
	cmd.Stdout, cmd.Stderr, cmd.Grace = stdout, stderr, l.Grace
	timed, cancel := context.WithTimeoutCause(ctx, l.Run, errTimeout)
	defer cancel()
	exit, err := cmd.Run(timed)
	out, errs := stdout.close(), stderr.close()
	if e, ok := errors.AsType[*proctree.StartError](err); ok {
		return nil, notStarted(ctx, e, l)
	}
	timedOut := exit.Canceled && errors.Is(context.Cause(timed), errTimeout)
	result := report(exit, timedOut, out, errs)
	switch {
	case timedOut:
		return result, l.exceeded(err)
	case exit.Canceled:
		return result, canceled(ctx, err)
	}
	return result, incomplete(err)
}

// canceled tells of a command that the caller gave up, and of what went wrong with stopping it, if anything.
func canceled(ctx context.Context, trouble error) error {
	text := "the call was canceled and the command was stopped"
	if trouble != nil {
		return ended(ctx, text+"; "+trouble.Error())
	}
	return ended(ctx, text+", with everything it had started")
}

// ended is the sdk's error for a call that was canceled, in words of our own.
func ended(ctx context.Context, text string) error {
	e := sdk.EndedError(ctx)
	e.Message = text
	return e
}

// notStarted tells why none of the command ran.
func notStarted(ctx context.Context, err *proctree.StartError, l limit) error {
	switch {
	case ctx.Err() != nil:
		return ended(ctx, "the call was canceled before the command was started; nothing was run")
	case errors.Is(err, context.DeadlineExceeded):
		return l.tooShort()
	case errors.Is(err, syscall.E2BIG):
		return &sdk.Error{Name: "CommandTooLong", Message: "the command and its environment are longer than the system allows; nothing was run",
			Suggestion: "Pass long text through stdin, or write a file first."}
	}
	return &sdk.Error{Name: "NotStarted", Message: "the shell was not started: " + err.Error() + "; nothing was run", Retryable: true}
}

// incomplete makes the error for a command that ran but was not followed to its very end.
func incomplete(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, proctree.ErrLost):
		return &sdk.Error{Name: "OutcomeUnknown", Message: err.Error(),
			Suggestion: "Look at what the command was to change before running it again."}
	case errors.Is(err, proctree.ErrLeft):
		return &sdk.Error{Name: "ProcessesLeft", Message: "the command ended, but " + err.Error()}
	}
	return &sdk.Error{Name: "OutputIncomplete", Message: "some of the output is missing: " + err.Error()}
}
