package binaries

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A File is a program that is open for reading.
type File struct{ *os.File }

// Open opens a program. It never waits, as for the other end of a pipe that was put there, and fails for all that is no
// regular file.
func Open(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &File{f}, nil
}

// Identity is the state that the file is in now, whatever is at its path.
func (f *File) Identity() (Identity, error) {
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return Identity{}, &os.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return identityOf(&s), nil
}

// maxProgram bounds what is hashed and copied: a file without end would fill the disk.
const maxProgram = 2 << 30

// SHA256 reads the file from its beginning to its end, writes what it reads to the other writer too, and gives the checksum
// in hex. It fails for more than 2 GiB, and when the writer does.
func (f *File) SHA256(also io.Writer) (string, error) {
	if is, err := f.Stat(); err != nil || is.Size() > maxProgram {
		return "", cmp.Or(err, f.tooLarge())
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(h, also), io.LimitReader(f, maxProgram+1))
	if err != nil {
		return "", err
	}
	if n > maxProgram { // it grew meanwhile
		return "", f.tooLarge()
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (f *File) tooLarge() error {
	return fmt.Errorf("%s has more than %d GiB, which no program has", f.Name(), maxProgram>>30)
}

// Native knows machine code by its first bytes: ELF, and the four forms of Mach-O and its fat files.
func (f *File) Native() bool {
	magic := make([]byte, 4)
	if _, err := f.ReadAt(magic, 0); err != nil {
		return false
	}
	return slices.ContainsFunc([]string{"\x7fELF", "\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"},
		func(known string) bool { return bytes.Equal(magic, []byte(known)) })
}

// InPlace says whether the program must run from its own path, since it needs what is beside it: a script, or a program
// that looks for its libraries there.
func (f *File) InPlace() bool {
	if !f.Native() {
		return true
	}
	program, err := elf.NewFile(f)
	if err != nil { // it is one of macOS
		return false
	}
	rpath, _ := program.DynString(elf.DT_RPATH)
	runpath, _ := program.DynString(elf.DT_RUNPATH)
	return slices.ContainsFunc(append(rpath, runpath...), func(p string) bool { return strings.Contains(p, "ORIGIN") })
}

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
