//go:build unix

package local

import (
	"errors"
	"syscall"
)

// gone reports whether no process has a number.
func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
