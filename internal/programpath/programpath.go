// Package programpath finds a program where a person's shell would find it, for a process whose PATH is bare, such as
// one that a desktop application started.
package programpath

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A Program is a program that was found, and the PATH to run it with.
type Program struct {
	// Path is the absolute path of the file.
	Path string
	// PATH has the program's folder, which may hold what it runs itself, as that of npx holds node; then what PATH was;
	// then the usual folders that exist.
	PATH string
	// Usual is true when the program is not in PATH, but in a usual folder.
	Usual bool
}

// A NotFoundError says that a program is in no folder, and lists them.
type NotFoundError struct {
	Name string
	// Path are the folders of PATH, Usual those where the installers of programs put them.
	Path, Usual []string
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%s is not found; looked in PATH (%s) and in %s", e.Name, listed(e.Path), listed(e.Usual))
}

func listed(folders []string) string {
	if len(folders) == 0 {
		return "empty"
	}
	return strings.Join(folders, ", ")
}

// Is makes the error one of fs.ErrNotExist and exec.ErrNotFound.
func (e *NotFoundError) Is(target error) bool {
	return target == fs.ErrNotExist || target == exec.ErrNotFound
}

// Find finds the program called name with the PATH and the HOME of env, which has the form of os.Environ. A name with a
// slash is a path, which is not looked up. The error is a *NotFoundError.
func Find(name string, env []string) (*Program, error) {
	inPath, usual := folders(env)
	if strings.ContainsRune(filepath.ToSlash(name), '/') {
		folder := filepath.Dir(name)
		if !filepath.IsAbs(folder) {
			return &Program{Path: name, PATH: join(inPath, usual)}, nil
		}
		return &Program{Path: name, PATH: join(inPath, usual, []string{folder})}, nil
	}
	for i, folder := range slices.Concat(inPath, usual) {
		if !filepath.IsAbs(folder) { // what it holds depends on where the program runs
			continue
		}
		path, err := exec.LookPath(filepath.Join(folder, name))
		if err != nil {
			continue
		}
		return &Program{Path: path, PATH: join([]string{folder}, inPath, usual), Usual: i >= len(inPath)}, nil
	}
	return nil, &NotFoundError{Name: name, Path: inPath, Usual: tried(env)}
}

// folders returns those of PATH, and the usual ones that exist and are not among them.
func folders(env []string) (inPath, usual []string) {
	for _, folder := range filepath.SplitList(value(env, "PATH")) {
		if folder != "" && !slices.Contains(inPath, folder) {
			inPath = append(inPath, folder)
		}
	}
	for _, pattern := range patterns(env) {
		for _, folder := range expand(pattern) {
			if !slices.Contains(inPath, folder) && !slices.Contains(usual, folder) {
				usual = append(usual, folder)
			}
		}
	}
	return inPath, usual
}

// expand returns the folders that fit a pattern, of versions the latest first.
func expand(pattern string) []string {
	found, _ := filepath.Glob(pattern) // the only error is that of a bad pattern
	slices.SortFunc(found, func(a, b string) int { return compareVersions(b, a) })
	return slices.DeleteFunc(found, func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || !info.IsDir()
	})
}

// tried are the usual folders for an error: patterns, where ~ stands for the home folder.
func tried(env []string) (out []string) {
	for _, pattern := range patterns(env) {
		if home := home(env); home != "" {
			if rest, ok := strings.CutPrefix(pattern, home+string(filepath.Separator)); ok {
				pattern = filepath.Join("~", rest)
			}
		}
		if !slices.Contains(out, pattern) {
			out = append(out, pattern)
		}
	}
	return out
}

func join(lists ...[]string) string {
	var out []string
	for _, folder := range slices.Concat(lists...) {
		if !slices.Contains(out, folder) {
			out = append(out, folder)
		}
	}
	return strings.Join(out, string(filepath.ListSeparator))
}

// value returns that of a variable, the last if it is there twice.
func value(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		key, value, ok := strings.Cut(entry, "=")
		if ok && (key == name || runtime.GOOS == "windows" && strings.EqualFold(key, name)) {
			return value
		}
	}
	return ""
}
