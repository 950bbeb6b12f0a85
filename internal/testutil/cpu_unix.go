//go:build unix

package testutil

import (
	"syscall"
	"time"
)

// processTime is how much processor time this process has taken.
func processTime() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}
