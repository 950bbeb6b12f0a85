//go:build !proctree_group

package proctree

import (
	"os"
	"syscall"
)

func init() {
	roles["hopper"] = func() { hop(false) }
	roles["hopper-setsid"] = func() { hop(true) }
}

// hop forks and exits continually, so that its pid is never the same for long.
// Only raw system calls are safe in a Go process that has forked without exec.
func hop(newSession bool) {
	_, _ = os.Stdout.WriteString("up\n")
	for {
		pid, _, _ := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if pid != 0 {
			_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
		if newSession {
			_, _, _ = syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
		}
	}
}
