package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// shown is the part of a structured result that is about output.
type shown struct {
	Stdout      string `json:"stdout"`
	Stderr      string `json:"stderr"`
	Truncated   bool   `json:"truncated"`
	StdoutBytes int64  `json:"stdout_bytes"`
	StderrBytes int64  `json:"stderr_bytes"`
	StdoutFile  string `json:"stdout_file,omitempty"`
	StderrFile  string `json:"stderr_file,omitempty"`
}

func (v *view) shown() shown {
	return shown{
		Stdout: v.streams[stdout], StdoutBytes: v.totals[stdout], StdoutFile: v.paths[stdout],
		Stderr: v.streams[stderr], StderrBytes: v.totals[stderr], StderrFile: v.paths[stderr],
		Truncated: v.truncated,
	}
}

// outcome is the structured result of a command.
type outcome struct {
	shown
	ExitCode   *int     `json:"exit_code,omitempty"` // absent while it runs
	Signal     string   `json:"signal"`
	TimedOut   bool     `json:"timed_out"`
	DurationMS int64    `json:"duration_ms"`
	Job        *jobLine `json:"job,omitempty"`
}

func report(exit proctree.Exit, timedOut bool, v view) *sdk.Result {
	o := outcome{shown: v.shown(), ExitCode: &exit.Code, Signal: exit.SignalName(), TimedOut: timedOut, DurationMS: exit.Duration.Milliseconds()}
	left := exit.Killed
	if exit.Canceled {
		left = 0 // ended with the command, not left behind by it
	}
	text := v.text() + fate(exit, exit.Canceled)
	if left > 0 {
		text += fmt.Sprintf("Background processes ended with the call: %d\n", left)
	}
	text += v.where() + fmt.Sprintf("Duration: %v", exit.Duration.Round(time.Millisecond))
	return &sdk.Result{Content: []sdk.Content{sdk.TextContent(text)}, Structured: sdk.Encode(o), Truncated: v.truncated}
}

// text is the output as models read it well: as it was, in whole lines.
func (v *view) text() string {
	if v.combined == "" {
		return "(no output)\n"
	}
	return endLine(v.combined)
}

// where tells, in a line for each stream that is not shown in full, where all of it is.
func (v *view) where() string {
	if len(v.files) == 0 {
		return ""
	}
	return strings.Join(v.files, "\n") + "\n"
}

// fate is a line about an end that is worth one. That a command was stopped, and so the signal that did it, is for the
// error beside it to say.
func fate(exit proctree.Exit, stopped bool) string {
	switch {
	case exit.Signal != 0 && !stopped:
		return "Signal: " + exit.SignalName() + "\n"
	case exit.Code > 0:
		return fmt.Sprintf("Exit code: %d\n", exit.Code)
	}
	return ""
}
