package supervise

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/placeholder"
	"github.com/toolhost/toolhost/host/supervise/internal/removal"
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

// How long a host works on removing what plugins have left. What remains is the next host's to remove.
const (
	removalTime  = 2 * time.Second        // while somebody waits for that
	removalAside = time.Minute            // when nobody does
	sweepTime    = 500 * time.Millisecond // at the start, for what other hosts have left
)

// makeRunDir makes the folder and removes those of dead hosts beside it. It is made under another name first, so that
// nobody takes it for abandoned before it is locked.
func makeRunDir(base string) (*runDir, error) {
	base, err := filepath.Abs(chooseBase(base))
	if err != nil {
		return nil, err
	}
	sweep(base)
	fresh, err := os.MkdirTemp(base, unfinished)
	if err != nil {
		return nil, err
	}
	lock, err := acquireLock(filepath.Join(fresh, lockName), os.O_CREATE)
	if err != nil {
		unmake(fresh)
		return nil, err
	}
	path := filepath.Join(base, runPrefix+strings.TrimPrefix(filepath.Base(fresh), unfinished))
	if err := os.Rename(fresh, path); err != nil {
		_ = lock.Close()
		unmake(fresh)
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

// sweep removes the folders whose host is gone, as far as there is time.
func sweep(base string) {
	until := time.Now().Add(sweepTime)
	dirs, _ := filepath.Glob(filepath.Join(base, "*"+runPrefix+"*"))
	for _, dir := range dirs {
		switch name := filepath.Base(dir); {
		case strings.HasPrefix(name, unfinished):
			sweepUnfinished(dir)
		case strings.HasPrefix(name, runPrefix):
			sweepFinished(dir, until)
		}
	}
}

// sweepFinished removes a folder if its host is gone. Only the lock decides, never the name or a process id.
func sweepFinished(dir string, until time.Time) {
	lockPath := filepath.Join(dir, lockName)
	if info, err := os.Lstat(lockPath); err != nil || !info.Mode().IsRegular() || !ownFolder(dir) {
		return
	}
	if lock, err := acquireLock(lockPath, 0); err == nil {
		placeholder.RemoveNoted(dir)
		_ = removal.Keeping(dir, lockName, time.Until(until))
		_ = lock.Close()
	}
}

// ownFolder says whether it is a folder of the user's. Others may make theirs beside it, in /tmp.
func ownFolder(dir string) bool {
	var st syscall.Stat_t
	return syscall.Lstat(dir, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFDIR && int(st.Uid) == os.Geteuid()
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

// remove is for when all plugins have ended. A placeholder that somebody else had a lock on then may be left. The lock goes last:
// without it nobody would look for what is left.
func (d *runDir) remove() error {
	defer d.lock.Close()
	placeholder.RemoveNoted(d.path)
	return removal.Keeping(d.path, lockName, removalTime)
}

// This file removes private folders that were never finished, see makeRunDir.

const (
	unfinished = ".new-" + runPrefix // begins the name of a folder that is being made
	// makingTime is more than that takes: an older one is of a host that was killed meanwhile.
	makingTime = time.Hour
)

// sweepUnfinished removes a folder of ours that no host can still be making.
func sweepUnfinished(dir string) {
	info, err := os.Lstat(dir)
	if err == nil && time.Since(info.ModTime()) >= makingTime && ownFolder(dir) {
		unmake(dir)
	}
}

// unmake removes a folder that was not finished. Nothing is opened for it: too many open files may be why.
func unmake(fresh string) {
	_ = os.Remove(filepath.Join(fresh, lockName))
	_ = os.Remove(fresh)
}
