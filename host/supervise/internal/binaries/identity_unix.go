//go:build unix

package binaries

import (
	"os"

	"golang.org/x/sys/unix"
)

// Identity is the state of the open file, whatever is at its path now.
func (f *File) Identity() (Identity, error) {
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return Identity{}, &os.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return identityOf(&s), nil
}

// Identify returns the state of the file at path, through links.
func Identify(path string) (Identity, error) {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return Identity{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return identityOf(&s), nil
}

func identityOf(s *unix.Stat_t) Identity {
	//nolint:unconvert // Dev has another type on other systems
	return Identity{uint64(s.Dev), s.Ino, s.Size, s.Mtim.Nano(), s.Ctim.Nano()}
}
