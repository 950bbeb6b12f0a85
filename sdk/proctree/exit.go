package proctree

import (
	"fmt"
	"syscall"
	"time"
)

// Exit says how a program ended.
type Exit struct {
	// Code is the exit code, or -1 if a signal ended the program or its end is
	// not known.
	Code int
	// Signal is the signal that ended the program, 0 if none did.
	Signal syscall.Signal
	// Canceled says that the context ended before the program did.
	Canceled bool
	// Killed counts the processes that the program left behind and that had to
	// be killed. It is known for the containment "process-tree" only.
	Killed int
	// Duration is the time from the start to the end of the program itself.
	Duration time.Duration
}

// String returns a text such as "exit code 3" or "killed by SIGKILL (canceled)".
func (e Exit) String() string {
	text := fmt.Sprintf("exit code %d", e.Code)
	if e.Signal != 0 {
		text = "killed by " + e.SignalName()
	}
	if e.Canceled {
		text += " (canceled)"
	}
	return text
}

// exitOf translates what wait says.
func exitOf(w syscall.WaitStatus, took time.Duration) Exit {
	e := Exit{Code: w.ExitStatus(), Duration: took}
	if w.Signaled() {
		e.Signal = w.Signal()
	}
	return e
}
