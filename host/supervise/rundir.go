package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/placeholder"
	"github.com/toolhost/toolhost/host/supervise/internal/removal"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// A runDir is the private folder of one host for its plugins' sockets. The host holds a lock in it for as long as it
// lives: a folder whose lock is free belonged to a host that died.
type runDir struct {
	path string
	mu   sync.Mutex
	lock *os.File
}

const (
	runPrefix  = "toolhost-"
	unfinished = ".new-" + runPrefix // begins the name of a folder that is being made
	lockName   = "lock"
	// unfinishedTime is longer than making a folder takes: an older unfinished one belongs to a host that was killed.
	unfinishedTime = time.Hour
)

// How long a host spends on removing what plugins have left; the rest is left to the next host.
const (
	removalTime           = 2 * time.Second        // while a caller waits
	backgroundRemovalTime = time.Minute            // when no caller waits
	sweepTime             = 500 * time.Millisecond // at the start, for what other hosts have left
)

// makeRunDir makes the folder and removes those of dead hosts beside it.
func makeRunDir(base string) (*runDir, error) {
	base, err := filepath.Abs(chooseRunBase(base))
	if err != nil {
		return nil, err
	}
	sweepRunDirs(base)
	path, lock, err := makeLocked(base)
	if err != nil {
		return nil, err
	}
	return &runDir{path: path, lock: lock}, nil
}

// restore makes the folder again when it was deleted or replaced while the host lives, as programs do that clean up
// temporary files, and plugins without a sandbox may.
func (d *runDir) restore() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	path := filepath.Join(d.path, lockName)
	if info, err := os.Lstat(d.path); err != nil || info.Mode() != os.ModeDir|0o700 || !ownFolder(d.path) {
		if !ownFolder(d.path) {
			_ = os.Remove(d.path) // a link or a file; there may be nothing
		}
		err := os.Mkdir(d.path, 0o700)
		if ownFolder(d.path) {
			err = os.Chmod(d.path, 0o700) //nolint:gosec // it is a folder
		}
		if err != nil {
			return fmt.Errorf("making %s again, which was deleted or replaced: %w. Fix: restart the host", d.path, err)
		}
	}
	if found, err := os.Lstat(path); err == nil {
		if held, err := d.lock.Stat(); err == nil && os.SameFile(found, held) {
			return nil
		}
	}
	if os.Remove(path) != nil { // another process's file or link, or a folder
		_ = removal.All(path, removalTime)
	}
	lock, err := fsutil.TryLock(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("locking %s again, which was deleted or replaced: %w. Fix: restart the host", d.path, err)
	}
	_ = d.lock.Close()
	d.lock = lock
	return nil
}

// chooseRunBase is the folder that run folders are made in: base, "" for $XDG_RUNTIME_DIR, otherwise the temporary
// folder.
func chooseRunBase(base string) string {
	if base == "" {
		base = os.Getenv("XDG_RUNTIME_DIR")
	}
	if info, err := os.Stat(base); base == "" || err != nil || !info.IsDir() || len(base) > maxRunBase {
		base = os.TempDir()
	}
	if len(base) > maxRunBase && !tcpLoopback { // a plugin listens there where the path is too long
		base = "/tmp"
	}
	return base
}

// SocketDir is the folder in which the supervisor makes its private folder for sockets.
func (o Options) SocketDir() string { return chooseRunBase(o.RunDir) }

// sweepRunDirs removes the folders whose host is gone, within sweepTime. Only the lock decides, never the name or a
// process id.
func sweepRunDirs(base string) {
	until := time.Now().Add(sweepTime)
	for _, dir := range fsutil.Glob(base, "*"+runPrefix+"*") {
		switch name := filepath.Base(dir); {
		case strings.HasPrefix(name, unfinished):
			info, err := os.Lstat(dir)
			if err == nil && time.Since(info.ModTime()) >= unfinishedTime && ownFolder(dir) {
				removeUnfinished(dir)
			}
		case strings.HasPrefix(name, runPrefix):
			lockPath := filepath.Join(dir, lockName)
			if info, err := os.Lstat(lockPath); err != nil || !info.Mode().IsRegular() || !ownFolder(dir) {
				continue
			}
			if lock, err := fsutil.TryLock(lockPath, os.O_RDWR); err == nil {
				placeholder.RemoveNoted(dir)
				_ = removal.Keeping(dir, lockName, time.Until(until))
				_ = lock.Close()
			}
		}
	}
}

// removeUnfinished opens no files, since running out of file descriptors may be why the folder was left unfinished.
func removeUnfinished(dir string) {
	_ = os.Remove(filepath.Join(dir, lockName))
	_ = os.Remove(dir)
}

// temp makes a folder for the temporary files of one generation.
func (d *runDir) temp() (string, error) { return os.MkdirTemp(d.path, "t") }

// remove removes the folder when all plugins have ended. A placeholder that another process has locked may be left.
// The lock is removed last: without it no host would look for the rest.
func (d *runDir) remove() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.lock.Close()
	placeholder.RemoveNoted(d.path)
	return removal.Keeping(d.path, lockName, removalTime)
}

// makeStateDir makes a plugin's folder for its state, private to the user, and returns its path. One that is there must
// be such a folder.
func makeStateDir(path string) (string, error) {
	err := os.Mkdir(path, 0o700)
	if os.IsNotExist(err) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = os.Mkdir(path, 0o700)
		}
	}
	if err != nil && !os.IsExist(err) {
		return "", err
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return "", err
	case !info.IsDir() || !ownFolder(path):
		return "", fmt.Errorf("%s is not a folder of this user", path)
	case info.Mode().Perm()&0o077 != 0:
		return path, os.Chmod(path, 0o700) //nolint:gosec // it is a folder
	}
	return path, nil
}

// RemoveState removes folders of the state of plugins, however deep they are. It takes a minute at most.
func RemoveState(dir string) error { return removal.All(dir, backgroundRemovalTime) }
