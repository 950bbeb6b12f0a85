//go:build unix

package binaries

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/host/supervise/internal/dirlock"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// makeFolder makes a folder for programs with what is above it.
func makeFolder(dir string) error { return fit(dir, os.MkdirAll(dir, 0o700)) }

// makeInside makes one in a folder that is there: it does not come back when its owner has removed that.
func makeInside(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return fit(dir, err)
}

// fit says what is wrong with a folder for programs that was made, or not.
func fit(dir string, err error) error {
	if err == nil && !runsPrograms(dir) {
		err = errors.New(dir + " is on a file system that runs no programs (noexec)")
	}
	if err == nil {
		err = fsutil.CheckPrivateDir(dir)
	}
	if err != nil {
		return fmt.Errorf("copies of checked programs cannot be kept: %w", err)
	}
	return nil
}

// The folder of a copy has two kinds of locks. Those who use the copy share one; who removes it wants one alone, and gives
// up at once. Any process that can read the folder can take either, and a plugin may be one: so nobody waits long for a
// lock, and nothing but the life of a copy depends on one.

// claim makes the folder, or finds it, and holds it until the file is closed.
func claim(dir string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	f, _, err := dirlock.Make(dir, 0o700)
	return usersAlone(f, err)
}

// holdFolder keeps a folder from being removed until the file is closed.
func holdFolder(dir string) (*os.File, error) { return usersAlone(dirlock.Shared(dir)) }

// usersAlone refuses a folder that is locked, but that others may change.
func usersAlone(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	if err := fsutil.CheckPrivateDir(f.Name()); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// unlessHeld removes a folder, or does what else it is told, if nobody holds the folder.
func unlessHeld(dir string, remove func(dir string) error) {
	if f, err := dirlock.Alone(dir); err == nil {
		_ = remove(dir)
		_ = f.Close()
	}
}
