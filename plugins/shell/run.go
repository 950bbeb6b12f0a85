package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"syscall"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// errTimeout is why the context of a command ended that ran too long.
var errTimeout = errors.New("timed out")

// attach passes the command's output to the transcript and, live, to those who watch the call. Close sends the rest.
func (t *transcript) attach(cmd *proctree.Cmd, r *sdk.Request) (closeLive func()) {
	out, errs := newLiveOutput(r.Writer("stdout")), newLiveOutput(r.Writer("stderr"))
	if cmd.Terminal != nil {
		t.typing = &terminalText{}
		cmd.Stdout = &screen{sink{t, stdout, out}}
	} else {
		cmd.Stdout, cmd.Stderr = &sink{t, stdout, out}, &sink{t, stderr, errs}
		cmd.InOrder = true
	}
	return func() {
		for _, w := range []*liveOutput{out, errs} {
			_ = w.Close() // never fails
		}
	}
}

// run runs the command and makes a result however it ends.
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
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidArguments", Message: fmt.Sprintf(format, a...) +
		"; nothing was run"}
}

// canceled reports a command whose caller gave up, and the failure to stop it, if any.
func canceled(ctx context.Context, trouble error) error {
	text := "the call was canceled and the command was stopped"
	if trouble != nil {
		return ended(ctx, text+"; "+trouble.Error())
	}
	return ended(ctx, text+", with everything it had started")
}

// ended is the sdk's error for a canceled call, with our own message.
func ended(ctx context.Context, text string) error {
	e := sdk.EndedError(ctx)
	e.Message = text
	return e
}

// notStarted says why no part of the command ran.
func notStarted(ctx context.Context, err *proctree.StartError, l limit) error {
	switch {
	case ctx.Err() != nil:
		return ended(ctx, "the call was canceled before the command was started; nothing was run")
	case errors.Is(err, context.DeadlineExceeded):
		return l.tooShort()
	case errors.Is(err, syscall.E2BIG):
		return &sdk.Error{Name: "CommandTooLong",
			Message:    "the command and its environment are longer than the system allows; nothing was run",
			Suggestion: "Pass long text through stdin, run it with the tool script, or write a file first."}
	}
	return &sdk.Error{Name: "NotStarted", Message: "the shell was not started: " + err.Error() + "; nothing was run",
		Suggestion: spent(err), Retryable: true}
}

// spent returns what to do where a start failed because the system has no more of something, otherwise "".
func spent(err error) string {
	const later = "Try again when less is running. If that does not help, ask the user to "
	switch {
	case errors.Is(err, syscall.EAGAIN):
		return later + "end some processes, or to raise their limit (ulimit -u)."
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return later + "raise the limit of open files (ulimit -n)."
	case errors.Is(err, syscall.ENOMEM):
		return later + "free memory."
	}
	return ""
}

// incomplete makes the error for a command that ran but was not followed to its end.
func incomplete(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, proctree.ErrLost):
		return &sdk.Error{Name: "OutcomeUnknown", Outcome: sdk.OutcomeUnknown, Message: err.Error(),
			Suggestion: "Check what the command should have changed before you repeat it."}
	case errors.Is(err, proctree.ErrLeft):
		return &sdk.Error{Name: "ProcessesLeft", Message: "the command ended, but " + err.Error(),
			Suggestion: "Continue; tell the user about the processes if they cause problems, since only the user can end them."}
	}
	return &sdk.Error{Name: "OutputIncomplete", Message: "some of the output is missing: " + err.Error(),
		Suggestion: "Run it again with the output in a file, if it may run twice."}
}

// The two streams of a command. A terminal has only the first.
const (
	stdout = iota
	stderr
)

var streamNames = [2]string{"stdout", "stderr"}

// A transcript is the bounded output of a command: of each stream the start and the end, the order of their lines,
// and a file with more of a stream that is too long.
type transcript struct {
	mu      sync.Mutex // a process that cannot be killed may print while the result is made
	streams [2]stream
	runs    []run
	prune   int           // most runs that are kept
	typing  *terminalText // the current line of a terminal, or nil
	begun   chan struct{} // closed at the first output
}

// A stream is one of the two.
type stream struct {
	headTail headTail
	lines    int64 // end of the last whole line
	file     spillFile
}

// A run is lines of one stream without lines of the other between them.
type run struct {
	stream   int
	from, to int64
}

const fewRuns = 1024

func newTranscript(keep int, files *sessionOutput) *transcript {
	t := &transcript{prune: fewRuns, begun: make(chan struct{})}
	for i := range t.streams {
		t.streams[i] = stream{headTail: headTail{half: keep / 2}, file: spillFile{sessionOutput: files, name: streamNames[i]}}
	}
	return t
}

// add adds output. It never fails: the command must not end because its output is long.
func (t *transcript) add(i int, p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.append(i, p)
}

func (t *transcript) append(i int, p []byte) {
	if len(p) == 0 {
		return
	}
	t.begin()
	s := &t.streams[i]
	s.file.follow(&s.headTail, p)
	before := s.headTail.total
	s.headTail.add(p)
	if end := bytes.LastIndexByte(p, '\n'); end >= 0 {
		t.line(i, before+int64(end)+1)
	}
}

// begin marks that there is output.
func (t *transcript) begin() {
	select {
	case <-t.begun:
	default:
		close(t.begun)
	}
}

// line records that the lines of a stream reach to here.
func (t *transcript) line(i int, to int64) {
	s := &t.streams[i]
	if n := len(t.runs); n > 0 && t.runs[n-1].stream == i {
		t.runs[n-1].to = to
	} else {
		t.runs = append(t.runs, run{i, s.lines, to})
	}
	s.lines = to
	if len(t.runs) >= t.prune {
		t.forget()
		t.prune = max(fewRuns, 2*len(t.runs))
	}
}

// forget drops runs without kept bytes, so that there are never more than twice as many as bytes kept.
func (t *transcript) forget() {
	t.runs = slices.DeleteFunc(t.runs, func(r run) bool {
		k := &t.streams[r.stream].headTail
		return r.from >= int64(len(k.head)) && r.to <= k.total-int64(len(k.tail))
	})
}

// close closes the files; they can still be read.
func (t *transcript) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.typing != nil {
		t.append(stdout, t.typing.flush())
	}
	for i := range t.streams {
		t.streams[i].file.close()
	}
}

// A sink is the writer for one stream: people who watch the call get everything as it arrives, the transcript keeps
// what it can.
type sink struct {
	transcript *transcript
	stream     int
	liveOutput io.Writer
}

func (s *sink) Write(p []byte) (int, error) {
	s.transcript.add(s.stream, p)
	return s.liveOutput.Write(p)
}

// A screen is the writer for a terminal: the transcript gets its text without control sequences.
type screen struct{ sink }

func (s *screen) Write(p []byte) (int, error) {
	t := s.transcript
	t.mu.Lock()
	t.append(stdout, t.typing.write(p))
	if len(t.typing.line) > 0 {
		t.begin()
	}
	t.mu.Unlock()
	return s.liveOutput.Write(p)
}
