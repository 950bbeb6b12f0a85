//go:build unix

package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A copied is the copy of a program in a vault.
type copied struct{ dir, sum, name string }

func (c copied) path() string   { return filepath.Join(c.dir, c.name) }
func (c copied) record() string { return filepath.Join(c.dir, "."+c.name+".json") }

// A known is what was found out about a copy, and need not be found out again as long as nothing changes.
type known struct {
	Copy    identity            `json:"copy"`    // in this state it has the checksum
	Sources map[string]identity `json:"sources"` // by path; in these states they have it too
}

const (
	maxSources = 16
	maxRecord  = 64 << 10
)

// read gives what is known. A record that is broken, or somebody else's, is none.
func (c copied) read() (k known) {
	f, err := openOwn(c.record())
	if err != nil {
		return known{}
	}
	defer f.Close()
	if json.NewDecoder(io.LimitReader(f, maxRecord)).Decode(&k) != nil {
		return known{}
	}
	return k
}

// write keeps what is known, whole or not at all. What cannot be kept is found out again.
func (c copied) write(k known) {
	text, err := json.Marshal(k)
	if err != nil {
		return
	}
	putWhole(c.record(), fresh, text)
}

// putWhole writes a file whole or not at all; what cannot be written is not there. The pattern is of the names of files
// that are not complete.
func putWhole(path, pattern string, text []byte) {
	f, err := os.CreateTemp(filepath.Dir(path), pattern)
	if err != nil {
		return
	}
	_, err = f.Write(text)
	if errors.Join(err, f.Close()) != nil || os.Rename(f.Name(), path) != nil {
		_ = os.Remove(f.Name())
	}
}

// intact says whether the copy is there and has the checksum: it is in the state that is recorded, else it is hashed.
func (c copied) intact() bool {
	f, err := openOwn(c.path())
	if err != nil {
		return false
	}
	defer f.Close()
	now, err := identify(f)
	if err != nil {
		return false
	}
	if now == c.read().Copy {
		return true
	}
	sum, err := hashOf(f, io.Discard)
	if err != nil || sum != c.sum {
		return false
	}
	c.write(known{Copy: now})
	return true
}

// sameSource makes sure that the program is still what the copy was made of: it is in a state that is recorded, else it
// is hashed.
func (c copied) sameSource(program *os.File, before identity, accepts func(string) error) error {
	if at, there := c.read().Sources[program.Name()]; there && at == before {
		return accepts(c.sum)
	}
	sum, err := hashOf(program, io.Discard)
	if err != nil {
		return err
	}
	if err := accepts(sum); err != nil {
		return err
	}
	c.note(program, before)
	return nil
}

// note records the states of the copy and of the program, which was hashed, unless a change may yet hide in that state.
func (c copied) note(program *os.File, before identity) {
	f, err := openOwn(c.path())
	if err != nil {
		return
	}
	defer f.Close()
	now, err := identify(f)
	if err != nil {
		return
	}
	k := c.read()
	if k.Copy != now || len(k.Sources) >= maxSources || k.Sources == nil {
		k = known{Copy: now, Sources: map[string]identity{}}
	}
	after, err := identify(program)
	if err == nil && after == before && before.settled(time.Now()) {
		k.Sources[program.Name()] = before
	}
	c.write(k)
}

// fresh is the pattern of the names of files that are not complete.
const fresh = ".new-*"

// fill makes the copy while it hashes the program. The vault is locked.
func (c copied) fill(program *os.File, accepts func(string) error) (err error) {
	if err := os.Mkdir(c.dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(c.dir) // if it is empty
		}
	}()
	if err := ownFolder(c.dir); err != nil {
		return err
	}
	c.sweep()
	return c.copy(program, accepts)
}

// sweep removes what a host has left that was killed in the middle of this.
func (c copied) sweep() {
	left, _ := filepath.Glob(filepath.Join(c.dir, fresh))
	for _, f := range left {
		_ = os.Remove(f)
	}
}

func (c copied) copy(program *os.File, accepts func(string) error) error {
	to, err := os.CreateTemp(c.dir, fresh)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(to.Name()) }() // not there any more when all goes well
	sum, err := hashOf(program, to)
	if err != nil {
		err = fmt.Errorf("no copy of %s can be kept, which would be run: %w", program.Name(), err)
	} else {
		err = accepts(sum)
	}
	if err == nil && sum != c.sum {
		err = fmt.Errorf("%s has the sha256 %s, which is not the one that is asked for", program.Name(), sum)
	}
	if err == nil {
		err = errors.Join(to.Chmod(0o500), to.Sync())
	}
	if err := errors.Join(err, to.Close()); err != nil {
		return err
	}
	closedByAll(to.Name())
	return os.Rename(to.Name(), c.path())
}

// openOwn opens a file that is the user's alone.
func openOwn(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || int(stat.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		_ = f.Close()
		return nil, fmt.Errorf("%s is not a file of yours alone", path)
	}
	return f, nil
}
