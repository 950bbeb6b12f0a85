package sdk

import (
	"os"
	"syscall"
	"unsafe"
)

// A plugin that is stopped when its host dies does not see that its lifeline is cut: the kernel is to wake it, so that its
// handlers can clean up. Where the plugin has a launcher, the kernel is to kill it with that (PR_SET_PDEATHSIG), and this
// stays so. The setting belongs to the thread that the process began with, and only init functions are sure to run on it.
func init() {
	const prSetPdeathsig, prGetPdeathsig = 1, 2
	var set int32
	_, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, prGetPdeathsig, uintptr(unsafe.Pointer(&set)), 0)
	if os.Getenv(EnvLifeline) == "stdin" && e == 0 && set == 0 {
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetPdeathsig, uintptr(syscall.SIGCONT), 0)
	}
}
