package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// A folder is private to this process, which holds the lock in it as long as it lives. So the next process can tell the
// folder of one that is gone.
type folder struct {
	path string
	lock *os.File
}

const (
	folderPrefix = "toolhost-shell-"
	lockName     = "shell.lock" // not as that of a host, which removes folders that have one and look like its own
	// emptyAge is when a folder without a lock is one whose maker died at once.
	emptyAge = time.Hour

	// What is kept of the output of processes that are gone.
	leftAge     = 24 * time.Hour
	leftFolders = 20
	leftBytes   = 2 << 30
)

// keepDir is where folders outlive the plugin: the host removes the plugin's own TMPDIR.
func keepDir() string { return cmp.Or(os.Getenv(sdk.EnvKeepDir), os.TempDir()) }

// makeFolder makes a folder for this process in dir. Another process that sweeps may take it in the moment before it is
// locked.
func makeFolder(dir string) (*folder, error) {
	var err error
	for range 3 {
		var path string
		if path, err = os.MkdirTemp(dir, folderPrefix); err != nil { // its mode is 0700
			return nil, err
		}
		var lock *os.File
		if lock, err = takeLock(filepath.Join(path, lockName), os.O_CREATE|os.O_EXCL); err == nil {
			if _, err = os.Lstat(lock.Name()); err == nil {
				return &folder{path, lock}, nil
			}
			_ = lock.Close()
		}
	}
	return nil, fmt.Errorf("no folder could be made in %s: %w", dir, err)
}

func (f *folder) remove() {
	_ = os.RemoveAll(f.path)
	f.unlock()
}

func (f *folder) unlock() { _ = f.lock.Close() }

// leave ends the use of the folder: results have named the output in it, and somebody may still read that. Without output
// nobody knows of it.
func (f *folder) leave() {
	entries, err := os.ReadDir(f.path)
	if err != nil || !sweeps || !slices.ContainsFunc(entries, isOutput) {
		f.remove()
		return
	}
	for _, e := range entries {
		if !isOutput(e) && e.Name() != lockName {
			_ = os.Remove(filepath.Join(f.path, e.Name()))
		}
	}
	f.unlock()
}

func isOutput(e fs.DirEntry) bool {
	return e.Type().IsRegular() && strings.HasSuffix(e.Name(), outputEnd)
}

// sweep removes what nobody needs of the folders in dir whose process is gone.
func sweep(dir string) {
	var left []leftover
	for _, f := range abandoned(dir) {
		defer f.unlock()
		if l, ok := f.output(); ok {
			left = append(left, l)
		} else {
			f.remove()
		}
	}
	for _, l := range tooMuch(left, time.Now()) {
		l.remove()
	}
}

// abandoned takes the folders whose process is gone. Their name only says where to look; the lock decides.
func abandoned(dir string) (found []*folder) {
	paths, _ := filepath.Glob(filepath.Join(quoteGlob(dir), folderPrefix+"*"))
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() {
			continue
		}
		lockPath := filepath.Join(path, lockName)
		if l, err := os.Lstat(lockPath); err != nil || !l.Mode().IsRegular() {
			if time.Since(info.ModTime()) > emptyAge {
				_ = os.Remove(path) // fails unless it is empty
			}
			continue
		}
		if lock, err := takeLock(lockPath, 0); err == nil {
			found = append(found, &folder{path, lock})
		}
	}
	return found
}

// A leftover is a folder with output that outlived its process.
type leftover struct {
	*folder
	written time.Time // the last time
	size    int64
}

// output tells of the output in the folder, if there is any.
func (f *folder) output() (l leftover, ok bool) {
	entries, _ := os.ReadDir(f.path)
	l.folder = f
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !isOutput(e) {
			continue
		}
		ok, l.size = true, l.size+info.Size()
		if info.ModTime().After(l.written) {
			l.written = info.ModTime()
		}
	}
	return l, ok
}

// tooMuch are those that are too old, and the oldest where there are too many or where they take too much room. The
// newest may be as large as it likes.
func tooMuch(left []leftover, now time.Time) (out []leftover) {
	slices.SortFunc(left, func(a, b leftover) int { return b.written.Compare(a.written) })
	var room int64 = leftBytes
	for i, l := range left {
		room -= l.size
		if i >= leftFolders || now.Sub(l.written) > leftAge || i > 0 && room < 0 {
			out = append(out, l)
		}
	}
	return out
}

// quoteGlob makes a pattern that only the path itself matches.
func quoteGlob(path string) string {
	var out []rune
	for _, r := range path {
		if r == '*' || r == '?' || r == '[' || r == '\\' && filepath.Separator != '\\' {
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}
