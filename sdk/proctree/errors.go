package proctree

import (
	"errors"
	"fmt"
	"os/exec"
)

var (
	// ErrLost reports that the launcher or the program could not be followed to
	// its end, for example because the launcher was killed. The program was
	// started; what it did is unknown. Nothing of it is left, unless the error is
	// ErrLoose as well.
	ErrLost = errors.New("what the command did is not known")
	// ErrLoose comes with ErrLost if nobody can say that all of the tree has ended. In
	// a namespace the kernel sees to that when the launcher ends.
	ErrLoose = errors.New("processes it started may still run")
	// ErrLeft reports processes that survive SIGKILL: those of another user, or
	// stuck in the kernel. The launcher stays and goes on trying.
	ErrLeft = errors.New("processes could not be killed")
	// ErrNamespace reports a program that was not started, since it was to run in a process
	// namespace, which the system does not allow.
	ErrNamespace = errors.New("the system refuses a process namespace")
)

// StartError reports that the program was not started: none of its code ran.
type StartError struct {
	Path   string // as in Cmd
	Reason string // in words
	Err    error  // the cause, for errors.Is: fs.ErrNotExist, fs.ErrPermission, ...
}

// Error returns a text such as `exec: "nosuch": not found in PATH`.
func (e *StartError) Error() string { return fmt.Sprintf("exec: %q: %s", e.Path, e.Reason) }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// join joins two errors, and leaves a single one as it is.
func join(a, b error) error {
	if a == nil || b == nil {
		return errors.Join(a, b)
	}
	return fmt.Errorf("%w; %w", a, b)
}

// cutOff says which output is missing. To errors.Is it is exec.ErrWaitDelay,
// whose own text only tells Go programmers something.
type cutOff string

func (c cutOff) Error() string { return string(c) }
func (cutOff) Unwrap() error   { return exec.ErrWaitDelay }

// implied is an error along with another that its text already covers.
type implied struct {
	error
	other error
}

func (e implied) Unwrap() []error { return []error{e.error, e.other} }

// conclude joins what went wrong with the program and with its output. Output
// that loose processes hold open is cut off; "may still run" says so.
func conclude(run, output error) error {
	if errors.Is(run, ErrLoose) && errors.Is(output, exec.ErrWaitDelay) {
		return implied{run, output}
	}
	return join(run, output)
}
