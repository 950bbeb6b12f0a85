//go:build unix

package fsutil

import (
	"errors"
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

// Locked reports whether a process has locked the file at path by [TryLock]. Any number may ask at once; a TryLock at
// that moment may fail.
func Locked(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer f.Close() // which unlocks it
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), ErrLocked)
}
