//go:build unix

package supervise

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A vault keeps copies of programs that have a checksum, so that the bytes that were hashed are the bytes that run,
// whoever swaps or overwrites the program meanwhile. A copy is SHA256/NAME in the vault's folder, and beside it stands
// what is known of it. Several hosts may share a vault.
type vault struct {
	wanted, reserve string // the folder, "" for the user's cache; and one for when that cannot be used

	mu   sync.Mutex
	dir  string              // once it is made
	held map[string]*os.File // folders of copies in use, by checksum, with a lock that keeps them
}

func newVault(wanted, reserve string) *vault {
	return &vault{wanted: wanted, reserve: reserve, held: map[string]*os.File{}}
}

// open makes the folder, or finds it fit.
func (v *vault) open() (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dir != "" {
		return v.dir, nil
	}
	dir, err := cmp.Or(v.wanted, cachedPrograms()), error(nil)
	if dir != "" {
		err = makeVault(dir)
	}
	if v.wanted == "" && (dir == "" || err != nil) {
		dir, err = v.reserve, makeVault(v.reserve)
	}
	if err != nil {
		return "", fmt.Errorf("copies of checked programs cannot be kept: %w", err)
	}
	v.dir = dir
	return dir, nil
}

// cachedPrograms is in the user's cache folder, "" when there is none.
func cachedPrograms() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "toolhost", "bin")
}

func makeVault(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if !runsPrograms(dir) {
		return errors.New(dir + " is on a file system that runs no programs (noexec)")
	}
	if err := ownFolder(dir); err != nil {
		return err
	}
	lock, err := acquireLock(filepath.Join(dir, lockName), os.O_CREATE)
	if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) { // which another host has
		return err // as where nothing can be locked
	}
	_ = lock.Close() // also nil
	return nil
}

// keep gives a copy of the program, whose bytes hash to sum, when accepts has nothing against that checksum.
func (v *vault) keep(program *os.File, sum string, accepts func(sum string) error) (*os.File, error) {
	dir, err := v.open()
	if err != nil {
		return nil, err
	}
	c := copied{dir: filepath.Join(dir, sum), sum: sum, name: filepath.Base(program.Name())}
	if strings.HasPrefix(c.name, ".") {
		c.name = "program"
	}
	before, err := identify(program)
	if err != nil {
		return nil, err
	}
	if v.hold(c) == nil && c.intact() {
		err = c.sameSource(program, before, accepts)
	} else {
		err = v.add(c, program, before, accepts)
	}
	if err != nil {
		return nil, err
	}
	return openOwn(c.path())
}

// add makes a copy, and room for it.
func (v *vault) add(c copied, program *os.File, before identity, accepts func(sum string) error) error {
	unlock, err := lockVault(filepath.Dir(c.dir))
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.fill(program, accepts); err != nil {
		return err
	}
	if err := v.hold(c); err != nil {
		return err
	}
	c.note(program, before)
	v.prune()
	return nil
}

// lockVault keeps other hosts from adding and removing copies meanwhile.
func lockVault(dir string) (unlock func(), err error) {
	path := filepath.Join(dir, lockName)
	for end := time.Now().Add(lockPatience); ; time.Sleep(lockPause) {
		lock, err := acquireLock(path, os.O_CREATE)
		if err == nil {
			return func() { _ = lock.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("copies of checked programs cannot be kept: %w", err)
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("copies of checked programs cannot be kept: another program holds %s: %w", path, err)
		}
	}
}

const (
	lockPatience = 5 * time.Second
	lockPause    = 5 * time.Millisecond
)

// hold keeps the folder of a copy from being removed for as long as the vault is open. It fails when there is none.
func (v *vault) hold(c copied) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if old := v.held[c.sum]; old != nil {
		if samePlace(old, c.dir) {
			return nil
		}
		_ = old.Close()
		delete(v.held, c.sum)
	}
	f, err := holdFolder(c.dir)
	if err == nil {
		v.held[c.sum] = f
		now := time.Now()
		_ = os.Chtimes(c.dir, now, now) // for prune
	}
	return err
}

func (v *vault) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for sum, f := range v.held {
		_ = f.Close()
		delete(v.held, sum)
	}
}

// maxProgram bounds what is hashed and copied: a file without end would fill the disk.
const maxProgram = 2 << 30

// hashOf reads the file from its beginning to its end.
func hashOf(f *os.File, also io.Writer) (string, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(h, also), io.LimitReader(f, maxProgram+1))
	if err != nil {
		return "", err
	}
	if n > maxProgram {
		return "", fmt.Errorf("%s has more than %d GiB, which no program has", f.Name(), maxProgram>>30)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
