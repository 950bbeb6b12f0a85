package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A programCall is the program to run for one call.
type programCall struct {
	command
	input       []byte // what its standard input holds; nil is nothing at all
	timeout     time.Duration
	setting     string // where the command was configured
	timeSetting string // where the timeout was
}

// handler runs the call command for the tool that the project knows as original.
func (s *settings) handler(original string) sdk.Handler {
	return func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		return s.run(ctx, r, programCall{command: s.call.with(original), input: input(r), timeout: s.callTimeout,
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
func (s *settings) run(ctx context.Context, r *sdk.Request, j programCall) (*sdk.Result, error) {
	dir := cmp.Or(r.Workdir, s.workdir)
	l := limit{proctree.LimitsFor(ctx, j.timeout), j.timeSetting}
	o := s.follow(ctx, r, j, dir, l)
	start, notStarted := errors.AsType[*proctree.StartError](o.err)
	switch {
	case o.late && notStarted:
		return nil, l.exceeded(fmt.Sprintf("there was no time to start %s; nothing was run", j.short()))
	case o.late:
		what := o.stopped(fmt.Sprintf("not done after %v, and stopped", l.Shown()))
		return o.failure(l.exceeded(fmt.Sprintf("%s was %s", j.short(), what)))
	case o.exit.Canceled: // what was printed until then may still be of use
		what := o.stopped("canceled, and stopped")
		return o.failure(ended(ctx, fmt.Sprintf("%s was %s", j.short(), what)))
	case notStarted && ctx.Err() != nil:
		return nil, ended(ctx, fmt.Sprintf("the call was canceled before %s was started; nothing was run", j.short()))
	case notStarted:
		return nil, j.notStarted(start, dir, s.workdir)
	case o.err == nil && o.exit.Signal == 0 && o.exit.Code == 0:
		return o.success(), nil
	case errors.Is(o.err, proctree.ErrLost):
		return o.failure(&sdk.Error{Name: "OutcomeUnknown", Outcome: sdk.OutcomeUnknown, Message: o.err.Error(),
			Suggestion: "Check what the tool should have changed before you repeat the call."})
	}
	return o.failure(&sdk.Error{Name: "ToolFailed", Message: o.lines(shownInMessage),
		Suggestion: "The tool's program failed. Change the arguments if they are the cause; otherwise its author must fix " +
			"it."})
}

// follow runs the job to its end, or to that of the time it has.
func (s *settings) follow(ctx context.Context, r *sdk.Request, j programCall, dir string, l limit) outcome {
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

// notStarted says why none of the job ran. Programs with a path were searched for in root.
func (j programCall) notStarted(err *proctree.StartError, dir, root string) error {
	if _, missing := os.Stat(dir); missing != nil {
		return &sdk.Error{Name: "WorkdirNotFound",
			Message: fmt.Sprintf("the work folder %s cannot be used: %v; nothing was run", dir, missing)}
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

const (
	keptStderr = 64 << 10
	// shownInMessage is how much of each stream the message of a failure holds, so that hosts that cut messages do not
	// cut off how the program ended; the content has the rest.
	shownInMessage = 400
)

// outcome is how a call ended.
type outcome struct {
	exit           proctree.Exit
	err            error
	late           bool // stopped for taking too long
	stdout, stderr headBuffer
}

// success returns the output and, if that is a JSON object, the same as structured. What it printed on stderr
// was for people who watch.
func (o *outcome) success() *sdk.Result {
	text := o.stdout.text()
	if text == "" {
		return &sdk.Result{}
	}
	r := sdk.Text(text)
	if r.Truncated = o.stdout.leftOut() > 0; r.Truncated {
		r.Content[0].Text += " Only the start is kept; ask for less at once."
	} else if printed := bytes.TrimSpace(o.stdout.kept); bytes.HasPrefix(printed, []byte("{")) && json.Valid(printed) {
		r.Structured = printed
	}
	return r
}

// failure is a result with the error; when the error does not hold all of the output, the content does.
func (o *outcome) failure(err *sdk.Error) (*sdk.Result, error) {
	r := &sdk.Result{Truncated: o.stdout.leftOut()+o.stderr.leftOut() > 0, Structured: o.structured()}
	if all := o.lines(maxOutput); err.Message != all {
		r.Add(sdk.TextContent(all))
	}
	return r, err
}

// stopped notes why the program was stopped, and says it: either everything it had started was, or what went wrong.
func (o *outcome) stopped(why string) string {
	trouble := o.err
	o.err = errors.New(why)
	if trouble == nil {
		return why + ", with everything it had started"
	}
	o.err = fmt.Errorf("%s; %w", why, trouble)
	return o.err.Error()
}

// ended is the sdk's error for a call that was canceled, with our own message.
func ended(ctx context.Context, text string) *sdk.Error {
	e := sdk.EndedError(ctx)
	e.Message = text
	return e
}

// structured is how the program failed, for programs. What it printed on stdout is in the text.
func (o *outcome) structured() json.RawMessage {
	return sdk.Details(map[string]any{
		"exit_code": o.exit.Code, "signal": o.exit.SignalName(), "duration_ms": o.exit.Duration.Milliseconds(),
		"stderr": strings.ToValidUTF8(string(o.stderr.kept), "\uFFFD"), "stdout_bytes": o.stdout.total,
		"stderr_bytes": o.stderr.total,
	})
}

// lines are the five lines in which Gemini CLI reports a failed tool to a model, with at most so much of each stream.
func (o *outcome) lines(most int) string {
	failed, code := "", ""
	if o.err != nil {
		failed = o.err.Error()
	}
	if o.exit.Signal == 0 && o.exit.Code >= 0 {
		code = strconv.Itoa(o.exit.Code)
	}
	return fmt.Sprintf("Stdout: %s\nStderr: %s\nError: %s\nExit Code: %s\nSignal: %s",
		cmp.Or(shortened(o.stdout.text(), most), "(empty)"), cmp.Or(shortened(o.stderr.text(), most), "(empty)"),
		cmp.Or(failed, "(none)"), cmp.Or(code, "(none)"), cmp.Or(o.exit.SignalName(), "(none)"))
}

// shortened leaves out the middle of text when it has more than so many bytes.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	front := textutil.Cut(text, most/2)
	back := textutil.TrimPartialStart([]byte(text[len(text)-most/2:]))
	return fmt.Sprintf("%s [... %d bytes left out ...] %s", front, len(text)-len(front)-len(back), back)
}

// An outputStream takes what a program prints: those who watch get all of it as it comes, the result its start.
type outputStream struct {
	live io.WriteCloser
	mu   sync.Mutex // a process that cannot be killed may print while the result is made
	head headBuffer
}

func newStream(r *sdk.Request, name string, keep int) *outputStream {
	return &outputStream{live: r.Writer(name), head: headBuffer{limit: keep}}
}

// Write never fails: a program must not end because its output is long.
func (s *outputStream) Write(p []byte) (int, error) {
	s.mu.Lock()
	_, _ = s.head.Write(p)
	s.mu.Unlock()
	return s.live.Write(p)
}

// close passes on the rest and gives what was kept.
func (s *outputStream) close() headBuffer {
	_ = s.live.Close() // never fails
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head
}

// headBuffer keeps the start of what a program prints. Its Write never fails: programs need not end because they print
// much.
type headBuffer struct {
	limit int
	over  func() // called once when there is more than the limit; may be nil
	kept  []byte
	total int64
}

func (h *headBuffer) Write(p []byte) (int, error) {
	fit := h.leftOut() == 0
	n := min(h.limit-len(h.kept), len(p))
	h.kept = append(h.kept, p[:n]...)
	h.total += int64(len(p))
	if fit && h.leftOut() > 0 && h.over != nil {
		h.over()
	}
	return len(p), nil
}

func (h *headBuffer) leftOut() int64 { return h.total - int64(len(h.kept)) }

// text returns the stored start, and a line that says so if that is not all.
func (h *headBuffer) text() string {
	if h.leftOut() == 0 {
		return string(h.kept)
	}
	kept := textutil.TrimPartialEnd(h.kept)
	return fmt.Sprintf("%s\n[... %d bytes left out ...]", kept, h.total-int64(len(kept)))
}

// A limit is how long a call may run, and says whose word that is when it is over.
type limit struct {
	proctree.Limits
	setting string // of the tool's own limit
}

// exceeded is the error that says what happened, and what would help: to raise the setting does only if that is what
// was too short.
func (l limit) exceeded(what string) *sdk.Error {
	e := &sdk.Error{Code: sdk.CodeTimeout, Name: "Timeout", Message: what,
		Suggestion: "Ask for less at once, or have the operator raise " + l.setting + "."}
	if l.Call != 0 {
		e.Message += "; the caller or the user's configuration sets the limit of the call, and " + l.setting +
			" cannot raise it"
		e.Suggestion = "Ask for less at once."
	}
	return e
}
