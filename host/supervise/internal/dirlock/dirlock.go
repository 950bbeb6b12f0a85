//go:build unix

// Package dirlock locks folders, for processes that share them to agree on who may remove one. Whoever may read a folder can
// lock it: nothing may depend on a lock that can be had.
package dirlock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrReplaced says that the folder at the path was another one once it was locked.
var ErrReplaced = errors.New("it is being replaced")

// Shared locks the folder at the path, which is no link, beside others that do; at once or not at all. Closing the file ends
// the lock. The error is EWOULDBLOCK when another process has it alone, and ErrReplaced.
func Shared(dir string) (*os.File, error) { return lock(dir, syscall.LOCK_SH) }

// Alone is Shared for one that nobody else has.
func Alone(dir string) (*os.File, error) { return lock(dir, syscall.LOCK_EX) }

func lock(dir string, how int) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); err == nil && !Is(f, dir) {
		err = ErrReplaced
	}
	if err != nil {
		_ = f.Close()
		return nil, lockError(dir, err)
	}
	return f, nil
}

func lockError(dir string, err error) error {
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("another process has a lock on %s: %w", dir, err)
	}
	return fmt.Errorf("%s cannot be locked: %w", dir, err)
}

// Upgrade says whether a shared lock could be made one that nobody else has.
func Upgrade(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// Is says whether the open folder is still the one at the path.
func Is(f *os.File, dir string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(dir)
	return err == nil && os.SameFile(open, there)
}
