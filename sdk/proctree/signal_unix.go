//go:build unix

package proctree

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// SignalName gives the name of the signal that ended the program, such as
// SIGKILL, or "" if none did. Numbers differ between systems, names do not.
func (e Exit) SignalName() string {
	if e.Signal == 0 {
		return ""
	}
	if name := unix.SignalName(e.Signal); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(e.Signal))
}
