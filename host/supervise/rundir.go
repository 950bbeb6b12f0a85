//go:build unix

package supervise

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/toolhost/toolhost/host/supervise/internal/placeholder"
)

// A runDir is the private folder of one host for its plugins' sockets. The host holds a lock in it for as long as it
// lives; a folder whose lock is free belonged to a host that died.
type runDir struct {
	path string
	lock *os.File
}

const (
	runPrefix = "toolhost-"
	lockName  = "lock"
	// maxBase keeps socket paths under the 104 bytes that all systems allow.
	maxBase = 45
)

// makeRunDir makes the folder and removes those of dead hosts beside it. It is made under another name first, so that
// nobody takes it for abandoned before it is locked.
func makeRunDir(base string) (*runDir, error) {
	base, err := filepath.Abs(chooseBase(base))
	if err != nil {
		return nil, err
	}
	sweep(base)
	fresh, err := os.MkdirTemp(base, ".new-"+runPrefix)
	if err != nil {
		return nil, err
	}
	lock, err := acquireLock(filepath.Join(fresh, lockName), os.O_CREATE)
	if err != nil {
		_ = os.RemoveAll(fresh)
		return nil, err
	}
	path := filepath.Join(base, strings.TrimPrefix(filepath.Base(fresh), ".new-"))
	if err := os.Rename(fresh, path); err != nil {
		_ = lock.Close()
		_ = os.RemoveAll(fresh)
		return nil, err
	}
	return &runDir{path, lock}, nil
}

// RunBase is the folder that supervisors make their private folders in, unless their options name another.
func RunBase() string { return chooseBase("") }

func chooseBase(base string) string {
	if base == "" {
		base = os.Getenv("XDG_RUNTIME_DIR")
	}
	if info, err := os.Stat(base); base == "" || err != nil || !info.IsDir() || len(base) > maxBase {
		base = os.TempDir()
	}
	if len(base) > maxBase {
		base = "/tmp"
	}
	return base
}

func acquireLock(path string, create int) (*os.File, error) {
	f, err := os.OpenFile(path, create|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// sweep removes the folders whose host is gone. Only the lock decides, never the name or a process id.
func sweep(base string) {
	dirs, _ := filepath.Glob(filepath.Join(base, runPrefix+"*"))
	for _, dir := range dirs {
		lockPath := filepath.Join(dir, lockName)
		if info, err := os.Lstat(lockPath); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if lock, err := acquireLock(lockPath, 0); err == nil {
			placeholder.RemoveNoted(dir)
			_ = removeAll(dir)
			_ = lock.Close()
		}
	}
}

// forTemps gives the folder for temporary files: this one, unless it is in $XDG_RUNTIME_DIR, which is for small things and
// takes memory.
func (d *runDir) forTemps(asked string) (*runDir, error) {
	if asked != "" || filepath.Dir(d.path) != filepath.Clean(os.Getenv("XDG_RUNTIME_DIR")) {
		return d, nil
	}
	return makeRunDir(os.TempDir())
}

// temp makes a folder for the temporary files of one generation.
func (d *runDir) temp() (string, error) { return os.MkdirTemp(d.path, "t") }

// remove is for when all plugins have ended. A placeholder that somebody else had a lock on then may be left.
func (d *runDir) remove() error {
	defer d.lock.Close()
	placeholder.RemoveNoted(d.path)
	return removeAll(d.path)
}

// removeAll removes a folder, also if a plugin has locked folders in it with their modes.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	above, openErr := os.OpenRoot(filepath.Dir(path))
	if openErr != nil {
		return err
	}
	defer func() { _ = above.Close() }()
	unlock(above, filepath.Base(path))
	return above.RemoveAll(filepath.Base(path))
}

// unlock opens the folder and those in it, each before it is looked into.
func unlock(root *os.Root, dir string) {
	_ = root.Chmod(dir, 0o700)
	entries, _ := fs.ReadDir(root.FS(), dir)
	for _, e := range entries {
		if e.IsDir() {
			unlock(root, path.Join(dir, e.Name()))
		}
	}
}
