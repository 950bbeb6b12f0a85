// Package binaries makes sure that the bytes of a program that were checked are the bytes that run.
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

// A Vault keeps copies of programs that have a checksum, so that the bytes that were hashed are the bytes that run,
// whoever swaps or overwrites the program meanwhile. A copy is SHA256/NAME in the vault's folder, and beside it stands
// what is known of it. Several hosts may share a vault. It is safe for concurrent use.
type Vault struct {
	wanted, reserve string // the folder, "" for the user's cache; and one of this host's own
	log             *slog.Logger

	mu     sync.Mutex
	dir    string              // once it is made
	held   map[string]*os.File // folders of copies in use, by checksum, with a lock that keeps them
	closed bool
}

// NewVault has copies kept in the wanted folder, "" for toolhost/bin in the user's cache folder. The reserve is a folder of
// this host's own, for when there is no cache folder, and for each copy that cannot be made or held in the shared one. Both
// are made when they are needed, the reserve in a folder that is there.
func NewVault(wanted, reserve string, log *slog.Logger) *Vault {
	return &Vault{wanted: wanted, reserve: reserve, log: log, held: map[string]*os.File{}}
}

// Dir is the folder that hosts share, "" when there is none.
func (v *Vault) Dir() string { return cmp.Or(v.wanted, cached()) }

// cached is in the user's cache folder, "" when there is none.
func cached() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "toolhost", "bin")
}

// open makes the folder, or finds it fit. No lock is held meanwhile, nor in hold: a file system may hang, and Close must not.
func (v *Vault) open() (string, error) {
	v.mu.Lock()
	dir := v.dir
	v.mu.Unlock()
	if dir != "" {
		return dir, nil
	}
	dir, err := v.choose()
	if err != nil {
		return "", err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.dir = cmp.Or(v.dir, dir)
	return v.dir, nil
}

// choose makes the folder that was asked for, else the user's, else the reserve.
func (v *Vault) choose() (string, error) {
	dir, err := v.Dir(), error(nil)
	if dir != "" {
		err = makeFolder(dir)
	}
	if v.wanted == "" && (dir == "" || err != nil) {
		dir, err = v.reserve, makeInside(v.reserve)
	}
	return dir, err
}

// Keep gives a copy of the program, whose bytes hash to sum (in hex, lower case), when accepts has nothing against the
// checksum that the program has; it gives the error of accepts else. The copy is there until the vault is closed. It waits
// for no other process longer than 300 ms.
func (v *Vault) Keep(program *File, sum string, accepts func(sum string) error) (*File, error) {
	dir, err := v.open()
	if err != nil {
		return nil, err
	}
	before, err := program.Identity()
	if err != nil {
		return nil, err
	}
	s := source{program, before, accepts}
	c, there := v.find(s, dir, sum)
	if there {
		err = c.sameSource(s)
	} else {
		c, err = v.add(s, dir, sum)
	}
	if err != nil {
		return nil, err
	}
	return c.open()
}

// find gives the copy that is there: in the shared folder, where it is held, else in the reserve.
func (v *Vault) find(s source, dir, sum string) (c copied, there bool) {
	if c = s.copyIn(dir, sum); dir != v.reserve && v.hold(c) == nil && c.intact() {
		return c, true
	}
	c = s.copyIn(v.reserve, sum)
	return c, c.intact()
}

// add makes a copy: in the shared folder, and room for it there, else in the reserve.
func (v *Vault) add(s source, dir, sum string) (copied, error) {
	var notShared error
	if dir != v.reserve {
		c, err := v.addShared(s, dir, sum)
		if err == nil || refuses(err) {
			return c, err
		}
		v.log.Warn("a checked program is copied for this host alone, since a copy that all can use cannot be made or held; it is copied again by the next host",
			"program", s.program.Name(), "error", err)
		notShared = err
	}
	c, err := v.addReserve(s, sum)
	if err == nil || refuses(err) {
		return c, err
	}
	return c, notKept(s, notShared, err)
}

// notKept says why there is no copy, and what to do where there is no room for one.
func notKept(s source, notShared, err error) error {
	if notShared != nil {
		err = fmt.Errorf("%w; %w", notShared, err)
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		err = fmt.Errorf("%w; make room there", err)
	}
	return fmt.Errorf("no copy of %s can be kept, which would be run in its place: %w", s.program.Name(), err)
}

// addShared makes a copy where all hosts look for it, and holds it.
func (v *Vault) addShared(s source, dir, sum string) (copied, error) {
	c := s.copyIn(dir, sum)
	claimed, err := claim(c.dir)
	if err != nil {
		return c, err
	}
	err = c.fill(s)
	if err == nil {
		err = v.hold(c)
	}
	_ = claimed.Close()
	if err != nil {
		unlessHeld(c.dir, os.Remove) // if it is empty
		return c, err
	}
	v.prune(dir)
	return c, nil
}

// addReserve makes a copy where no other host looks for one, and none is removed before the end. No lock is needed there.
func (v *Vault) addReserve(s source, sum string) (copied, error) {
	c := s.copyIn(v.reserve, sum)
	if err := makeInside(v.reserve); err != nil {
		return c, err
	}
	if err := makeInside(c.dir); err != nil {
		return c, err
	}
	return c, c.fill(s)
}

// hold keeps the folder of a copy from being removed for as long as the vault is open. It fails when there is none, or when
// another process does not allow it.
func (v *Vault) hold(c copied) error {
	v.mu.Lock()
	old := v.held[c.sum]
	v.mu.Unlock()
	if old != nil && dirlock.Is(old, c.dir) {
		return nil
	}
	f, err := holdFolder(c.dir)
	if err != nil {
		return err
	}
	now := time.Now()
	_ = os.Chtimes(c.dir, now, now) // for prune
	v.take(c.sum, f)
	return nil
}

// take keeps a folder that is held until the vault is closed.
func (v *Vault) take(sum string, f *os.File) {
	v.mu.Lock()
	defer v.mu.Unlock()
	old := v.held[sum]
	if v.closed {
		old = f
	} else {
		v.held[sum] = f
	}
	if old != nil {
		_ = old.Close()
	}
}

// Close lets go of the copies: they are kept for other hosts, and removed one day if none uses them. Those in the reserve
// end with its folder, which is the owner's to remove.
func (v *Vault) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	for sum, f := range v.held {
		_ = f.Close()
		delete(v.held, sum)
	}
}

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

const (
	// maxCopies is how many programs a vault has at most, but for those in use.
	maxCopies = 64
	// maxUnused is how long a program that is not used stays in a vault.
	maxUnused = 30 * 24 * time.Hour
	// maxFresh is how long a file may stay incomplete; its writer was killed.
	maxFresh = time.Hour
)

// prune removes the copies that have not been used for longest, and what was never completed. A copy that a host uses
// stays.
func (v *Vault) prune(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var copies []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.IsDir() && isCopy(e.Name()) {
			copies = append(copies, info)
		}
	}
	slices.SortFunc(copies, func(a, b os.FileInfo) int { return cmp.Compare(b.ModTime().UnixNano(), a.ModTime().UnixNano()) })
	for i, c := range copies {
		path := filepath.Join(dir, c.Name())
		if i >= maxCopies || time.Since(c.ModTime()) > maxUnused {
			unlessHeld(path, os.RemoveAll)
		}
		sweep(path)
	}
}

// isCopy knows the folder of a copy by its name, a checksum.
func isCopy(name string) bool { return len(name) == 64 && strings.Trim(name, "0123456789abcdef") == "" }

// sweep removes what a host has left that was killed while it copied.
func sweep(dir string) {
	left, _ := fs.Glob(os.DirFS(dir), fresh) // the folder's own name is no pattern
	for _, name := range left {
		path := filepath.Join(dir, name)
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > maxFresh {
			_ = os.Remove(path)
		}
	}
}
