//go:build unix

// Package binaries makes sure that the bytes of a program that were checked are the bytes that run.
package binaries

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/dirlock"
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
