package proctree

import (
	"errors"
	"fmt"
)

var (
	// ErrLost reports that the launcher or the program could not be followed to
	// its end, for example because the launcher was killed. The program was
	// started; what it did is unknown, and processes that it started may live.
	ErrLost = errors.New("lost track of the program")
	// ErrLeft reports processes that survive SIGKILL: those of another user, or
	// stuck in the kernel. The launcher stays and goes on trying.
	ErrLeft = errors.New("processes could not be killed")
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
