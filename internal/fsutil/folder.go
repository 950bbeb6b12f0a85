package fsutil

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// UserFolder is toolhost's folder among those of the user's programs: in the folder that a variable of the XDG
// specification names, which ignores relative ones, otherwise below the home folder.
func UserFolder(variable string, belowHome ...string) (string, error) {
	dir := os.Getenv(variable)
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(append([]string{home}, belowHome...)...)
	}
	return filepath.Join(dir, "toolhost"), nil
}

// OpenPrivate opens a regular file of this user that no other user can read or write. It follows no link at path and
// never blocks. On Windows it looks only at whether the file is a regular one.
func OpenPrivate(path string) (*os.File, error) { return openPrivate(path, os.O_RDONLY) }

// AppendPrivate is [OpenPrivate] for writing at the end of the file, which is made with mode 0600 if it is not there.
func AppendPrivate(path string) (*os.File, error) {
	return openPrivate(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
}

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
