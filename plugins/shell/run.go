package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// errTimeout is why the context of a command that ran too long ended.
var errTimeout = errors.New("timed out")

// attach has the transcript take what the command prints, and those who watch the call see it. The rest of what they are
// to see comes with close.
func (t *transcript) attach(cmd *proctree.Cmd, r *sdk.Request) (closeLive func()) {
	out, errs := newLive(r.Writer("stdout")), newLive(r.Writer("stderr"))
	if cmd.Terminal != nil {
		t.typing = &plain{}
		cmd.Stdout = &screen{sink{t, stdout, out}}
	} else {
		cmd.Stdout, cmd.Stderr = &sink{t, stdout, out}, &sink{t, stderr, errs}
		cmd.InOrder = true
	}
	return func() {
		for _, w := range []*live{out, errs} {
			_ = w.Close() // never fails
		}
	}
}

// run runs the command and makes a result of however it ends.
func (s *shell) run(ctx context.Context, r *sdk.Request, cmd *proctree.Cmd, l limit) (*sdk.Result, error) {
	t := s.transcript(r.SessionID)
	closeLive := t.attach(cmd, r)
	cmd.Grace = l.Grace
	timed, cancel := context.WithTimeoutCause(ctx, l.Run, errTimeout)
	defer cancel()
	exit, err := cmd.Run(timed)
	closeLive()
	t.close()
	if e, ok := errors.AsType[*proctree.StartError](err); ok {
		return nil, notStarted(ctx, e, l)
	}
	timedOut := exit.Canceled && errors.Is(context.Cause(timed), errTimeout)
	result := report(exit, timedOut, t.since([2]int64{}))
	switch {
	case timedOut:
		return result, l.exceeded(err)
	case exit.Canceled:
		return result, canceled(ctx, err)
	}
	return result, incomplete(err)
}

// invalid is for arguments that no command can be run with.
func invalid(format string, a ...any) error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidArguments", Message: fmt.Sprintf(format, a...) + "; nothing was run"}
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
			Suggestion: "Pass long text through stdin, run it with the tool script, or write a file first."}
	}
	return &sdk.Error{Name: "NotStarted", Message: "the shell was not started: " + err.Error() + "; nothing was run", Retryable: true}
}

// incomplete makes the error for a command that ran but was not followed to its very end.
func incomplete(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, proctree.ErrLost):
		return &sdk.Error{Name: "OutcomeUnknown", Outcome: sdk.OutcomeUnknown, Message: err.Error(),
			Suggestion: "Look at what the command was to change before running it again."}
	case errors.Is(err, proctree.ErrLeft):
		return &sdk.Error{Name: "ProcessesLeft", Message: "the command ended, but " + err.Error(),
			Suggestion: "Go on; tell the user about the processes if they are in the way, since only the user can end them."}
	}
	return &sdk.Error{Name: "OutputIncomplete", Message: "some of the output is missing: " + err.Error(),
		Suggestion: "Run it again with the output in a file, if it may run twice."}
}
