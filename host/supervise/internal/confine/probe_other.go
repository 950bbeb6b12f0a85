//go:build !linux

package confine

// Here says that this system has the stage.
const Here = false

// Landlock is 0: there is none.
func Landlock() int { return 0 }

// Seccomp says that there are no filters of system calls.
func Seccomp() bool { return false }

// NoNewPrivileges says that programs can gain privileges.
func NoNewPrivileges() bool { return false }
