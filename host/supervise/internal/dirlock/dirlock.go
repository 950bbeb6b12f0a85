// Package dirlock locks folders, for processes that share them to agree on who may remove one. A process that may
// read a folder can lock it: nothing may depend on a lock that can be had. On Windows a folder cannot be locked: a file
// in it is.
package dirlock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// errReplaced means that the folder at the path was another one once it was locked.
var errReplaced = errors.New("it is being replaced")

// Shared locks the folder at the path, which is no link, beside others that do; at once or not at all. Closing the
// file ends the lock. The error is fsutil.ErrLocked when another process has it alone.
func Shared(dir string) (*os.File, error) { return lock(dir, false) }

// Alone is Shared for a lock of this process alone.
func Alone(dir string) (*os.File, error) { return lock(dir, true) }

func lock(dir string, alone bool) (*os.File, error) {
	f, err := os.OpenFile(locked(dir), openFlags, 0o600)
	if err != nil {
		return nil, err
	}
	if err = fsutil.LockFile(f, alone); err == nil && !Is(f, dir) {
		err = errReplaced
	}
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, fsutil.ErrLocked):
		err = fmt.Errorf("another process has a lock on %s: %w", dir, err)
	default:
		err = fmt.Errorf("%s cannot be locked: %w", dir, err)
	}
	_ = f.Close()
	return nil, err
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
		if err = os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, false, err
		}
		made = err == nil
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

// passes reports whether a folder cannot be locked because it is being removed.
func passes(err error) bool {
	return errors.Is(err, fsutil.ErrLocked) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, errReplaced)
}

// Is reports whether the open folder is still the one at the path.
func Is(f *os.File, dir string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(locked(dir))
	return err == nil && os.SameFile(open, there)
}
