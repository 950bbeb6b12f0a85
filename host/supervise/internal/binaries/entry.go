package binaries

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// A source is a program to be kept.
type source struct {
	program *File
	before  Identity               // when it was opened
	accepts func(sum string) error // says what is wrong with its checksum
}

// copyIn is its copy in a vault's folder, made or not.
func (s source) copyIn(dir, sum string) copied {
	name := filepath.Base(s.program.Name())
	if strings.HasPrefix(name, ".") { // as what is not complete, or no program
		name = "program"
	}
	return copied{dir: filepath.Join(dir, sum), sum: sum, name: name}
}

// A copied is the copy of a program in a vault.
type copied struct{ dir, sum, name string }

func (c copied) path() string   { return filepath.Join(c.dir, c.name) }
func (c copied) record() string { return filepath.Join(c.dir, "."+c.name+".json") }

// open opens the copy, if it is the user's alone, and can be run.
func (c copied) open() (*File, error) {
	f, err := fsutil.OpenPrivate(c.path())
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.Mode().Perm()&0o100 == 0 {
		_ = f.Close()
		return nil, cmp.Or(err, errors.New(c.path()+" is not executable"))
	}
	return &File{f}, nil
}

// A known is what was found out about a copy, and need not be found out again as long as nothing changes.
type known struct {
	Copy    Identity            `json:"copy"`    // in this state it has the checksum
	Sources map[string]Identity `json:"sources"` // by path; in these states they have it too
}

const (
	maxSources = 16
	maxRecord  = 64 << 10
)

// read gives what is known. A record that is broken, or somebody else's, is none.
func (c copied) read() (k known) {
	f, err := fsutil.OpenPrivate(c.record())
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
	_ = fsutil.WriteFile(c.record(), text, 0o600)
}

// intact says whether the copy is there and has the checksum: it is in the state that is recorded, else it is hashed.
func (c copied) intact() bool {
	f, err := c.open()
	if err != nil {
		return false
	}
	defer f.Close()
	now, err := f.Identity()
	if err != nil {
		return false
	}
	if now == c.read().Copy {
		return true
	}
	sum, err := f.SHA256(io.Discard)
	if err != nil || sum != c.sum {
		return false
	}
	c.write(known{Copy: now})
	return true
}

// sameSource makes sure that the program is still what the copy was made of: it is in a state that is recorded, else it
// is hashed.
func (c copied) sameSource(s source) error {
	if at, there := c.read().Sources[s.program.Name()]; there && at == s.before {
		return s.accepts(c.sum)
	}
	sum, err := s.program.SHA256(io.Discard)
	if err != nil {
		return err
	}
	if err := s.accepts(sum); err != nil {
		return err
	}
	c.note(s)
	return nil
}

// note records the states of the copy and of the program, which was hashed, unless a change may yet hide in that state.
func (c copied) note(s source) {
	f, err := c.open()
	if err != nil {
		return
	}
	defer f.Close()
	now, err := f.Identity()
	if err != nil {
		return
	}
	k := c.read()
	if k.Copy != now || len(k.Sources) >= maxSources || k.Sources == nil {
		k = known{Copy: now, Sources: map[string]Identity{}}
	}
	after, err := s.program.Identity()
	if err == nil && after == s.before && after.Settled(time.Now()) {
		k.Sources[s.program.Name()] = after
	}
	c.write(k)
}

// fresh is the pattern of the names of files that are not complete.
const fresh = fsutil.TempPrefix + "*"

// fill makes the copy while it hashes the program. Others may do the same at once: whose file stays has the same bytes.
func (c copied) fill(s source) error {
	to, err := os.CreateTemp(c.dir, fresh)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(to.Name()) }() // not there any more when all goes well
	err = c.checkInto(to, s)
	if err == nil {
		err = errors.Join(to.Chmod(0o500), to.Sync())
	}
	if err := errors.Join(err, to.Close()); err != nil {
		return err
	}
	closedByAll(to.Name())
	if err := os.Rename(to.Name(), c.path()); err != nil {
		return err
	}
	c.note(s)
	return nil
}

// A refusal says that the program is not the one that is asked for. Another place for the copy does not help.
type refusal struct{ error }

// Unwrap gives what is wrong.
func (r refusal) Unwrap() error { return r.error }

func refuses(err error) bool {
	_, is := errors.AsType[refusal](err)
	return is
}

// checkInto writes the program to a file, and says what is wrong with what was written.
func (c copied) checkInto(to *os.File, s source) error {
	sum, err := s.program.SHA256(to)
	if err != nil {
		return err
	}
	if err := s.accepts(sum); err != nil {
		return refusal{err}
	}
	if sum != c.sum {
		return refusal{fmt.Errorf("%s has the sha256 %s, which is not the one that is asked for", s.program.Name(), sum)}
	}
	return nil
}
