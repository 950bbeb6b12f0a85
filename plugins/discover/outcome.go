package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

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
	stdout, stderr head
}

// success is what the program printed and, if that is a JSON object, the same as structured. What it printed on stderr
// was for people who watch.
func (o *outcome) success() *sdk.Result {
	text := o.stdout.text()
	if text == "" {
		return &sdk.Result{}
	}
	r := sdk.Text(text)
	if r.Truncated = o.stdout.leftOut() > 0; r.Truncated {
		r.Content[0].Text += " Only the start is kept; ask for less at once."
	}
	if !r.Truncated {
		r.Structured = structured(o.stdout.kept)
	}
	return r
}

// structured gives a JSON object, nil for anything else.
func structured(printed []byte) json.RawMessage {
	printed = bytes.TrimSpace(printed)
	if len(printed) == 0 || printed[0] != '{' || !json.Valid(printed) {
		return nil
	}
	return printed
}

// failure is a result with the error; when the error does not hold all of the output, the content does.
func (o *outcome) failure(err *sdk.Error) (*sdk.Result, error) {
	r := &sdk.Result{Truncated: o.stdout.leftOut()+o.stderr.leftOut() > 0, Structured: o.structured()}
	if all := o.lines(maxOutput); err.Message != all {
		r.Add(sdk.TextContent(all))
	}
	return r, err
}

// timeout is a failure with the error that says so.
func (o *outcome) timeout(c command, l limit) (*sdk.Result, error) {
	what := o.stopped(fmt.Sprintf("not done after %v, and stopped", l.Shown(l.Run)))
	return o.failure(l.exceeded(fmt.Sprintf("%s was %s", c.short(), what)))
}

// canceled is a failure too: what was printed until then may still be of use.
func (o *outcome) canceled(ctx context.Context, c command) (*sdk.Result, error) {
	what := o.stopped("canceled, and stopped")
	return o.failure(ended(ctx, fmt.Sprintf("%s was %s", c.short(), what)))
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

// ended is the sdk's error for a call that was canceled, in words of our own.
func ended(ctx context.Context, text string) *sdk.Error {
	e := sdk.EndedError(ctx)
	e.Message = text
	return e
}

// structured is how the program failed, for programs. What it printed on stdout is in the text.
func (o *outcome) structured() json.RawMessage {
	return sdk.Details(map[string]any{
		"exit_code": o.exit.Code, "signal": o.exit.SignalName(), "duration_ms": o.exit.Duration.Milliseconds(),
		"stderr": strings.ToValidUTF8(string(o.stderr.kept), "\uFFFD"), "stdout_bytes": o.stdout.total, "stderr_bytes": o.stderr.total,
	})
}

// lines are the five lines by which Gemini CLI tells a model of a tool that failed, with at most so much of each stream.
func (o *outcome) lines(most int) string {
	failed, code := "", ""
	if o.err != nil {
		failed = o.err.Error()
	}
	if o.exit.Signal == 0 && o.exit.Code >= 0 {
		code = strconv.Itoa(o.exit.Code)
	}
	return fmt.Sprintf("Stdout: %s\nStderr: %s\nError: %s\nExit Code: %s\nSignal: %s",
		or(shortened(o.stdout.text(), most), "(empty)"), or(shortened(o.stderr.text(), most), "(empty)"),
		or(failed, "(none)"), or(code, "(none)"), or(o.exit.SignalName(), "(none)"))
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// shortened leaves out the middle of text when it has more than so many bytes.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	front := clip(text, most/2)
	back := sdk.WholeStart([]byte(text[len(text)-most/2:]))
	return fmt.Sprintf("%s [... %d bytes left out ...] %s", front, len(text)-len(front)-len(back), back)
}
