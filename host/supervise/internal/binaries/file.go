package binaries

import (
	"cmp"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// A File is a program that is open for reading.
type File struct{ *os.File }

// Open opens a program. It never blocks, and fails for anything but a regular file.
func Open(path string) (*File, error) {
	f, err := fsutil.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	return &File{f}, nil
}

// maxProgram is how many bytes are hashed and copied at most: an endless file would fill the disk.
const maxProgram = 2 << 30

// SHA256 reads the whole file, copies it to the writer, and returns the checksum in hex. It fails for more than 2 GiB,
// and when the writer fails.
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
	return fmt.Errorf("%s is larger than %d GiB, the limit for a program", f.Name(), maxProgram>>30)
}

// Native is true for machine code: ELF and Mach-O.
func (f *File) Native() bool {
	magic := make([]byte, 4)
	if _, err := f.ReadAt(magic, 0); err != nil {
		return false
	}
	return slices.Contains([]string{"\x7fELF", "\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe",
		"\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"}, string(magic))
}

// InPlace is true for a program that must run from its own path, because it needs what is beside it: a script, or a
// program that loads libraries from there.
func (f *File) InPlace() bool {
	if !f.Native() {
		return true
	}
	program, err := elf.NewFile(f)
	if err != nil { // one of macOS
		return false
	}
	rpath, _ := program.DynString(elf.DT_RPATH)
	runpath, _ := program.DynString(elf.DT_RUNPATH)
	return slices.ContainsFunc(append(rpath, runpath...), func(p string) bool { return strings.Contains(p, "ORIGIN") })
}

// An Identity is one state of a file: no one can write to a file, or replace it, and keep the time of its last change.
// The zero value is of no file.
type Identity struct {
	Device  uint64 `json:"device"`
	Inode   uint64 `json:"inode"`
	Size    int64  `json:"size"`
	Written int64  `json:"written"` // modification time, in nanoseconds
	Changed int64  `json:"changed"` // change time, in nanoseconds
}

// Known is false for the zero value.
func (i Identity) Known() bool { return i != Identity{} }

// clockStep is more than the resolution of file systems' clocks: two changes within it may have the same time.
const clockStep = 2 * time.Second

// Settled is true if a change after now gets a later time than the last one.
func (i Identity) Settled(now time.Time) bool {
	return now.Sub(time.Unix(0, max(i.Changed, i.Written))) > clockStep
}
