package fsutil

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tempLock is a file that is locked in a folder of [TempDir]. Hosts remove folders of the names that they give theirs
// by a lock of this name, too.
const tempLock = "lock"

// TempDir makes a private folder for files of this process in base, "" for the system's folder of temporary files. Its
// name begins with prefix. What processes that were killed have left under that prefix is removed.
func TempDir(base, prefix string) (dir string, remove func(), err error) {
	base = cmp.Or(base, os.TempDir())
	removeStale(base, prefix)
	if dir, err = os.MkdirTemp(base, prefix); err != nil {
		return "", nil, err
	}
	// A file system without locks has none; removeStale leaves the folders there as well.
	lock, _ := TryLock(filepath.Join(dir, tempLock), os.O_RDWR|os.O_CREATE)
	return dir, func() { _, _ = lock.Close(), os.RemoveAll(dir) }, nil
}

// removeStale removes each folder whose lock is free, those of a prefix. One that is a moment old may not be locked
// yet, and one without a lock is of an earlier version, which may still use it, unless it is empty.
func removeStale(base, prefix string) {
	entries, _ := os.ReadDir(base)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		path := filepath.Join(base, e.Name())
		if info, err := e.Info(); err != nil || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		if !e.IsDir() {
			if prefix == TempPrefix {
				_ = os.Remove(path)
			}
			continue
		}
		if CheckPrivateDir(path) != nil { // another user's, who may have put anything in the place of the lock
			continue
		}
		lock, err := TryLock(filepath.Join(path, tempLock), os.O_RDWR)
		_ = lock.Close() // Windows removes no file that is open; it may be nil
		switch {
		case errors.Is(err, fs.ErrNotExist):
			_ = os.Remove(path)
		case err == nil:
			_ = os.RemoveAll(path)
		}
	}
}
