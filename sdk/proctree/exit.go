package proctree

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// Exit is how a program ended.
type Exit struct {
	// Code is the exit code, or -1 if a signal ended the program or the end is not known.
	Code int
	// Signal is the signal that ended the program, 0 if none did.
	Signal syscall.Signal
	// Canceled reports that the context ended before the program did.
	Canceled bool
	// Killed counts the processes that the program left behind and that had to
	// be killed. It is known for the containment "process-tree" only.
	Killed int
	// Duration is the time from the start of the program to its own end.
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

// exitOf converts the status of wait.
func exitOf(w syscall.WaitStatus, took time.Duration) Exit {
	e := Exit{Code: w.ExitStatus(), Duration: took}
	if w.Signaled() {
		e.Signal = w.Signal()
	}
	return e
}

var (
	// ErrLost reports that the launcher or the program could not be followed to its end, for example because the
	// launcher was killed. The program was started; its effects are unknown. No process of it is left, unless the error
	// is ErrLoose as well.
	ErrLost = errors.New("what the command did is not known")
	// ErrLoose comes with ErrLost if processes of the tree may still run. In a namespace the kernel ends them when the
	// launcher ends.
	ErrLoose = errors.New("processes it started may still run")
	// ErrLeft reports processes that survive SIGKILL: those of another user, or
	// stuck in the kernel. The launcher stays and continues to try.
	ErrLeft = errors.New("processes could not be killed")
	// ErrNamespace reports a program that was not started because the system does not
	// allow the process namespace that it needs.
	ErrNamespace = errors.New("the system refuses a process namespace")
)

// StartError reports that the program was not started: none of its code ran.
type StartError struct {
	Path   string // as in Cmd
	Reason string // for people
	Err    error  // the cause, for errors.Is: fs.ErrNotExist, fs.ErrPermission, ...
}

// Error returns a text such as `exec: "nosuch": not found in PATH`.
func (e *StartError) Error() string { return fmt.Sprintf("exec: %q: %s", e.Path, e.Reason) }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// LauncherError comes with ErrLost if the launcher has ended without a report, or does not end. Where it has ended, the
// kernel has killed the program.
type LauncherError struct {
	Fate string // "was killed (SIGKILL)", "ended too early (exit status 2)"
}

// Error returns a text such as "the watcher of the command was killed (SIGKILL)".
func (e *LauncherError) Error() string { return "the watcher of the command " + e.Fate }

// join joins two errors, and returns a single one unchanged.
func join(a, b error) error {
	if a == nil || b == nil {
		return errors.Join(a, b)
	}
	return fmt.Errorf("%w; %w", a, b)
}

// cutOff is an error about missing output. For errors.Is it is exec.ErrWaitDelay, whose own text only Go programmers
// understand.
type cutOff string

func (c cutOff) Error() string { return string(c) }
func (cutOff) Unwrap() error   { return exec.ErrWaitDelay }

// implied is an error joined to another whose text already covers it.
type implied struct {
	error
	other error
}

func (e implied) Unwrap() []error { return []error{e.error, e.other} }

// runError joins the errors of the program and of its output. Output that loose processes hold open is cut off; "may
// still run" implies it.
func runError(run, output error) error {
	if errors.Is(run, ErrLoose) && errors.Is(output, exec.ErrWaitDelay) {
		return implied{run, output}
	}
	return join(run, output)
}
