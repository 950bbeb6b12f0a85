package confine

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock gives the version of Landlock's interface that the kernel offers, 0 for none.
func Landlock() int {
	abi, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// Seccomp says whether the kernel takes filters of system calls that kill, and whether we have one for this processor.
func Seccomp() bool {
	action := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	_, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0 && architecture() != 0
}

// NoNewPrivileges says whether the kernel can keep programs from gaining privileges.
func NoNewPrivileges() bool {
	_, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	return err == nil
}
