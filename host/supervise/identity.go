//go:build unix

package supervise

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// An identity tells one state of a file from every other: nobody can write to a file, or put another in its place, and
// keep the time of its last change. The zero value is that of no file.
type identity struct {
	Device  uint64 `json:"device"`
	Inode   uint64 `json:"inode"`
	Size    int64  `json:"size"`
	Written int64  `json:"written"` // in nanoseconds
	Changed int64  `json:"changed"` // likewise
}

func identify(f *os.File) (identity, error) {
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return identity{}, &os.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return identityOf(&s), nil
}

func identityOf(s *unix.Stat_t) identity {
	return identity{uint64(s.Dev), s.Ino, s.Size, s.Mtim.Nano(), s.Ctim.Nano()} //nolint:unconvert // Dev has another type elsewhere
}

func (i identity) known() bool { return i != identity{} }

// young is how long a change may hide behind the one before it, whose time clocks of file systems give to it too.
const young = 2 * time.Second

// settled says whether a later change would have a later time.
func (i identity) settled(now time.Time) bool {
	return now.Sub(time.Unix(0, max(i.Changed, i.Written))) > young
}
