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

type source struct {
	program *File
	before  Identity // when it was opened
	accept  func(sum string) error
}

// An entry is the copy of a program in an entry directory of a store, made or not.
type entry struct{ dir, sum, name string }

func newEntry(store, sum string, program *File) entry {
	name := filepath.Base(program.Name())
	if strings.HasPrefix(name, ".") { // as records and incomplete files, or no name
		name = "program"
	}
	return entry{filepath.Join(store, sum), sum, name}
}

func (e entry) path() string   { return filepath.Join(e.dir, e.name) }
func (e entry) record() string { return filepath.Join(e.dir, "."+e.name+".json") }

// open opens the copy, if only this user can access it, and it is executable.
func (e entry) open() (*File, error) {
	f, err := fsutil.OpenPrivate(e.path())
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !fsutil.MayRun(info) {
		_ = f.Close()
		return nil, cmp.Or(err, errors.New(e.path()+" is not executable"))
	}
	return &File{f}, nil
}

// A record spares hashing files that have not changed.
type record struct {
	Copy    Identity            `json:"copy"`    // the copy has the checksum in this state
	Sources map[string]Identity `json:"sources"` // so have the programs at these paths in these states
}

const (
	maxSources = 16
	maxRecord  = 64 << 10 // bytes
)

// readRecord returns the zero value for a record that is broken, or that other users can access.
func (e entry) readRecord() (r record) {
	f, err := fsutil.OpenPrivate(e.record())
	if err != nil {
		return record{}
	}
	defer f.Close()
	if json.NewDecoder(io.LimitReader(f, maxRecord)).Decode(&r) != nil {
		return record{}
	}
	return r
}

// writeRecord ignores errors: what is not recorded is hashed again.
func (e entry) writeRecord(r record) {
	if text, err := json.Marshal(r); err == nil {
		_ = fsutil.WriteFile(e.record(), text, 0o600)
	}
}

// intact reports whether the copy exists and has the checksum: it is in the recorded state, otherwise it is hashed.
func (e entry) intact() bool {
	f, err := e.open()
	if err != nil {
		return false
	}
	defer f.Close()
	now, err := f.Identity()
	if err != nil {
		return false
	}
	if now == e.readRecord().Copy {
		return true
	}
	sum, err := f.SHA256(io.Discard)
	if err != nil || sum != e.sum {
		return false
	}
	e.writeRecord(record{Copy: now})
	return true
}

// checkSource checks that the program still is what was copied: it is in a recorded state, otherwise it is hashed.
func (e entry) checkSource(s source) error {
	if at, there := e.readRecord().Sources[s.program.Name()]; there && at == s.before {
		return s.accept(e.sum)
	}
	sum, err := s.program.SHA256(io.Discard)
	if err != nil {
		return err
	}
	if err := s.accept(sum); err != nil {
		return err
	}
	e.recordSource(s)
	return nil
}

// recordSource records the states of the copy and of the program, which was hashed, unless a change can hide in that
// state.
func (e entry) recordSource(s source) {
	f, err := e.open()
	if err != nil {
		return
	}
	defer f.Close()
	now, err := f.Identity()
	if err != nil {
		return
	}
	r := e.readRecord()
	if r.Copy != now || len(r.Sources) >= maxSources || r.Sources == nil {
		r = record{Copy: now, Sources: map[string]Identity{}}
	}
	after, err := s.program.Identity()
	if err == nil && after == s.before && after.Settled(time.Now()) {
		r.Sources[s.program.Name()] = after
	}
	e.writeRecord(r)
}

// tempPattern matches the names of incomplete files.
const tempPattern = fsutil.TempPrefix + "*"

// fill makes the copy while it hashes the program. Other hosts may do so at once: whichever file stays has the same
// bytes.
func (e entry) fill(s source) error {
	to, err := os.CreateTemp(e.dir, tempPattern)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(to.Name()) }() // renamed when all goes well
	sum, err := s.program.SHA256(to)
	if err == nil {
		if err = s.accept(sum); err == nil && sum != e.sum {
			err = fmt.Errorf("%s has the sha256 %s, which is not the required one", s.program.Name(), sum)
		}
		if err != nil {
			err = mismatch{err}
		}
	}
	if err == nil {
		err = errors.Join(to.Chmod(0o500), to.Sync())
	}
	if err := errors.Join(err, to.Close()); err != nil {
		return err
	}
	waitForWriters(to.Name())
	if err := os.Rename(to.Name(), e.path()); err != nil {
		return err
	}
	e.recordSource(s)
	return nil
}

// A mismatch says that the program is not the required one. Another place for the copy does not help.
type mismatch struct{ error }

func (m mismatch) Unwrap() error { return m.error }

func isMismatch(err error) bool {
	_, is := errors.AsType[mismatch](err)
	return is
}
