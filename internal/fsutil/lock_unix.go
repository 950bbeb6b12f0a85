//go:build unix

package fsutil

import (
	"os"
	"syscall"
)

// ErrLocked says that another process has the lock.
var ErrLocked error = syscall.EWOULDBLOCK

// TryLock opens the file or folder at path, which must be no symbolic link, with the flags, such as
// os.O_RDWR|os.O_CREATE, and locks it for this process alone. Closing the file, or the end of the process, unlocks it.
// It fails at once with [ErrLocked].
func TryLock(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return f, nil
}
