package supervise

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// A Program is the current state of the file that a plugin's command names.
type Program struct {
	// Path is absolute, as exec resolves it.
	Path string
	// SHA256 is the checksum of the file, in hex.
	SHA256 string
	// InPlace means that it runs from its own path, because it needs files beside it: a script, or a program that loads
	// libraries from there. What it loads is not part of the checksum.
	InPlace bool
	// Interpreters are the programs that run it, if it is a script, or env.
	Interpreters []Interpreter
}

// An Interpreter is a program that runs a plugin's script: its path, and the checksum of the file, in hex.
type Interpreter struct{ Path, SHA256 string }

// Inspect reads the plugin's program without running it. It fails if users other than this one and root can replace
// the program or an interpreter.
func (s Spec) Inspect() (Program, error) {
	if s.Attach {
		return Program{}, errAttachedProgram
	}
	path, sum, inPlace, err := s.inspectFile()
	if err != nil {
		return Program{}, err
	}
	p := Program{Path: path, SHA256: sum, InPlace: inPlace}
	found, err := s.interpreters(path)
	if err != nil {
		return p, nil //nolint:nilerr // the start reports it
	}
	for _, interpreter := range slices.Compact(found) {
		err := fsutil.CheckOwnership(interpreter)
		if isInvalid(err) {
			return Program{}, interpreterError(path, err)
		}
		var sum string
		if err == nil {
			sum, err = interpreterSum(interpreter)
		}
		if err != nil {
			p.Interpreters = nil
			return p, nil //nolint:nilerr // the start reports it
		}
		p.Interpreters = append(p.Interpreters, Interpreter{interpreter, sum})
	}
	return p, nil
}

func (s Spec) inspectFile() (path, sum string, inPlace bool, err error) {
	if path, err = s.locate(); err != nil {
		return "", "", false, err
	}
	f, err := binaries.Open(path)
	if err != nil {
		return "", "", false, launchError(s, err)
	}
	defer f.Close()
	if sum, err = f.SHA256(io.Discard); err != nil {
		return "", "", false, launchError(s, err)
	}
	return path, sum, f.InPlace(), nil
}

// Verify checks, without a start, that the plugin may be started, and that its program and interpreters exist, can be
// changed only by this user and root, and have the checksums of the spec and its lock.
func (s Spec) Verify() error {
	if err := errors.Join(s.checkAllowed(), sandbox.Host{Workdir: s.Dir}.CheckFolders(s.Sandbox)); err != nil {
		return err
	}
	if err := cmp.Or(s.checkDir(), s.checkScript()); err != nil {
		return err
	}
	var path string
	var err error
	switch {
	case s.Attach:
		_, err = s.attachment()
		return err
	case s.requiredSHA256() == "":
		path, err = s.locate()
	default:
		var sum string
		if path, sum, _, err = s.inspectFile(); err == nil {
			err = s.checkSum(path, sum)
		}
	}
	if err != nil {
		return err
	}
	return s.checkInterpreters(path)
}

// verifiedProgram verifies a spec for a start and returns the file to run: if it can run from elsewhere, a copy
// with the checksum that only this user can change. The copy decides whether it can, because the program may have
// changed by then. A program that native, which may be nil, knows to be machine code, which no other runs, is not
// opened.
func (s *Supervisor) verifiedProgram(spec Spec, native func(path string) bool) (string, error) {
	if err := spec.checkAllowed(); err != nil {
		return "", err
	}
	if spec.Attach {
		return spec.Command[0], nil // read when it is joined
	}
	path, err := spec.locate()
	if err == nil {
		err = spec.checkScript()
	}
	if err == nil && (filepath.Base(path) == "env" || native == nil || !native(path)) {
		err = spec.checkInterpreters(path)
	}
	if err != nil || spec.requiredSHA256() == "" {
		return path, err
	}
	f, err := binaries.Open(path)
	if err != nil {
		return "", launchError(spec, err)
	}
	defer f.Close()
	kept, err := s.binaries.Copy(f, spec.requiredSHA256(), func(sum string) error { return spec.checkSum(path, sum) })
	if err != nil {
		return "", err
	}
	defer kept.Close()
	if kept.InPlace() {
		return path, nil
	}
	return kept.Name(), nil
}

// checkAllowed refuses a plugin that must not be started, whatever its program is.
func (s Spec) checkAllowed() error {
	switch {
	case s.Refused != "":
		return &invalidError{errors.New(s.Refused)}
	case s.Lock.Refused != "":
		return &invalidError{errors.New(s.Lock.Refused)}
	case s.Attach && s.Lock.SHA256 != "":
		return &invalidError{fmt.Errorf("it is locked at %s, and what a joined process runs cannot be compared with that",
			cmp.Or(s.Lock.Source, "the lock"))}
	}
	return nil
}

// checkScript reports a missing script before its interpreter does, in a message that names the folder.
func (s Spec) checkScript() error {
	if s.Script == "" {
		return nil
	}
	_, err := os.Stat(s.Script)
	switch {
	case errors.Is(err, os.ErrNotExist):
		advice := cmp.Or(s.written(slices.Index(s.Command, s.Script)), unreplaced(s.Script),
			"; relative paths in command start from the folder of the configuration, or from dir")
		return &unusableError{fmt.Errorf("%s, the script of %s, does not exist%s", s.Script, filepath.Base(s.Command[0]),
			advice)}
	case err != nil:
		return fmt.Errorf("%s, the script of %s, cannot be read: %w", s.Script, filepath.Base(s.Command[0]), err)
	}
	return nil
}

// requiredSHA256 is the required checksum of the program, "" for any.
func (s Spec) requiredSHA256() string { return strings.ToLower(cmp.Or(s.SHA256, s.Lock.SHA256)) }

// checkSum compares the program's checksum with those of the spec and its lock.
func (s Spec) checkSum(path, sum string) error {
	if s.SHA256 != "" && !strings.EqualFold(sum, s.SHA256) {
		return &invalidError{fmt.Errorf("%s has the sha256 %s, but %s requires %s; it was changed or is another version",
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

// locate finds the program, and fails if other users can change it.
func (s Spec) locate() (string, error) {
	path, err := s.programFile()
	if err == nil {
		err = fsutil.CheckOwnership(path)
	}
	if err == nil || isInvalid(err) {
		return path, err
	}
	return "", launchError(s, err)
}

// programFile finds the file that the command names, as exec does.
func (s Spec) programFile() (string, error) {
	if s.Attach {
		return s.commandName(), nil
	}
	path, err := exec.LookPath(s.commandName())
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // reading a pipe for its checksum would block without limit
		err = fsutil.ErrIrregular
	}
	return path, err
}

// commandName is the program of the command: an absolute path, or a name to be looked up in PATH.
func (s Spec) commandName() string {
	name := s.Command[0]
	if fsutil.HasFolder(name) && !filepath.IsAbs(name) {
		if abs, err := filepath.Abs(filepath.Join(s.Dir, name)); err == nil {
			return abs
		}
	}
	return name
}

const maxInterpreters = 5 // the longest chain of scripts that interpret each other, as in the kernel

// errUnclear means that the interpreter depends on more than a path and PATH.
var errUnclear = errors.New("which program runs it cannot be determined from its #! line or its command. Fix: name " +
	"the interpreter by its path")

// interpreters finds the programs that run the program at path, outermost first; for machine code only env has any.
// With an error it returns those found so far.
func (s Spec) interpreters(path string) (found []string, err error) {
	args := s.Command[1:]
	for range maxInterpreters {
		words, err := shebang(path)
		if err != nil {
			return found, err
		}
		switch {
		case len(words) > 0: // the kernel runs it with the rest of the line, and the script
			path, args = words[0], words[1:]
			if !filepath.IsAbs(path) {
				path = filepath.Join(s.Dir, path)
			}
		case filepath.Base(path) == "env":
			name, rest, err := envProgram(args)
			if err != nil || name == "" {
				return found, err
			}
			if path, err = s.lookPath(name); err != nil {
				return found, err
			}
			args = rest
		default:
			return found, nil
		}
		found = append(found, path)
	}
	return found, fmt.Errorf("%s is run by a chain of more than %d scripts", found[0], maxInterpreters)
}

// shebang returns the interpreter of a script, and the one argument that the kernel makes of the rest of the #! line;
// nothing for other files, see https://man7.org/linux/man-pages/man2/execve.2.html.
func shebang(path string) ([]string, error) {
	f, err := binaries.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 256)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	line, script := strings.CutPrefix(string(head[:n]), "#!")
	if !script {
		return nil, nil
	}
	line, _, _ = strings.Cut(line, "\n")
	const blanks = " \t"
	line = strings.Trim(line, blanks)
	if i := strings.IndexAny(line, blanks); i >= 0 {
		return []string{line[:i], strings.Trim(line[i:], blanks)}, nil
	}
	if line == "" {
		return nil, fmt.Errorf("the #! line of %s names no interpreter", path)
	}
	return []string{line}, nil
}

// envProgram returns the program that env runs with these arguments, and that program's; "" for none, when the script
// names it.
func envProgram(args []string) (name string, rest []string, err error) {
	for i, arg := range args {
		split, isSplit := strings.CutPrefix(arg, "-S")
		if long, is := strings.CutPrefix(arg, "--split-string="); is {
			split, isSplit = long, true
		}
		switch {
		case isSplit:
			if strings.ContainsAny(split, `"'\$#`) {
				return "", nil, errUnclear
			}
			return envProgram(append(strings.Fields(split), args[i+1:]...))
		case arg == "-v", arg == "--debug", arg == "--":
		case strings.HasPrefix(arg, "-"), strings.HasPrefix(arg, "PATH="):
			return "", nil, errUnclear
		case !strings.Contains(arg, "="):
			return arg, args[i+1:], nil
		}
	}
	return "", nil, nil
}

// lookPath finds a program in the PATH of the plugin.
func (s Spec) lookPath(name string) (string, error) {
	absolute := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(s.Dir, path)
	}
	if fsutil.HasFolder(name) {
		return absolute(name), nil
	}
	path, set := s.Env["PATH"]
	if !set {
		path = os.Getenv("PATH")
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(absolute(dir), name)
		if fsutil.IsProgram(file) {
			return file, nil
		}
	}
	return "", s.notInPath(name)
}

// notInPath is the error of a program without a folder, which may be an interpreter.
func (s Spec) notInPath(name string) error {
	advice := writtenAsShell(name)
	if name == s.Command[0] {
		advice = cmp.Or(s.written(0), advice)
	}
	return &unusableError{fmt.Errorf("%s was not found in PATH%s", quoted(name), advice)}
}

// checkInterpreters checks that the programs that run the program at path cannot be changed by other users, and are
// the locked ones.
func (s Spec) checkInterpreters(path string) error {
	found, err := s.interpreters(path)
	for _, interpreter := range found {
		if err := fsutil.CheckOwnership(interpreter); isInvalid(err) {
			return interpreterError(path, err)
		}
	}
	if s.Lock.SHA256 == "" {
		return nil // the start reports an interpreter that cannot be found
	}
	if err != nil {
		return interpreterError(path, err)
	}
	for _, interpreter := range found {
		sum, err := interpreterSum(interpreter)
		if err != nil {
			return interpreterError(path, err)
		}
		switch locked := s.Lock.Interpreters[interpreter]; {
		case locked == "":
			return &invalidError{fmt.Errorf("%s is run by %s, which was not locked at %s%s",
				path, interpreter, cmp.Or(s.Lock.Source, "the lock"), s.Lock.advice())}
		case !strings.EqualFold(locked, sum):
			return &invalidError{fmt.Errorf("%s is run by %s, which is not the program that was locked at %s%s; it has "+
				"the sha256 %s, not %s", path, interpreter, cmp.Or(s.Lock.Source, "the lock"), s.Lock.advice(), sum, locked)}
		}
	}
	return nil
}

func interpreterError(path string, err error) error {
	wrapped := fmt.Errorf("the interpreter of %s: %w", path, err)
	if isInvalid(err) || errors.Is(err, errUnclear) {
		return &invalidError{wrapped}
	}
	if why := Diagnose(path); why != "" { // it knows the #! line, which err does not name
		return &unusableError{fmt.Errorf("%s cannot be run: %s", quoted(path), why)}
	}
	return wrapped
}

// interpreterSums has the checksums of files in states that cannot change unnoticed, by binaries.Identity.
var interpreterSums sync.Map

func interpreterSum(path string) (string, error) {
	f, err := binaries.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	before, err := f.Identity()
	if err != nil {
		return "", err
	}
	if sum, known := interpreterSums.Load(before); known {
		return sum.(string), nil
	}
	sum, err := f.SHA256(io.Discard)
	if err != nil {
		return "", err
	}
	if after, err := f.Identity(); err == nil && after == before && after.Settled(time.Now()) {
		interpreterSums.Store(before, sum)
	}
	return sum, nil
}
