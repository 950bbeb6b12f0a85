//go:build unix

package fsutil

import (
	"os"
	"syscall"
)

// ErrLocked says that another process has the lock.
var ErrLocked error = syscall.EWOULDBLOCK

func openToLock(path string, flags int) (*os.File, error) {
	return os.OpenFile(path, flags|syscall.O_NOFOLLOW, 0o600)
}

// LockFile locks an open file for this process alone, or shared with others that do. It fails at once with [ErrLocked].
// A lock that this process has on the file already becomes the new one.
func LockFile(f *os.File, alone bool) error {
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	return syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
}

// UnlockFile ends the lock of LockFile.
func UnlockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
