package proctree

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/toolhost/toolhost/internal/nesting"
)

// program has the arguments of execve, and the sandbox.
type program struct {
	name     string // as the caller wrote it
	path     string
	dir      string
	argv     []string
	env      []string
	terminal bool // standard input becomes its controlling terminal
	sandbox  Sandbox
	launcher *Launcher     // or nil
	started  func(pid int) // or nil
	exited   func(Exit)    // or nil
	ended    func()        // or nil
}

// resolve finds the program's file. It does not check it further: execve reports whether it can be run.
func (c *Cmd) resolve() (program, error) {
	p := program{name: c.Path, path: c.Path, dir: c.Dir, argv: append([]string{cmp.Or(c.Name, c.Path)}, c.Args...),
		env: c.environ(), terminal: c.Terminal != nil, sandbox: c.Sandbox, launcher: c.Launcher, started: c.Started,
		exited: c.Exited, ended: c.Ended}
	s := &p.sandbox
	paths := slices.Concat(s.Writable, s.Pinned, s.ReadOnly, s.Masked, s.PinnedLinks)
	refused := NamespacesRefused()
	switch {
	case c.Path == "":
		return p, &StartError{c.Path, "no program is named", fs.ErrInvalid}
	case s.Namespaces && refused != nil:
		return p, &StartError{c.Path, refused.Error(), refused}
	case !s.isZero() && containment != inTree:
		return p, p.sandboxError("none is known on "+runtime.GOOS, syscall.ENOSYS)
	case slices.ContainsFunc(slices.Concat(p.argv, p.env, paths, []string{p.dir}), containsNUL):
		const reason = "a NUL byte in its path, arguments, environment or directory"
		return p, &StartError{c.Path, reason, fs.ErrInvalid}
	case (s.ReadOnlyRoot || len(paths) > 0) && !s.Namespaces:
		const reason = "there is no process namespace, which pinned, read-only and masked files need"
		return p, &StartError{p.name, reason, errors.ErrUnsupported}
	}
	for _, path := range paths { // a mount over the root has no effect
		if !filepath.IsAbs(path) || filepath.Dir(path) == filepath.Clean(path) {
			const reason = "%q cannot be writable, pinned, read-only or masked: it is not an absolute path, or the root"
			return p, &StartError{p.name, fmt.Sprintf(reason, path), fs.ErrInvalid}
		}
	}
	if strings.ContainsRune(c.Path, '/') || strings.ContainsRune(c.Path, filepath.Separator) {
		return p, nil
	}
	var err error
	p.path, err = lookPath(c.Path, p.env)
	return p, err
}

func containsNUL(s string) bool { return strings.ContainsRune(s, 0) }

// lookPath searches the PATH of env. Relative directories in it are skipped: their content depends on where the
// program happens to run.
func lookPath(name string, env []string) (string, error) {
	path, set := pathOf(env)
	if !set {
		return "", &StartError{name, "not found: its environment has no PATH", exec.ErrNotFound}
	}
	fail := &StartError{name, "not found in PATH", notFound{}}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		found, err := exec.LookPath(file)
		if err == nil {
			return found, nil
		}
		if info, seen := os.Stat(file); seen == nil && !info.IsDir() &&
			fail.Err == error(notFound{}) { //nolint:errorlint // its own value
			fail = &StartError{name, file + " may not be executed", err}
		}
	}
	return "", fail
}

// notFound is a missing program for both os/exec and io/fs.
type notFound struct{}

func (notFound) Error() string        { return exec.ErrNotFound.Error() }
func (notFound) Is(target error) bool { return target == exec.ErrNotFound || target == fs.ErrNotExist }

func pathOf(env []string) (string, bool) {
	for _, entry := range slices.Backward(env) {
		if name, value, ok := strings.Cut(entry, "="); ok && envKey(name) == envKey("PATH") {
			return value, true
		}
	}
	return "", false
}

func (c *Cmd) environ() []string {
	if c.Env != nil {
		return lastWins(c.Env)
	}
	env := os.Environ()
	if dir, err := filepath.Abs(c.Dir); err == nil && c.Dir != "" {
		env = append(env, "PWD="+dir)
	}
	return lastWins(env)
}

// lastWins keeps the last entry of each key, because programs disagree about which of two counts.
func lastWins(env []string) []string {
	seen := make(map[string]bool, len(env))
	kept := make([]string, 0, len(env))
	for _, entry := range slices.Backward(env) {
		name, _, ok := strings.Cut(entry, "=")
		if ok && name != "" && seen[envKey(name)] {
			continue
		}
		seen[envKey(name)] = true
		kept = append(kept, entry)
	}
	slices.Reverse(kept)
	return kept
}

func envKey(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

// Environ returns the environment of this process for a program that a tool runs, without [Reserved] variables; but
// with the one by which a host knows the hosts that run it.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return Reserved(name) && name != nesting.Var
	})
}

// Reserved reports variables that a tool's programs do not get: those between a plugin and its host, and those that
// make shells run more than the command.
func Reserved(name string) bool {
	for _, prefix := range []string{"TOOLHOST_", "PLUGIN_", "BASH_FUNC_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"BASH_ENV", "ENV", "BASHOPTS", "SHELLOPTS"}, name)
}
