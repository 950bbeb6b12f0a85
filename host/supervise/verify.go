package supervise

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/host/supervise/internal/stage"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// A Program is the file that a plugin's command names, as it is now.
type Program struct {
	// Path is absolute, as exec finds it.
	Path string
	// SHA256 is the checksum of its bytes, in hex.
	SHA256 string
	// InPlace says that it runs from its own path, since it needs what is beside it: a script, or a program that looks for
	// its libraries there. What it loads is not in the checksum.
	InPlace bool
	// Interpreters are the programs that run it, if it is a script, or env.
	Interpreters []Interpreter
}

// Inspect looks at the program of a plugin without running it. It fails when others than the user and root could put
// another in its place.
func Inspect(spec Spec) (Program, error) {
	path, err := spec.locate()
	if err != nil {
		return Program{}, err
	}
	f, err := binaries.Open(path)
	if err != nil {
		return Program{}, startProblem(spec, err)
	}
	defer f.Close()
	sum, err := f.SHA256(io.Discard)
	if err != nil {
		return Program{}, startProblem(spec, err)
	}
	run, err := spec.inspectInterpreters(path)
	if isInvalid(err) { // what else is wrong is for a start to tell
		return Program{}, err
	}
	return Program{Path: path, SHA256: sum, InPlace: f.InPlace(), Interpreters: run}, nil
}

// Verify checks, without running it, that the plugin may be started, and that its program is there, can be changed by
// nobody but the user and root, and has the checksum that the spec asks for.
func Verify(spec Spec) error {
	if err := errors.Join(spec.mayStart(), stage.Plan{Box: spec.Sandbox, Folders: stage.Folders{Work: spec.Dir}}.Check()); err != nil {
		return err
	}
	if err := spec.checkScript(); err != nil {
		return err
	}
	if spec.sum() == "" {
		path, err := spec.locate()
		if err != nil {
			return err
		}
		return spec.checkInterpreters(path)
	}
	p, err := Inspect(spec)
	if err != nil {
		return err
	}
	if err := spec.accepts(p.Path, p.SHA256); err != nil {
		return err
	}
	return spec.checkInterpreters(p.Path)
}

// verified gives the file to run, whose bytes are those that the spec asks for: a copy that is the user's alone, of a
// program that can run from elsewhere. Whether it can is seen in the copy, since the program may be another by then.
func (s *Supervisor) verified(spec Spec) (string, error) {
	if err := spec.mayStart(); err != nil {
		return "", err
	}
	path, err := spec.locate()
	if err == nil {
		err = spec.checkScript()
	}
	if err == nil {
		err = spec.checkInterpreters(path)
	}
	if err != nil || spec.sum() == "" {
		return path, err
	}
	f, err := binaries.Open(path)
	if err != nil {
		return "", startProblem(spec, err)
	}
	defer f.Close()
	kept, err := s.vault.Keep(f, spec.sum(), func(sum string) error { return spec.accepts(path, sum) })
	if err != nil {
		return "", err
	}
	defer kept.Close()
	if kept.InPlace() {
		return path, nil
	}
	return kept.Name(), nil
}

// checkScript says what is wrong with the script that an interpreter is to run, before the interpreter says it in its own words.
func (s Spec) checkScript() error {
	if s.Script == "" {
		return nil
	}
	_, err := os.Stat(s.Script)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("there is no %s, which %s is to run; a path in command starts from the folder of the configuration, or from dir", s.Script, filepath.Base(s.Command[0]))
	case err != nil:
		return fmt.Errorf("%s, which %s is to run, cannot be read: %w", s.Script, filepath.Base(s.Command[0]), err)
	}
	return nil
}

func (s Spec) mayStart() error {
	if s.Lock.Refused != "" {
		return &invalidError{errors.New(s.Lock.Refused)}
	}
	return nil
}

// sum is the checksum that the program must have, "" when any will do.
func (s Spec) sum() string { return strings.ToLower(cmp.Or(s.SHA256, s.Lock.SHA256)) }

// accepts says what is wrong with a program of this checksum.
func (s Spec) accepts(path, sum string) error {
	if s.SHA256 != "" && !strings.EqualFold(sum, s.SHA256) {
		return &invalidError{fmt.Errorf("%s has the sha256 %s, but %s asks for %s; it was changed or is another version",
			path, sum, cmp.Or(s.Source, "its spec"), s.SHA256)}
	}
	if l := s.Lock; l.SHA256 != "" && !strings.EqualFold(sum, l.SHA256) {
		return &invalidError{fmt.Errorf("%s is not the program that was locked at %s%s; it has the sha256 %s, not %s",
			path, cmp.Or(l.Source, "the lock"), l.advice(), sum, l.SHA256)}
	}
	return nil
}

func (l Lock) advice() string {
	if l.Advice == "" {
		return ""
	}
	return "; " + l.Advice
}

// locate finds the program, which others cannot change.
func (s Spec) locate() (string, error) {
	path, err := program(s)
	if err == nil {
		err = fsutil.CheckOwnership(path)
	}
	if err == nil || isInvalid(err) {
		return path, err
	}
	return "", startProblem(s, err)
}

// program finds the file that the command names, as exec does.
func program(spec Spec) (string, error) {
	path, err := exec.LookPath(spec.named())
	if err != nil {
		return "", err
	}
	return path, regular(path)
}

// named is the command's first word: an absolute path, or a name to be looked up in PATH.
func (s Spec) named() string {
	name := s.Command[0]
	if strings.Contains(name, "/") && !filepath.IsAbs(name) {
		if abs, err := filepath.Abs(filepath.Join(s.Dir, name)); err == nil {
			return abs
		}
	}
	return name
}

// file is where the program is, if that is known without a lookup of what can be run.
func (s Spec) file() (path string, found bool) {
	if len(s.Command) == 0 {
		return "", false
	}
	if path = s.named(); filepath.IsAbs(path) {
		_, err := os.Lstat(path)
		return path, err == nil
	}
	path, err := exec.LookPath(path)
	return path, err == nil
}

// absent says whether the program is named by its path and not there.
func (s Spec) absent() bool {
	path := s.named()
	_, err := os.Lstat(path)
	return filepath.IsAbs(path) && errors.Is(err, os.ErrNotExist)
}

var errIrregular = errors.New("it is no regular file")

// regular keeps a pipe from being read for a checksum: that would wait for ever.
func regular(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	return err
}
