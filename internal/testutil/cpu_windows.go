package testutil

import (
	"time"

	"golang.org/x/sys/windows"
)

// processTime is how much processor time this process has taken.
func processTime() (time.Duration, error) {
	var created, exited, kernel, user windows.Filetime // in steps of 100 ns, but for the first two
	err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user)
	steps := func(t windows.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
	return time.Duration(steps(kernel)+steps(user)) * 100, err
}
