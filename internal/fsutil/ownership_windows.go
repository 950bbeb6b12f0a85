package fsutil

import (
	"errors"
	"io/fs"
	"os"
)

// An OwnershipError says that other users could change a file that is trusted.
type OwnershipError struct{ error }

// CheckOwnership fails if there is no such file. Access control lists are not examined: docs/security.md says so.
func CheckOwnership(path string) error {
	_, err := os.Stat(path)
	return err
}

// Trust says whose files are believed.
type Trust int

// Access control lists are not examined, so that all are the same.
const (
	OurFile Trust = iota
	OurOwnFile
	RootsFile
	NamedFile
)

// CheckWriters does nothing.
func CheckWriters(string, fs.FileInfo, Trust) error { return nil }

// CheckFolderWriters does nothing.
func CheckFolderWriters(string) error { return nil }

// OpenForReading opens a file.
func OpenForReading(path string) (*os.File, error) { return os.Open(path) }

// CheckPrivateDir fails unless dir is a folder.
func CheckPrivateDir(dir string) error {
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New(dir + " is not a folder")
	}
	return err
}

// openPrivate opens a regular file, whoever can read it.
func openPrivate(path string, flags int) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New(path + " is not a regular file")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, flags, 0o600)
}
