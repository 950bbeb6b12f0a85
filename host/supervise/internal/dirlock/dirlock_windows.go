// Package dirlock locks folders, for processes that share them to agree on who may remove one. On Windows a folder
// cannot be locked: a file in it is.
package dirlock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/internal/fsutil"
)

const lockName = ".lock"

// Shared locks the folder at the path beside others that do; at once or not at all. Closing the file ends the lock.
func Shared(dir string) (*os.File, error) { return lock(dir, false) }

// Alone is Shared for a lock of this process alone.
func Alone(dir string) (*os.File, error) { return lock(dir, true) }

func lock(dir string, alone bool) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := fsutil.LockFile(f, alone); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Make makes a folder at the path, in one that is there, or finds it, and gives it as Shared does; made says which.
func Make(dir string, mode fs.FileMode) (f *os.File, made bool, err error) {
	if err = os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, false, err
	}
	made = err == nil
	f, err = Shared(dir)
	return f, made, err
}

// Upgrade turns a shared lock into one of this process alone, if no other process has it.
func Upgrade(f *os.File) bool { return fsutil.UnlockFile(f) == nil && fsutil.LockFile(f, true) == nil }

// Is reports whether the locked folder is still the one at the path.
func Is(f *os.File, dir string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(filepath.Join(dir, lockName))
	return err == nil && os.SameFile(open, there)
}
