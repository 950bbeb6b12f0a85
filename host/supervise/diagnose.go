package supervise

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// startError is the error of a call whose start failed with err, nil for nil.
func (m *stateMachine) startError(err error) error {
	if err == nil {
		return nil
	}
	const advice = "Do without its tools, or ask the user to fix it."
	if isInvalid(err) {
		e := m.unavailable("Invalid", 0, "plugin %q cannot be used: %v", m.p.name, err)
		e.Suggestion = advice
		if c, ok := errors.AsType[*configError](err); ok {
			problems, more := c.problems(m.p.spec.Load().References.Hider())
			e.Details = sdk.Details(map[string]any{"plugin": m.p.name, "state": m.state, "problems": problems, "more": more})
		}
		return e
	}
	e := m.unavailable("StartFailed", 0, "plugin %q could not be started: %v", m.p.name, err)
	if _, unusable := errors.AsType[*unusableError](err); unusable {
		e.Suggestion = advice
		return e
	}
	e.Retryable, e.Suggestion = true, "Try again once; then do without its tools, or ask the user to fix it."
	return e
}

func (m *stateMachine) unavailable(name string, wait time.Duration, format string, a ...any) *sdk.Error {
	e := &sdk.Error{Code: sdk.CodePluginUnavailable, Name: name, Message: fmt.Sprintf(format, a...), Retryable: wait > 0}
	facts := map[string]any{"plugin": m.p.name, "state": m.state}
	if wait > 0 {
		e.Suggestion = fmt.Sprintf("Try again in %s.", roundUp(wait))
		facts["retry_after_ms"] = wait.Milliseconds()
	}
	e.Details = sdk.Details(facts)
	return e
}

// An invalidError means that no later start can work.
type invalidError struct{ error }

func (e *invalidError) Unwrap() error { return e.error }

// isInvalid is also true for a program that other users can change.
func isInvalid(err error) bool {
	_, invalid := errors.AsType[*invalidError](err)
	_, writable := errors.AsType[*fsutil.OwnershipError](err)
	return invalid || writable
}

// launchError says why a program could not be run.
func launchError(spec Spec, err error) error {
	if e, ok := errors.AsType[*proctree.SandboxError](err); ok {
		return fmt.Errorf("it was not started, because its sandbox cannot be set up: %.200q: %s (%w)",
			e.Call, cmp.Or(errnoName(e.Errno), "error"), e.Errno)
	}
	program, missing, why := spec.Command[0], false, ""
	path := spec.commandName()
	if filepath.IsAbs(path) {
		_, statErr := os.Lstat(path)
		missing = errors.Is(statErr, os.ErrNotExist)
		if statErr == nil {
			why = Diagnose(path)
		}
	} else if found, lookErr := exec.LookPath(path); lookErr == nil {
		why = Diagnose(found)
	}
	unusable := func(why string) error {
		return &unusableError{fmt.Errorf("%s cannot be run: %s%s", quoted(program), why, spec.written(0))}
	}
	switch {
	case errors.Is(err, proctree.ErrNamespace): // its errno is not the program's
	case errors.Is(err, exec.ErrNotFound):
		return spec.notInPath(spec.Command[0])
	case why != "" && aboutFile(err):
		return unusable(why)
	case errors.Is(err, os.ErrNotExist) && missing:
		return unusable("it does not exist" + writtenAsShell(program))
	case errors.Is(err, os.ErrNotExist) && spec.checkDir() != nil:
		return spec.checkDir()
	case errors.Is(err, os.ErrNotExist):
		return unusable("it, its interpreter, or the folder to start in does not exist")
	case errors.Is(err, syscall.EISDIR):
		return unusable("it is a folder")
	case errors.Is(err, syscall.ELOOP):
		return unusable("its path is a symbolic link that leads back to itself, or through too many others")
	case errors.Is(err, syscall.ENOTDIR):
		return unusable("its path, or that of the folder to start in, leads through a file")
	case errors.Is(err, os.ErrPermission):
		return unusable("permission denied; is it executable?")
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%s cannot be run: too many open files; close some, or raise the limit (ulimit -n)", program)
	case errors.Is(err, syscall.EAGAIN):
		return fmt.Errorf("%s cannot be run: its user has too many processes; end some, or raise the limit (ulimit -u)",
			program)
	case errors.Is(err, syscall.ETXTBSY):
		return fmt.Errorf("%s cannot be run: another process still writes to it; try again when it is complete", program)
	case errors.Is(err, syscall.ENOEXEC):
		return unusable("it is not a program for this machine")
	}
	return fmt.Errorf("%s cannot be run: %w", program, err)
}

// checkDir is an error if the folder to start in is not there.
func (s Spec) checkDir() error {
	if s.Dir == "" {
		return nil
	}
	if info, err := os.Stat(s.Dir); err != nil {
		return &unusableError{fmt.Errorf("the folder to start in, %s, cannot be used: %w", quoted(s.Dir), withoutPath(err))}
	} else if !info.IsDir() {
		return &unusableError{fmt.Errorf("the folder to start in, %s, is not a folder", quoted(s.Dir))}
	}
	return nil
}

// quoted puts a path in quotes if it would look like several words, or be no plain text.
func quoted(path string) string {
	if text := strconv.Quote(path); strings.Contains(path, " ") || len(text) != len(path)+2 {
		return text
	}
	return path
}

// written is the note about a word of the command that is by reference.
func (s Spec) written(word int) string {
	if word < 0 || word >= len(s.References.Written) || s.References.Written[word] == "" {
		return ""
	}
	return "; " + s.References.Written[word]
}

// placeholders are what shells, editors and templates replace in a path: ${workspaceFolder}, $HOME, %USERPROFILE%,
// {root}, {{ .Dir }}, <path>, ~.
var placeholders = lazy.Regexp(`\$\{[^{}]*\}|\$\([^()]*\)|\$\w+|%\{[^{}]*\}|%\w+%|\{\{[^{}]*\}\}|\{\w[^{}]*\}|` +
	`<\w[^<>]*>|^~\w*`)

// variableName is the name in a placeholder that is a variable of the environment.
var variableName = lazy.Regexp(`^[$%]\{?(?:env[:.])?([A-Z][A-Z0-9_]*)[}%]?$`)

// unreplaced is advice about a path with a placeholder, which is taken as it is written.
func unreplaced(path string) string {
	found := placeholders().FindString(path)
	if at := strings.LastIndex(path, "/~"); found == "" && at >= 0 { // of a relative path, which was made absolute
		found = placeholders().FindString(path[at+1:])
	}
	name := variableName().FindStringSubmatch(found)
	switch {
	case found == "":
		return ""
	case name != nil:
		return fmt.Sprintf("; nothing replaces %s in it: write ${env.%s}", found, name[1])
	case found[0] == '~':
		return fmt.Sprintf("; nothing replaces %s in it: write ${env.HOME}", found)
	}
	return fmt.Sprintf("; nothing replaces %s in it: there are only ${env.NAME} and ${local.NAME}, and a relative path "+
		"starts from the folder of the configuration", found)
}

// writtenAsShell is advice about a program that does not exist and is written as for a shell: with its arguments, or
// with a variable.
func writtenAsShell(program string) string {
	words := strings.Fields(program)
	advice := unreplaced(program)
	switch {
	case advice != "":
		return advice
	case strings.ContainsFunc(program, unicode.IsControl):
		return `; it has a tab or a line break: write \\ for a backslash`
	case len(words) < 2:
		return ""
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return ""
	}
	return "; write each argument as an item of its own: " + shownList(words)
}

// shownList is a list as it is written in a configuration.
func shownList(words []string) string {
	items := make([]string, len(words))
	for i, w := range words {
		items[i] = strconv.Quote(w)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// An unusableError means that a start fails until a person changes a file.
type unusableError struct{ error }

func (e *unusableError) Unwrap() error { return e.error }

// aboutFile reports whether an error can be about a file's content or mode.
func aboutFile(err error) bool {
	e, ok := errors.AsType[syscall.Errno](err)
	return ok && errnoName(e) == "ELIBBAD" || // only on Linux
		slices.ContainsFunc([]error{os.ErrNotExist, os.ErrPermission, syscall.EISDIR, syscall.ENOEXEC, syscall.EINVAL,
			fsutil.ErrIrregular}, func(e error) bool { return errors.Is(err, e) })
}

// earlyExit says how a process ended that should have become a plugin and, if it can be found out, why.
func (g *generation) earlyExit(err error) error {
	c := g.child
	before := errors.Is(err, errEnded)
	c.mu.Lock() // the end of the tree is recorded after that of the process
	code, exited := c.exit.Code, before && c.killReason == "" && c.exit.Signal == 0
	c.mu.Unlock()
	phase := " while it started" // its connection broke then, of which err has gRPC's words
	if before {
		phase = " before the handshake"
	}
	var exit error = withText{c.exitError(phase).Error(), err}
	switch why := Diagnose(g.program); {
	case why != "":
		return fmt.Errorf("%w; %s", exit, why)
	case exited && code == 0:
		return fmt.Errorf("%w: did it call the serve function of its kit?", exit)
	case exited && (code == 126 || code == 127):
		return fmt.Errorf("%w; a program, an interpreter or a shared library that it needs was not found or cannot be run",
			exit)
	case exited && c.exitedSilently():
		return fmt.Errorf("%w, and printed no reason on standard error; it must serve until the host ends it", exit)
	}
	return exit
}

// A withText is an error with another message.
type withText struct {
	text string
	error
}

func (e withText) Error() string { return e.text }
func (e withText) Unwrap() error { return e.error }

// notPermitted matches messages of programs that a sandbox has refused something.
var notPermitted = lazy.Regexp(`(?i)permission denied|operation not ` +
	`permitted|\bEACCES\b|\bEPERM\b|PermissionError|` +
	`read-only file system|\bEROFS\b|resource busy|\bEBUSY\b|cross-device link|\bEXDEV\b`)

// withSandboxHint adds to the error of a start, or of a process, what its sandbox may have refused.
func (g *generation) withSandboxHint(err error) error {
	if err == nil || g.sandboxHint == "" {
		return err
	}
	text := err.Error()
	if g.child != nil {
		text += strings.Join(g.child.tail.last(tailLines), "\n")
	}
	if !notPermitted().MatchString(text) {
		return err
	}
	return fmt.Errorf("%w (%s)", err, g.sandboxHint)
}

// sandboxAdvice returns, for a tool that failed with the message, what its sandbox may have refused, or "".
func (g *generation) sandboxAdvice(message string) string {
	if g.sandboxHint == "" || !notPermitted().MatchString(message) {
		return ""
	}
	return fmt.Sprintf("The sandbox of the plugin may have refused it: %s.", g.sandboxHint)
}
