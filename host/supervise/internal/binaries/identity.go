//go:build unix

package binaries

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// An Identity tells one state of a file from every other: nobody can write to a file, or put another in its place, and
// keep the time of its last change. The zero value is that of no file.
type Identity struct {
	Device  uint64 `json:"device"`
	Inode   uint64 `json:"inode"`
	Size    int64  `json:"size"`
	Written int64  `json:"written"` // in nanoseconds
	Changed int64  `json:"changed"` // likewise
}

// Identify tells the state of the file at path, through links. One that is not there is an error.
func Identify(path string) (Identity, error) {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return Identity{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return identityOf(&s), nil
}

func identityOf(s *unix.Stat_t) Identity {
	return Identity{uint64(s.Dev), s.Ino, s.Size, s.Mtim.Nano(), s.Ctim.Nano()} //nolint:unconvert // Dev has another type elsewhere
}

// Known is false for the zero value.
func (i Identity) Known() bool { return i != Identity{} }

// young is how long a change may hide behind the one before it, whose time clocks of file systems give to it too.
const young = 2 * time.Second

// Settled says whether a change after now would have a later time than the last one.
func (i Identity) Settled(now time.Time) bool {
	return now.Sub(time.Unix(0, max(i.Changed, i.Written))) > young
}
