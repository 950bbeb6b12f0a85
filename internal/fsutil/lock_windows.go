package fsutil

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// ErrLocked says that another process has the lock.
var ErrLocked error = windows.ERROR_LOCK_VIOLATION

// lockedAt is the byte that is locked, far behind any content: the system keeps others from reading what is locked.
const lockedAt = 1 << 30

// openToLock opens, for a folder, a file in it: folders cannot be locked.
func openToLock(path string, flags int) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path, flags = filepath.Join(path, ".toolhost.lock"), os.O_RDWR|os.O_CREATE
	}
	return os.OpenFile(path, flags, 0o600)
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
