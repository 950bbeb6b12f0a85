//go:build unix

// Package dirlock locks folders, for processes that share them to agree on who may remove one. A process that may
// read a folder can lock it: nothing may depend on a lock that can be had.
package dirlock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// errReplaced means that the folder at the path was another one once it was locked.
var errReplaced = errors.New("it is being replaced")

// Shared locks the folder at the path, which is no link, beside others that do; at once or not at all. Closing the
// file ends the lock. The error is EWOULDBLOCK when another process has it alone.
func Shared(dir string) (*os.File, error) { return lock(dir, syscall.LOCK_SH) }

// Alone is Shared for a lock of this process alone.
func Alone(dir string) (*os.File, error) { return lock(dir, syscall.LOCK_EX) }

func lock(dir string, how int) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); err == nil && !Is(f, dir) {
		err = errReplaced
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

// A host that removes a folder locks it alone for a moment; what locks it for longer than all tries is no host.
const (
	tries = 300
	pause = time.Millisecond
)

// Make makes a folder at the path, in one that is there, or finds it, and gives it as Shared does; made says which.
// One that is being removed is waited for, 300 pauses of a millisecond at most. What was made and cannot be locked at
// all is removed.
func Make(dir string, mode fs.FileMode) (f *os.File, made bool, err error) {
	for range tries {
		if made, err = mkdir(dir, mode); err != nil {
			return nil, false, err
		}
		if f, err = Shared(dir); !passes(err) {
			break
		}
		time.Sleep(pause)
	}
	if err != nil && made && !passes(err) { // there are file systems without locks
		_ = syscall.Rmdir(dir)
	}
	return f, made, err
}

func mkdir(dir string, mode fs.FileMode) (made bool, err error) {
	if err = os.Mkdir(dir, mode); errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// passes reports whether a folder cannot be locked because it is being removed.
func passes(err error) bool {
	return errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, errReplaced)
}

// Upgrade turns a shared lock into one of this process alone, if no other process has it.
func Upgrade(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// Is reports whether the open folder is still the one at the path.
func Is(f *os.File, dir string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(dir)
	return err == nil && os.SameFile(open, there)
}
