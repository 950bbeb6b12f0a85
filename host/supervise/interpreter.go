package supervise

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/internal/fsutil"
)

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
