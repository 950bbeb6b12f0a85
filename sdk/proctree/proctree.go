// Package proctree runs a program together with every process it starts, and ends them together. When the program
// ends, when the context ends, or when this process dies, even by SIGKILL, the whole tree ends: background jobs,
// processes that called setsid, and daemons that forked twice.
// On Linux the program runs under a launcher: this executable, started again under the name "toolhost-launcher". An
// init function sees that name and never returns, so main does not run in it, nor do most other init functions; those
// of packages with few imports may, so they should have no effect outside. An executable that imports the package
// needs no other hook, but must be an ordinary Go program, not a Go library loaded by another one. An executable that
// was linked with the SHA-256 of a toolhost-launcher runs that instead, where it lies beside it, see docs/embedding.md:
// it comes up in half the time. The launcher adopts the orphans of the tree, and kills all of it when its pipe from
// this process closes. Parts of a [Sandbox] that it cannot take upon itself are set up by this executable once more,
// under the name "toolhost-confine", which then becomes the program.
// The promise has limits. A program that another user owns, such as sudo, can only be killed by root. Work handed to
// a service (docker, systemd-run, at) was never in the tree. A SIGKILL aimed at the launcher takes the program and
// its process group along; what left the group is found by a random mark in its environment, the variable
// PROCTREE_ID, unless it has cleared that or changes its pid faster than it can be read. A launcher that is stopped
// (SIGSTOP) is woken when the program or the context ends, or this process dies; one that is stopped again and again
// is killed in the first two cases, and stays in the last. Kernels before 5.3 do not report the end of the program.
// Programs in a process namespace, see [Sandbox], cannot stop or kill their launcher. The launcher needs to read
// /proc and refuses to start a program without it.
// Other systems have weaker means, see [Containment]. The build tag proctree_group selects them on Linux, to test
// them there.
package proctree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// What a run ends along with its program, see [Cmd.Containment].
const (
	inNamespace = "pid-namespace"
	inTree      = "process-tree"
	inGroup     = "process-group"
	inJob       = "job-object"
)

const (
	// defaultGrace is the time from SIGTERM to SIGKILL.
	defaultGrace = 2 * time.Second
	// killLimit is how long Run waits for a killed tree. It leaves the launcher time to report processes that it cannot
	// kill, and keeps the default stop within 5 s.
	killLimit = 2500 * time.Millisecond
	// answerLimit is how long Run waits before it checks whether the launcher is running.
	answerLimit = time.Second
)

// Cmd is a program to run. Run only reads it, so a Cmd may be run again.
type Cmd struct {
	// Path is the program. Without a slash it is looked up in the absolute
	// directories of the PATH in Env; a relative path is relative to Dir.
	Path string
	// Name is argv[0]; empty means Path.
	Name string
	// Args are the arguments after the program's name.
	Args []string
	// Dir is the working directory; empty means that of this process.
	Dir string
	// Env is the whole environment, "key=value" each; of two equal keys the
	// last counts. Nil means the environment of this process.
	Env []string
	// Stdin is the program's input; nil means no input. An *os.File is passed directly. Other readers are copied from,
	// and a Read that blocks may outlive Run.
	Stdin io.Reader
	// Stdout and Stderr receive output as it is printed; nil discards it. An *os.File is passed directly. If both are
	// the same writer, the program gets one pipe for both, which keeps their order, and Write is never called
	// concurrently. A Write that fails closes the program's pipe.
	Stdout, Stderr io.Writer
	// InOrder writes to two writers one at a time, in the order of the output: output to stdout and then to stderr is
	// written in that order, and of output to both at the same moment stdout comes first. A Write that blocks delays
	// both.
	InOrder bool
	// Terminal gives the program a controlling terminal of this size for its input and output; nil means none. What
	// it prints, and what the terminal echoes, goes to Stdout; Stderr must be nil. Stdin is typed into it at once,
	// whether or not the program reads, and then the end of input (^D); that once more, as a key, where it reads keys.
	Terminal *Size
	// Sandbox restricts the program, and all that it starts; the zero value restricts nothing.
	Sandbox Sandbox
	// Launcher, if not nil, has been started ahead for this Cmd; it runs one program at most.
	Launcher *Launcher
	// Started, if not nil, is called when the program runs, with its process id, or 0 if that cannot be found out. The
	// id is not reused before Started returns, which must not take long.
	Started func(pid int)
	// Exited, if not nil, is called once when the program itself has ended, as far as that is seen: before the other
	// processes of its tree are killed, unless ctx has ended, and always before Ended. It must not take long.
	Exited func(Exit)
	// Ended, if not nil, is called when no process of the tree is left, where a launcher has seen that. Run reaps the
	// launcher after it. With the launcher end its namespaces, for which the kernel has whoever reaps it wait busily.
	Ended func()
	// Grace is the time between SIGTERM and SIGKILL when ctx ends. Zero means 2 s,
	// less than zero means SIGKILL at once.
	Grace time.Duration
}

// Command returns a Cmd that runs the program with the arguments in the
// directory and the environment of this process.
func Command(name string, args ...string) *Cmd {
	return &Cmd{Path: name, Args: args}
}

// Containment is what Run ends along with the program: "process-tree" (every
// process it started, also when this process dies) on Linux, "process-group"
// (those that stayed in its process group, as long as this process lives) on
// other Unix systems, "job-object" on Windows.
func Containment() string { return containment }

// Containment is the same for this program: "pid-namespace" (every process it started, whatever happens to the
// launcher and this process) if it requests a namespace. A run never has less: it fails instead.
func (c *Cmd) Containment() string {
	if c.Sandbox.Namespaces {
		return inNamespace
	}
	return containment
}

// Run runs the program and returns when its tree has ended and all its output has been written.
// When ctx ends, every process of the tree gets SIGTERM (and SIGCONT, so that stopped ones receive it), and those
// left after Grace are killed. Run then returns no later than 5 s after the Grace, with Exit.Canceled set and no
// error.
// An exit code other than 0 is no error. Run returns a *[StartError] if the program was not started. With any other
// error it was: [ErrLost], [ErrLoose] and [ErrLeft] if its end is not as promised, or an error about Stdin, Stdout or
// Stderr that was not copied completely.
func (c *Cmd) Run(ctx context.Context) (Exit, error) {
	if err := ctx.Err(); err != nil {
		return Exit{}, &StartError{c.Path, "not started, " + err.Error(), err}
	}
	p, err := c.resolve()
	if err != nil {
		return Exit{}, err
	}
	std, err := c.openStdio()
	if err != nil {
		return Exit{}, &StartError{c.Path, "open its input and output: " + err.Error(), err}
	}
	t, err := start(p, std.files)
	std.handOver()
	if err != nil {
		std.close()
		return Exit{}, err
	}
	std.copy()
	canceled := c.await(ctx, t)
	exit, err := t.result()
	exit.Canceled = canceled
	return exit, runError(err, std.finish(ctx, t.ended()))
}

// await returns when the tree has ended, or cannot be ended. It reports whether
// ctx ended first.
func (c *Cmd) await(ctx context.Context, t *tree) bool {
	select {
	case <-t.done:
		return false
	case <-ctx.Done():
	}
	if within(t.done, 0) {
		return false
	}
	if grace := c.grace(); grace > 0 {
		t.terminate()
		if within(t.done, grace) {
			return true
		}
	}
	t.kill()
	if !t.answers(answerLimit) || !within(t.done, killLimit-answerLimit) {
		t.abandon()
		within(t.done, time.Second)
	}
	return true
}

func (c *Cmd) grace() time.Duration { return cmp.Or(c.Grace, defaultGrace) }

// within waits for done to close, at most for the limit, and reports whether it
// did.
func within(done <-chan struct{}, limit time.Duration) bool {
	select {
	case <-done:
		return true
	default:
	}
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}

// Limits are how long a program may run for a call, so that its output still reaches the caller when it has to be
// ended.
type Limits struct {
	// Run is how long the program may run.
	Run time.Duration
	// Grace is for Cmd.Grace.
	Grace time.Duration
	// Call is the time that the call had, if that is the limit; 0 if Run is the tool's own limit.
	Call time.Duration
}

// LimitsFor gives a program its own limit or, when the deadline of ctx comes first, the time until that less a
// reserve: a tenth, from 100 ms to 3 s, but never more than half. Half of the time left after Run may pass until the
// program is killed.
func LimitsFor(ctx context.Context, own time.Duration) Limits {
	deadline, ok := ctx.Deadline()
	if !ok {
		return Limits{Run: own, Grace: defaultGrace}
	}
	left := time.Until(deadline)
	reserve := min(3*time.Second, max(left/10, 100*time.Millisecond), left/2)
	l := Limits{Run: min(own, left-reserve)}
	l.Grace = max(1, min(defaultGrace, (left-l.Run)/2)) // 0 stands for a default
	if l.Run < own {
		l.Call = left
	}
	return l
}

// Shown is the exceeded limit, for people. That of a call is measured when the plugin receives it: it is rounded up,
// to the value that was most likely set.
func (l Limits) Shown() time.Duration {
	if l.Call == 0 {
		return l.Run.Round(time.Millisecond)
	}
	step := time.Second
	if l.Call < 10*time.Second {
		step = 100 * time.Millisecond
	}
	return (l.Call + step - 1).Truncate(step)
}

// A Launcher runs ahead of its program: it comes up while the program's Cmd is being prepared, which takes a
// millisecond off a start. It waits for the program without any rights that this process does not have, and ends with
// Close and with this process.
type Launcher struct {
	files      [3]*os.File
	namespaces bool

	mu   sync.Mutex
	tree *tree // nil when it has been taken or closed, or could not be started
}

// StartLauncher starts the launcher of a Cmd whose input and outputs will be these files, and whose sandbox will have
// namespaces or not. What fails is left to Run, which starts another launcher and reports it. Where programs run
// without a launcher it does nothing.
func StartLauncher(stdin, stdout, stderr *os.File, namespaces bool) *Launcher {
	files := [3]*os.File{stdin, stdout, stderr}
	return &Launcher{files: files, namespaces: namespaces, tree: spawnAhead(files, namespaces)}
}

// Close ends a launcher that runs no program; otherwise it does nothing.
func (l *Launcher) Close() {
	if t := l.release(); t != nil {
		t.discard()
	}
}

// take returns the launcher for a program with these files, or nil if it is not made for those.
func (l *Launcher) take(files [3]*os.File, namespaces bool) *tree {
	if l == nil || l.files != files || l.namespaces != namespaces {
		return nil
	}
	return l.release()
}

func (l *Launcher) release() *tree {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tree
	l.tree = nil
	return t
}

// Exit is how a program ended.
type Exit struct {
	// Code is the exit code, or -1 if a signal ended the program or the end is not known.
	Code int
	// Signal is the signal that ended the program, 0 if none did.
	Signal syscall.Signal
	// Canceled reports that the context ended before the program did.
	Canceled bool
	// Killed counts the processes that the program left behind and that had to
	// be killed. It is known for the containment "process-tree" only.
	Killed int
	// Duration is the time from the start of the program to its own end.
	Duration time.Duration
}

// String returns a text such as "exit code 3" or "killed by SIGKILL (canceled)".
func (e Exit) String() string {
	text := fmt.Sprintf("exit code %d", e.Code)
	if e.Signal != 0 {
		text = "killed by " + e.SignalName()
	}
	if e.Canceled {
		text += " (canceled)"
	}
	return text
}

func exitOf(w syscall.WaitStatus, took time.Duration) Exit {
	e := Exit{Code: w.ExitStatus(), Duration: took}
	if w.Signaled() {
		e.Signal = w.Signal()
	}
	return e
}

var (
	// ErrLost reports that the launcher or the program could not be followed to its end, for example because the
	// launcher was killed. The program was started; its effects are unknown. No process of it is left, unless the error
	// is ErrLoose as well.
	ErrLost = errors.New("what the command did is not known")
	// ErrLoose comes with ErrLost if processes of the tree may still run. In a namespace the kernel ends them when the
	// launcher ends.
	ErrLoose = errors.New("processes it started may still run")
	// ErrLeft reports processes that survive SIGKILL: those of another user, or
	// stuck in the kernel. The launcher stays and continues to try.
	ErrLeft = errors.New("processes could not be killed")
	// ErrNamespace reports a program that was not started because the system does not
	// allow the process namespace that it needs.
	ErrNamespace = errors.New("the system refuses a process namespace")
)

// StartError reports that the program was not started: none of its code ran.
type StartError struct {
	Path   string // as in Cmd
	Reason string // for people
	Err    error  // the cause, for errors.Is: fs.ErrNotExist, fs.ErrPermission, ...
}

// Error returns a text such as `exec: "nosuch": not found in PATH`.
func (e *StartError) Error() string { return fmt.Sprintf("exec: %q: %s", e.Path, e.Reason) }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// LauncherError comes with ErrLost if the launcher has ended without a report, or does not end. Where it has ended, the
// kernel has killed the program.
type LauncherError struct {
	Fate string // "was killed (SIGKILL)", "ended too early (exit status 2)"
}

// Error returns a text such as "the watcher of the command was killed (SIGKILL)".
func (e *LauncherError) Error() string { return "the watcher of the command " + e.Fate }

// join joins two errors, and returns a single one unchanged.
func join(a, b error) error {
	if a == nil || b == nil {
		return errors.Join(a, b)
	}
	return fmt.Errorf("%w; %w", a, b)
}

// cutOff is an error about missing output. For errors.Is it is exec.ErrWaitDelay, whose own text only Go programmers
// understand.
type cutOff string

func (c cutOff) Error() string { return string(c) }
func (cutOff) Unwrap() error   { return exec.ErrWaitDelay }

// implied is an error joined to another whose text already covers it.
type implied struct {
	error
	other error
}

func (e implied) Unwrap() []error { return []error{e.error, e.other} }

// runError joins the errors of the program and of its output. Output that loose processes hold open is cut off; "may
// still run" implies it.
func runError(run, output error) error {
	if errors.Is(run, ErrLoose) && errors.Is(output, exec.ErrWaitDelay) {
		return implied{run, output}
	}
	return join(run, output)
}
