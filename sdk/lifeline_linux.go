package sdk

import (
	"os"
	"syscall"
)

// The host has the kernel kill a plugin whose host dies (PR_SET_PDEATHSIG). A plugin of this kit has a lifeline and
// can do better: wake up if it was stopped, let its handlers clean up, and take its own children along. The setting
// belongs to the thread that the process began with, and only init functions are sure to run on it.
func init() {
	if os.Getenv(EnvLifeline) == "stdin" {
		const prSetPdeathsig = 1
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetPdeathsig, uintptr(syscall.SIGCONT), 0)
	}
}
