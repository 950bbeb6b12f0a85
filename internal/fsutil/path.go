package fsutil

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

const (
	onWindows = runtime.GOOS == "windows"
	exe       = ".exe"
)

// ProgramEnding ends the names of programs on this system.
func ProgramEnding() string {
	if onWindows {
		return exe
	}
	return ""
}

// MayRun reports whether the mode of a file allows its execution. On Windows modes say nothing of it: its name ends as
// that of a program.
func MayRun(info fs.FileInfo) bool {
	if onWindows {
		return strings.EqualFold(filepath.Ext(info.Name()), exe)
	}
	return info.Mode()&0o111 != 0
}

// IsProgram reports whether a path leads to a regular file that may be run.
func IsProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && MayRun(info)
}

// ProgramName is the name of a program without its folder, and without the ending that it has on Windows.
func ProgramName(path string) string {
	name := filepath.Base(path)
	if onWindows && strings.EqualFold(filepath.Ext(name), exe) {
		name = name[:len(name)-len(exe)]
	}
	return name
}

// HasFolder reports whether the name of a program is a path, which is not looked up in PATH.
func HasFolder(name string) bool {
	return strings.Contains(name, "/") || onWindows && strings.ContainsAny(name, `\:`)
}

// Resolved is the path without links, as far as it exists.
func Resolved(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil || path == filepath.Dir(path) {
		return cmp.Or(to, path)
	}
	return filepath.Join(Resolved(filepath.Dir(path)), filepath.Base(path))
}

// Written is [Resolved] for a file that is going to be written, so that a link stays a link: one that leads to nothing
// is followed too, but not into /proc, where the placeholders of sandboxes lead.
func Written(path string) string {
	const links = 40 // as many as systems follow
	path = Resolved(path)
	for range links {
		to, err := os.Readlink(path)
		if err != nil || strings.HasPrefix(to, "/proc/") {
			break
		}
		path = Resolved(Absolute(filepath.Dir(path), to))
	}
	return path
}

// SameFile reports whether two paths lead to one file.
func SameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// Absolute returns a path without . and .. in it, which is relative to a folder unless it is absolute.
func Absolute(folder, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(folder, path)
}

// Within reports whether a path is a folder or below it, comparing letters only.
func Within(path, folder string) bool {
	below, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(below)
}

// Glob returns the paths in a folder whose names match a pattern, by name. The folder's own name is no pattern.
func Glob(folder, pattern string) []string {
	names, _ := fs.Glob(os.DirFS(folder), pattern)
	for i, name := range names {
		names[i] = filepath.Join(folder, name)
	}
	return names
}

// Shortened returns path relative to the current folder if it is inside that folder, otherwise path unchanged.
func Shortened(path string) string {
	here, err := filepath.Abs(".")
	if err != nil || !filepath.IsAbs(path) {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// UserFolder is toolhost's folder among those of the user's programs: in the folder that a variable of the XDG
// specification names, which ignores relative ones, otherwise below the home folder.
func UserFolder(variable string, belowHome ...string) (string, error) {
	dir := os.Getenv(variable)
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("$%s is not an absolute path, and %w; set one of them", variable, err)
		}
		dir = filepath.Join(append([]string{home}, belowHome...)...)
	}
	return filepath.Join(dir, "toolhost"), nil
}

// ErrIrregular means that a path names no regular file.
var ErrIrregular = errors.New("not a regular file")

// OpenRegular opens a regular file for reading. It never blocks, as the opening of a pipe could.
func OpenRegular(path string) (*os.File, error) {
	f, err := OpenForReading(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrIrregular}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// ReadRegular reads a regular file of at most limit bytes. It never blocks.
func ReadRegular(path string, limit int64) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes, which is the limit", path, limit)
	}
	return data, err
}

// OpenPrivate opens a regular file of this user that no other user can read or write. It follows no link at path and
// never blocks. On Windows it looks only at whether the file is a regular one.
func OpenPrivate(path string) (*os.File, error) { return openPrivate(path, os.O_RDONLY) }

// AppendPrivate is [OpenPrivate] for writing at the end of the file, which is made with mode 0600 if it is not there.
func AppendPrivate(path string) (*os.File, error) {
	return openPrivate(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
}

// FolderError adds to an error of the file system what to do about the folder dir: otherwise says how to use another
// one, such as "set XDG_STATE_HOME to another folder". Other errors are returned as they are.
func FolderError(err error, dir, otherwise string) error {
	if whole, e := filepath.Abs(dir); dir == "." && e == nil {
		dir = whole
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w. Fix: free space for %s, or %s", err, dir, otherwise)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist),
		errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return fmt.Errorf("%w. Fix: make %s a folder that this user can write to, or %s", err, dir, otherwise)
	}
	return err
}
