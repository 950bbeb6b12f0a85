package sdk

import (
	"os"
	"syscall"
	"unsafe"

	"github.com/toolhost/toolhost/internal/wire"
)

// A plugin that is stopped (SIGSTOP) when its host dies does not see the end of its lifeline: the kernel wakes it
// (SIGCONT), so that its handlers can clean up. A plugin with a launcher is killed by PR_SET_PDEATHSIG instead, which
// is left unchanged. The setting belongs to the thread that the process began with, and only init functions are sure
// to run on it.
func init() {
	const prSetPdeathsig, prGetPdeathsig = 1, 2
	var set int32
	_, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, prGetPdeathsig, uintptr(unsafe.Pointer(&set)), 0)
	if os.Getenv(wire.EnvLifeline) == "stdin" && e == 0 && set == 0 {
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetPdeathsig, uintptr(syscall.SIGCONT), 0)
	}
}
