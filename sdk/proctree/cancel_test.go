//go:build unix

package proctree

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCancel(t *testing.T) {
	const short, long = 150 * time.Millisecond, 2 * patience
	tests := []struct {
		name   string
		script string // says "up" when it is to be canceled
		grace  time.Duration
		code   int
		signal syscall.Signal
		output string
		least  time.Duration // from "up" to the end of Run
	}{
		{name: "ends on SIGTERM", script: "echo up; exec sleep 1000", grace: long,
			code: -1, signal: syscall.SIGTERM, output: "up\n"},
		{name: "cleans up on SIGTERM", script: "trap 'echo bye; exit 7' TERM; echo up; sleep 1000 & wait; wait", grace: long,
			code: 7, output: "up\nbye\n"},
		{name: "ignores SIGTERM", script: "trap '' TERM; echo up; while :; do sleep 1000; done", grace: short,
			code: -1, signal: syscall.SIGKILL, output: "up\n", least: short},
		{name: "no grace", script: "trap 'echo bye' TERM; echo up; while :; do sleep 1000; done", grace: -1,
			code: -1, signal: syscall.SIGKILL, output: "up\n"},
		{name: "is stopped", script: "echo up; kill -STOP $$", grace: long,
			code: -1, signal: syscall.SIGTERM, output: "up\n"},
		{name: "has a child that ignores SIGTERM", script: "(trap '' TERM; sleep 1000) & trap 'exit 3' TERM; echo up; wait", grace: long,
			code: 3, output: "up\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(bounded(t))
			var up time.Time
			out := &trigger{text: "up", do: func() { up = time.Now(); cancel() }}
			c, _ := script(test.script)
			c.Grace, c.Stdout, c.Stderr = test.grace, out, out
			exit, err := c.Run(ctx)
			took := time.Since(up)
			if err != nil || exit.Code != test.code || exit.Signal != test.signal || !exit.Canceled {
				t.Errorf("Run: %v, %v", exit, err)
			}
			if out.String() != test.output || !strings.HasSuffix(exit.String(), "(canceled)") {
				t.Errorf("output is %q, exit is %q", out, exit)
			}
			if took < test.least || took > long/2 {
				t.Errorf("stopping took %v, want at least %v, and not the %v of a missed signal", took, test.least, long)
			}
		})
	}
}

func TestGrace(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{0: 2 * time.Second, time.Hour: time.Hour, -1: -1} {
		if got := (&Cmd{Grace: given}).grace(); got != want {
			t.Errorf("a Grace of %v gives %v, want %v", given, got, want)
		}
	}
}

// A late is a context whose deadline passes when the test says so.
type late struct {
	context.Context
	passed chan struct{}
}

func (l late) Done() <-chan struct{} { return l.passed }

func (l late) Err() error {
	if within(l.passed, 0) {
		return context.DeadlineExceeded
	}
	return nil
}

func TestDeadline(t *testing.T) {
	ctx := late{t.Context(), make(chan struct{})}
	c, _ := script("exec sleep 1000")
	c.Grace, c.Started = time.Hour, func(int) { close(ctx.passed) }
	exit, err := begin(ctx, c).end(t, patience)
	if err != nil || !exit.Canceled || exit.Signal != syscall.SIGTERM {
		t.Errorf("Run: %v, %v, want terminated and canceled", exit, err)
	}
}

// Wherever the start has got to, the signal must arrive.
func TestCancelAtAnyTime(t *testing.T) {
	for i := range 60 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Microsecond)
		defer cancel()
		c, _ := script("sleep 1000 & sleep 1000")
		c.Grace = time.Hour
		exit, err := begin(ctx, c).end(t, patience)
		if _, ok := errors.AsType[*StartError](err); !ok && (err != nil || !exit.Canceled || exit.Signal != syscall.SIGTERM) {
			t.Errorf("canceled after %d00us: %v, %v", i, exit, err)
		}
	}
}
