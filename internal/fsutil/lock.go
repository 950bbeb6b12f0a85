package fsutil

import (
	"context"
	"errors"
	"os"
	"time"
)

// lockRetry is the pause between two tries of [Lock].
const lockRetry = 10 * time.Millisecond

// Lock is [TryLock] that retries until ctx ends; then its error is [ErrLocked] and the cause of ctx.
func Lock(ctx context.Context, path string, flags int) (*os.File, error) {
	t := time.NewTicker(lockRetry)
	defer t.Stop()
	for {
		f, err := TryLock(path, flags)
		if !errors.Is(err, ErrLocked) {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(err, context.Cause(ctx))
		case <-t.C:
		}
	}
}

// TryLock opens the file or folder at path, which must be no symbolic link, with the flags, such as
// os.O_RDWR|os.O_CREATE, and locks it for this process alone; on Windows, for a folder, a file in it. Closing the file,
// or the end of the process, unlocks it. It fails at once with [ErrLocked].
func TryLock(path string, flags int) (*os.File, error) {
	f, err := openToLock(path, flags)
	if err != nil {
		return nil, err
	}
	if err := LockFile(f, true); err != nil {
		_ = f.Close()
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return f, nil
}

// Locked reports whether a process has locked the file at path by [TryLock]. Any number may ask at once; a TryLock at
// that moment may fail.
func Locked(path string) bool {
	f, err := openToLock(path, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close() // which unlocks it
	return errors.Is(LockFile(f, false), ErrLocked)
}
