package supervise

import (
	"cmp"
	"context"
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
	if err := errors.Join(spec.mayStart(), sandbox.Plan{Box: spec.Sandbox, Folders: sandbox.Folders{Work: spec.Dir}}.Check()); err != nil {
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

// An Interpreter is a program that runs a plugin's script, as its first line or the command says: the path where it is found,
// and the checksum of its bytes, in hex.
type Interpreter struct{ Path, SHA256 string }

// maxInterpreters is how many scripts may each be the interpreter of the one before, as in the kernel.
const maxInterpreters = 5

// errUnclear says that the interpreter depends on more than a path and PATH.
var errUnclear = errors.New("which program runs it cannot be determined from its first line, or its command; have that name the interpreter by its path")

// interpreters finds the programs that run the program at path, outermost first; none of machine code, but for env. With
// errUnclear they are those that are known.
func (s Spec) interpreters(path string) (found []string, err error) {
	args := s.Command[1:]
	for range maxInterpreters {
		words, err := firstLine(path)
		if err != nil {
			return found, err
		}
		switch {
		case len(words) > 0: // the kernel runs it with what is after it in the line, and the script
			path, args = words[0], words[1:]
			if !filepath.IsAbs(path) {
				path = filepath.Join(s.Dir, path)
			}
		case filepath.Base(path) == "env":
			name, rest, err := envRuns(args)
			if err != nil || name == "" {
				return found, err
			}
			if path, err = s.inPath(name); err != nil {
				return found, err
			}
			args = rest
		default:
			return found, nil
		}
		found = append(found, path)
	}
	return found, fmt.Errorf("%s is run by a script that is run by a script, and so on", found[0])
}

// firstLine gives the interpreter of a script, and the one argument that the kernel makes of the rest of the line; nothing of
// what is no script, see https://man7.org/linux/man-pages/man2/execve.2.html.
func firstLine(path string) ([]string, error) {
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
		return nil, fmt.Errorf("the first line of %s names no interpreter", path)
	}
	return []string{line}, nil
}

// envRuns gives the program that env runs with the arguments, and that one's; "" for none, which is the script's to name.
func envRuns(args []string) (name string, rest []string, err error) {
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
			return envRuns(append(strings.Fields(split), args[i+1:]...))
		case arg == "-v", arg == "--debug", arg == "--":
		case strings.HasPrefix(arg, "-"), strings.HasPrefix(arg, "PATH="):
			return "", nil, errUnclear
		case !strings.Contains(arg, "="):
			return arg, args[i+1:], nil
		}
	}
	return "", nil, nil
}

// inPath finds a program in the PATH that the plugin gets.
func (s Spec) inPath(name string) (string, error) {
	absolute := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(s.Dir, path)
	}
	if strings.Contains(name, "/") {
		return absolute(name), nil
	}
	path, set := s.Env["PATH"]
	if !set {
		path = os.Getenv("PATH")
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(absolute(dir), name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("there is no program %s in PATH", name)
}

// checkInterpreters says what is wrong with the programs that run the program at path: others could change one, or it is not
// what was locked.
func (s Spec) checkInterpreters(path string) error {
	found, err := s.interpreters(path)
	for _, interpreter := range found {
		if err := fsutil.CheckOwnership(interpreter); isInvalid(err) {
			return interpreterProblem(path, err)
		}
	}
	if s.Lock.SHA256 == "" {
		return nil // what cannot be found is for the start to tell
	}
	if err != nil {
		return interpreterProblem(path, err)
	}
	for _, interpreter := range found {
		sum, err := interpreterSum(interpreter)
		if err != nil {
			return interpreterProblem(path, err)
		}
		switch locked := s.Lock.Interpreters[interpreter]; {
		case locked == "":
			return &invalidError{fmt.Errorf("%s is run by %s, which was not locked at %s%s", path, interpreter, cmp.Or(s.Lock.Source, "the lock"), s.Lock.advice())}
		case !strings.EqualFold(locked, sum):
			return &invalidError{fmt.Errorf("%s is run by %s, which is not the program that was locked at %s%s; it has the sha256 %s, not %s",
				path, interpreter, cmp.Or(s.Lock.Source, "the lock"), s.Lock.advice(), sum, locked)}
		}
	}
	return nil
}

func interpreterProblem(path string, err error) error {
	wrapped := fmt.Errorf("what runs %s: %w", path, err)
	if isInvalid(err) || errors.Is(err, errUnclear) {
		return &invalidError{wrapped}
	}
	return wrapped
}

// inspectInterpreters are those of a program with their checksums, for a lock.
func (s Spec) inspectInterpreters(path string) (out []Interpreter, err error) {
	found, err := s.interpreters(path)
	if err != nil {
		return nil, err
	}
	for _, interpreter := range slices.Compact(found) {
		if err := fsutil.CheckOwnership(interpreter); err != nil {
			return nil, interpreterProblem(path, err)
		}
		sum, err := interpreterSum(interpreter)
		if err != nil {
			return nil, interpreterProblem(path, err)
		}
		out = append(out, Interpreter{interpreter, sum})
	}
	return out, nil
}

// interpreterSums are the checksums of files in states that cannot change unseen, by binaries.Identity.
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

// absentProgram stands for a program that is not there.
var absentProgram = binaries.Identity{Size: -1}

// idOf tells whether a program's file is still the one that was started.
func idOf(spec Spec) binaries.Identity {
	if len(spec.Command) == 0 {
		return absentProgram
	}
	path, err := program(spec)
	if err != nil {
		return absentProgram
	}
	id, err := binaries.Identify(path)
	if err != nil {
		return absentProgram
	}
	return id
}

// program tells which the program is now, if that matters: a plugin that is down for what its program
// did is started anew when the program has changed. It is not ok when ctx or the plugin ended first.
func (p *Process) program(ctx context.Context) (id binaries.Identity, ok bool) {
	switch p.status.Load().State {
	case Crashed, Backoff, Quarantined, Invalid:
		return p.look(ctx, *p.spec.Load())
	}
	return binaries.Identity{}, true
}

// look is idOf for as long as ctx and the plugin last.
func (p *Process) look(ctx context.Context, spec Spec) (id binaries.Identity, ok bool) {
	return aside(ctx, p, p.looks, func() binaries.Identity { return idOf(spec) })
}

// lookToStart is look in the time that the spec allows for a start.
func (p *Process) lookToStart(ctx context.Context, spec Spec) (binaries.Identity, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, spec.StartTimeout, fmt.Errorf("it was not ready within %s", spec.StartTimeout))
	defer cancel()
	id, ok := p.look(ctx, spec)
	if !ok {
		return id, fmt.Errorf("%w; looking at its program hangs in the system", context.Cause(ctx))
	}
	return id, nil
}
