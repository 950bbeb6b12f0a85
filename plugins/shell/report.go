package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// outcome is the structured result of a command.
type outcome struct {
	Stdout      string `json:"stdout"`
	Stderr      string `json:"stderr"`
	ExitCode    int    `json:"exit_code"`
	Signal      string `json:"signal"`
	TimedOut    bool   `json:"timed_out"`
	DurationMS  int64  `json:"duration_ms"`
	Truncated   bool   `json:"truncated"`
	StdoutBytes int64  `json:"stdout_bytes"`
	StderrBytes int64  `json:"stderr_bytes"`
}

func report(exit proctree.Exit, timedOut bool, stdout, stderr text) *sdk.Result {
	o := outcome{
		Stdout: stdout.shown, StdoutBytes: stdout.total,
		Stderr: stderr.shown, StderrBytes: stderr.total,
		ExitCode: exit.Code, Signal: exit.SignalName(),
		TimedOut: timedOut, DurationMS: exit.Duration.Milliseconds(),
		Truncated: stdout.leftOut+stderr.leftOut > 0,
	}
	left := exit.Killed
	if exit.Canceled {
		left = 0 // ended with the command, not left behind by it
	}
	return &sdk.Result{Content: []sdk.Content{sdk.TextContent(o.text(exit.Canceled, left))}, Structured: encoded(o), Truncated: o.Truncated}
}

// text is the outcome as models read it well: the output as it was, then one line for each thing worth knowing. That a
// command was stopped, and so the signal that did it, is for the error beside it to say.
func (o *outcome) text(stopped bool, killed int) string {
	var b strings.Builder
	b.WriteString(endLine(o.Stdout))
	if o.Stderr != "" {
		b.WriteString("Stderr:\n" + endLine(o.Stderr))
	}
	if b.Len() == 0 {
		b.WriteString("(no output)\n")
	}
	switch {
	case o.Signal != "" && !stopped:
		fmt.Fprintf(&b, "Signal: %s\n", o.Signal)
	case o.ExitCode > 0:
		fmt.Fprintf(&b, "Exit code: %d\n", o.ExitCode)
	}
	if killed > 0 {
		fmt.Fprintf(&b, "Background processes ended with the call: %d\n", killed)
	}
	fmt.Fprintf(&b, "Duration: %v", time.Duration(o.DurationMS)*time.Millisecond)
	return b.String()
}

// encoded writes JSON with <, > and & as they are, which keeps it as small as the output was.
func encoded(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil
	}
	return bytes.TrimSpace(b.Bytes())
}
