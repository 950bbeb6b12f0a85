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
)

// program is what execve needs to know.
type program struct {
	name string // as the caller wrote it
	path string
	dir  string
	argv []string
	env  []string

	terminal  bool // standard input is to be its controlling terminal
	namespace bool // it is to run in a process namespace
	restrict  *Restrictions
	started   func(pid int)

	sealed                                   bool
	writable, fixed, readOnly, hidden, links []string
}

// runs tells whoever asked that the program has been started.
func (p *program) runs(pid int) {
	if p.started != nil {
		p.started(pid)
	}
}

// resolve finds the program's file. It looks at nothing else: whether the file
// can be run is for execve to say.
func (c *Cmd) resolve() (program, error) {
	p := program{name: c.Path, path: c.Path, dir: c.Dir, argv: append([]string{cmp.Or(c.Name, c.Path)}, c.Args...), env: c.environ(),
		terminal: c.Terminal != nil, namespace: c.Namespace, restrict: c.Restrict, started: c.Started,
		sealed: c.Sealed, writable: c.Writable, fixed: c.Fixed, readOnly: c.ReadOnly, hidden: c.Hidden, links: c.Links}
	if c.Path == "" {
		return p, &StartError{c.Path, "no program is named", fs.ErrInvalid}
	}
	if no := NamespacesRefused(); c.Namespace && no != nil {
		return p, &StartError{c.Path, no.Error(), no}
	}
	if c.Restrict != nil && !Offered().Restrictions {
		return p, p.unrestricted("none is known on "+runtime.GOOS, syscall.ENOSYS)
	}
	for _, s := range slices.Concat(p.argv, p.env, p.writable, p.fixed, p.readOnly, p.hidden, p.links, []string{p.dir}) {
		if strings.ContainsRune(s, 0) {
			return p, &StartError{c.Path, "a NUL byte in its path, arguments, environment or directory", fs.ErrInvalid}
		}
	}
	if err := p.unfixable(); err != nil {
		return p, err
	}
	if strings.ContainsRune(c.Path, '/') || strings.ContainsRune(c.Path, filepath.Separator) {
		return p, nil
	}
	var err error
	p.path, err = lookPath(c.Path, p.env)
	return p, err
}

// unfixable says why the files to be fixed, if any, cannot be. A mount over the root is one that nobody sees.
func (p *program) unfixable() error {
	paths := slices.Concat(p.writable, p.fixed, p.readOnly, p.hidden, p.links)
	if (p.sealed || len(paths) > 0) && !p.namespace {
		return &StartError{p.name, "there is no process namespace, which fixed, read-only and hidden files need", errors.ErrUnsupported}
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) || filepath.Dir(path) == filepath.Clean(path) {
			return &StartError{p.name, fmt.Sprintf("%q cannot be writable, fixed, read-only or hidden: it is not an absolute path, or the root", path), fs.ErrInvalid}
		}
	}
	return nil
}

// lookPath searches the PATH of env. Relative directories in it are passed
// over: what they hold depends on where the program happens to run.
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
		if info, seen := os.Stat(file); seen == nil && !info.IsDir() && fail.Err == error(notFound{}) { //nolint:errorlint // its own value
			fail = &StartError{name, file + " may not be executed", err}
		}
	}
	return "", fail
}

// notFound is both os/exec's and io/fs's idea of a missing program.
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

// environ is the environment of the program.
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

// lastWins drops all but the last entry of each key: programs disagree about
// which of two counts.
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
