package supervise

import (
	"errors"
	"os"
	"syscall"
)

// systemProblem is why plugins cannot run on this system at all; nil where they can.
func systemProblem() error {
	return &invalidError{errors.New("plugins do not run on Windows yet: toolhost can neither confine them there, nor tell " +
		"who is at the other end of a connection. Fix: run toolhost in WSL")}
}

const nonBlocking = 0

// signalGroup ends the process alone: there are no groups.
func signalGroup(pid int, _ syscall.Signal) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
		_ = p.Release()
	}
}

// hasEnded is not known before the process is waited for.
func hasEnded(*os.Process) bool { return false }

// readNow is not supported.
func readNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

// errnoName is not known.
func errnoName(syscall.Errno) string { return "" }

// ownFolder is true for a folder.
func ownFolder(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir()
}
