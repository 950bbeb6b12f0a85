package fsutil

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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

// SameFile reports whether two paths lead to one file.
func SameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// Within reports whether a path is a folder or below it, comparing letters only.
func Within(path, folder string) bool {
	below, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(below)
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
