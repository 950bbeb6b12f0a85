// Package fsutil checks who can change a file, locks files, and replaces files atomically.
package fsutil

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// TempPrefix begins the names of files that [WriteFile] has not completed, in the folder of the target.
const TempPrefix = ".new-"

// WriteFile replaces the file at path: after a crash it has the old content or the new one. The mode is subject to the
// umask.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	temp := filepath.Join(filepath.Dir(path), TempPrefix+rand.Text())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return commit(temp, path, errors.Join(err, f.Sync(), f.Close()))
}

// Symlink makes a symbolic link to target at path, and replaces a file or link that is there.
func Symlink(target, path string) error {
	temp := filepath.Join(filepath.Dir(path), TempPrefix+rand.Text())
	if err := os.Symlink(target, temp); err != nil {
		return err
	}
	return commit(temp, path, nil)
}

// commit renames temp to path, or removes it after an error.
func commit(temp, path string, err error) error {
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}
