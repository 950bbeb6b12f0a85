// Package binaries keeps verified copies of programs, so that the bytes that were hashed are the bytes that run.
package binaries

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/dirlock"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// A Store keeps copies of programs that have a checksum, whatever happens to the programs after they were hashed. A
// copy is the file SHA256/NAME in the store's folder, with a record beside it. Several hosts may share a store. It is
// safe for concurrent use.
type Store struct {
	shared, private string // the folder, "" for the user's cache folder; and one of this host
	log             *slog.Logger

	mu     sync.Mutex
	dir    string              // once it is made
	locks  map[string]*os.File // locks on entry directories in use, by checksum
	closed bool
}

// NewStore keeps copies in the shared folder, "" for toolhost/bin in the user's cache folder. The private folder is of
// this host, for when there is no cache folder, and for each copy that cannot be made or locked in the shared one. Both
// are made when they are needed; the parent of the private one must exist.
func NewStore(shared, private string, log *slog.Logger) *Store {
	return &Store{shared: shared, private: private, log: log, locks: map[string]*os.File{}}
}

// Dir is the folder that hosts share, "" if there is none.
func (s *Store) Dir() string {
	if s.shared != "" {
		return s.shared
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "toolhost", "bin")
}

// Copy returns a copy of the program that hashes to sum (hex, lower case). First it calls accept with the program's
// checksum, and fails with its error. The copy exists until the store is closed. Copy waits for other processes for at
// most 300 ms.
func (s *Store) Copy(program *File, sum string, accept func(sum string) error) (*File, error) {
	dir, err := s.open()
	if err != nil {
		return nil, err
	}
	before, err := program.Identity()
	if err != nil {
		return nil, err
	}
	src := source{program, before, accept}
	e := newEntry(dir, sum, program)
	there := dir != s.private && s.lock(e) == nil && e.intact()
	if !there {
		e = newEntry(s.private, sum, program)
		there = e.intact()
	}
	if there {
		err = e.checkSource(src)
	} else {
		e, err = s.add(src, dir, sum)
	}
	if err != nil {
		return nil, err
	}
	return e.open()
}

// open makes the store's folder, or checks it: the shared one, otherwise the private one. The mutex is not held
// meanwhile, nor in lock: a file system may hang, and Close must not.
func (s *Store) open() (string, error) {
	s.mu.Lock()
	dir := s.dir
	s.mu.Unlock()
	if dir != "" {
		return dir, nil
	}
	dir, err := s.Dir(), error(nil)
	if dir != "" {
		err = checkFolder(dir, os.MkdirAll(dir, 0o700))
	}
	if s.shared == "" && (dir == "" || err != nil) {
		dir, err = s.private, makeFolder(s.private)
	}
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dir = cmp.Or(s.dir, dir)
	return s.dir, nil
}

// add makes a copy: in the shared folder, otherwise in the private one.
func (s *Store) add(src source, dir, sum string) (entry, error) {
	var notShared error
	if dir != s.private {
		e := newEntry(dir, sum, src.program)
		if notShared = s.addShared(e, src, dir); notShared == nil || isMismatch(notShared) {
			return e, notShared
		}
		s.log.Warn("a verified program is copied for this host only, because a shared copy cannot be made or locked",
			"program", src.program.Name(), "error", notShared)
	}
	// No other host looks for it in the private folder, and it is not removed before the end: it needs no lock.
	e := newEntry(s.private, sum, src.program)
	err := makeFolder(s.private)
	if err == nil {
		err = makeFolder(e.dir)
	}
	if err == nil {
		err = e.fill(src)
	}
	if err == nil || isMismatch(err) {
		return e, err
	}
	if notShared != nil {
		err = fmt.Errorf("%w; %w", notShared, err)
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		err = fmt.Errorf("%w; free disk space there", err)
	}
	return e, fmt.Errorf("%s cannot be copied, and only a verified copy may run: %w", src.program.Name(), err)
}

// addShared makes a copy that all hosts find, and locks it.
func (s *Store) addShared(e entry, src source, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, _, err := dirlock.Make(e.dir, 0o700)
	if f, err = checkLocked(f, err); err != nil {
		return err
	}
	err = e.fill(src)
	if err == nil {
		err = s.lock(e)
	}
	_ = f.Close()
	if err != nil {
		removeUnlocked(e.dir, os.Remove) // if it is empty
		return err
	}
	prune(dir)
	return nil
}

// An entry directory has two kinds of locks: hosts that use the copy share one, and a host that removes it needs an
// exclusive one, which it tries once. Any process that can read the folder can take either, also a plugin: so nothing
// waits long for a lock, and only the removal of a copy depends on one.

// lock keeps an entry directory from being removed until the store is closed. It fails if there is none, or if another
// process has an exclusive lock.
func (s *Store) lock(e entry) error {
	s.mu.Lock()
	old := s.locks[e.sum]
	s.mu.Unlock()
	if old != nil && dirlock.Is(old, e.dir) {
		return nil
	}
	f, err := checkLocked(dirlock.Shared(e.dir))
	if err != nil {
		return err
	}
	now := time.Now()
	_ = os.Chtimes(e.dir, now, now) // for prune
	s.mu.Lock()
	defer s.mu.Unlock()
	unused := s.locks[e.sum]
	if s.closed {
		unused = f
	} else {
		s.locks[e.sum] = f
	}
	if unused != nil {
		_ = unused.Close()
	}
	return nil
}

// checkLocked refuses a folder that was locked, but that other users can change.
func checkLocked(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	if err := fsutil.CheckPrivateDir(f.Name()); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// removeUnlocked calls remove for a folder that no other process has locked.
func removeUnlocked(dir string, remove func(dir string) error) {
	if f, err := dirlock.Alone(dir); err == nil {
		_ = remove(dir)
		_ = f.Close()
	}
}

// Close releases the locks. The copies stay for other hosts, and are removed when none uses them for long. Those in the
// private folder end with that, which the caller removes.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for sum, f := range s.locks {
		_ = f.Close()
		delete(s.locks, sum)
	}
}

// makeFolder makes a folder for programs in a parent that exists: it is not made again when its owner has removed that.
func makeFolder(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return checkFolder(dir, err)
}

// checkFolder checks a folder for programs that was made, unless err says why it was not.
func checkFolder(dir string, err error) error {
	if err == nil && !runsPrograms(dir) {
		err = errors.New(dir + " is on a file system that does not run programs (noexec)")
	}
	if err == nil {
		err = fsutil.CheckPrivateDir(dir)
	}
	if err != nil {
		return fmt.Errorf("verified programs cannot be kept: %w", err)
	}
	return nil
}

const (
	maxCopies     = 64                  // in a store, besides those in use
	maxUnused     = 30 * 24 * time.Hour // how long a program stays without use
	maxIncomplete = time.Hour           // how long a file may stay incomplete; its writer was killed
)

// prune removes the copies that have not been used for longest, and incomplete files. A copy that a host uses stays.
func prune(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var copies []os.FileInfo
	for _, e := range entries {
		isSum := len(e.Name()) == 64 && strings.Trim(e.Name(), "0123456789abcdef") == ""
		if info, err := e.Info(); err == nil && info.IsDir() && isSum {
			copies = append(copies, info)
		}
	}
	slices.SortFunc(copies, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for i, c := range copies {
		path := filepath.Join(dir, c.Name())
		if i >= maxCopies || time.Since(c.ModTime()) > maxUnused {
			removeUnlocked(path, os.RemoveAll)
		}
		for _, temp := range fsutil.Glob(path, tempPattern) {
			if info, err := os.Lstat(temp); err == nil && time.Since(info.ModTime()) > maxIncomplete {
				_ = os.Remove(temp)
			}
		}
	}
}
