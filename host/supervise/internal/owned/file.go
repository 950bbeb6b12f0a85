//go:build unix

// Package owned tells what is the user's alone from what others could change, and keeps small files in folders of the
// former kind.
package owned

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Folder says what is wrong with a folder to keep things in that are believed or run: it must be the user's alone, and so
// must be the way to it. What others could change is an [*Error].
func Folder(dir string) error {
	if err := Check(dir); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(stat.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return errors.New(dir + " must be a folder that is yours alone (mode 0700)")
	}
	return nil
}

// Open opens a file for reading that is the user's alone: a regular one, no link, which nobody else may even read. It never
// waits.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || int(stat.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		_ = f.Close()
		return nil, fmt.Errorf("%s is not a file of yours alone", path)
	}
	return f, nil
}

// Write writes a file of the user's alone, whole or not at all; what cannot be written is not there. The pattern, as
// [os.CreateTemp] takes it, is of the names of files that are not complete.
func Write(path, pattern string, text []byte) {
	f, err := os.CreateTemp(filepath.Dir(path), pattern)
	if err != nil {
		return
	}
	_, err = f.Write(text)
	if errors.Join(err, f.Close()) != nil || os.Rename(f.Name(), path) != nil {
		_ = os.Remove(f.Name())
	}
}
