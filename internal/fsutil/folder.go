package fsutil

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// FolderError adds to an error of the file system what to do about the folder dir: otherwise says how to use another
// one, such as "set XDG_STATE_HOME to another folder". Other errors are returned as they are.
func FolderError(err error, dir, otherwise string) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w. Fix: free space for %s, or %s", err, dir, otherwise)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist),
		errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return fmt.Errorf("%w. Fix: make %s a folder that this user can write to, or %s", err, dir, otherwise)
	}
	return err
}
