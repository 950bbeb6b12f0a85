package fsutil

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// ErrLocked says that another process has the lock.
var ErrLocked error = windows.ERROR_LOCK_VIOLATION

// lockedAt is the byte that is locked, far behind any content: the system keeps others from reading what is locked.
const lockedAt = 1 << 30

// TryLock opens the file at path with the flags, such as os.O_RDWR|os.O_CREATE, and locks it for this process alone; for
// a folder, a file in it. Closing the file, or the end of the process, unlocks it. It fails at once with [ErrLocked].
func TryLock(path string, flags int) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path, flags = filepath.Join(path, ".toolhost.lock"), os.O_RDWR|os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := LockFile(f, true); err != nil {
		_ = f.Close()
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return f, nil
}

// LockFile locks an open file for this process alone, or shared with others that do. It fails at once with [ErrLocked].
func LockFile(f *os.File, alone bool) error {
	var flags uint32 = windows.LOCKFILE_FAIL_IMMEDIATELY
	if alone {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: lockedAt})
}

// UnlockFile ends the lock of LockFile.
func UnlockFile(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{OffsetHigh: lockedAt})
}

// Locked reports whether a process has locked the file at path by [TryLock]. Any number may ask at once; a TryLock at
// that moment may fail.
func Locked(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() // which unlocks it
	return errors.Is(LockFile(f, false), ErrLocked)
}
