package binaries

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Identity is the state of the open file, whatever is at its path now. There is no time of the last change: who sets
// the time of writing hides one.
func (f *File) Identity() (Identity, error) {
	var i windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &i); err != nil {
		return Identity{}, &os.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return Identity{uint64(i.VolumeSerialNumber), uint64(i.FileIndexHigh)<<32 | uint64(i.FileIndexLow),
		int64(i.FileSizeHigh)<<32 | int64(i.FileSizeLow), i.LastWriteTime.Nanoseconds(), i.CreationTime.Nanoseconds()}, nil
}

// Identify returns the state of the file at path, through links.
func Identify(path string) (Identity, error) {
	f, err := Open(path)
	if err != nil {
		return Identity{}, err
	}
	i, err := f.Identity()
	return i, errors.Join(err, f.Close())
}
