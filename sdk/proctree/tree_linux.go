//go:build !proctree_group

package proctree

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/launcher"
	"github.com/toolhost/toolhost/internal/procstat"
)

const containment = inTree

// tree is our side of a launcher.
type tree struct {
	name    string
	program program
	mark    string // in the environment of the program; empty in a namespace
	proc    *os.Process
	control *os.File
	status  *os.File
	sweeps  chan struct{}   // closed when the launcher begins to kill the tree
	done    chan struct{}   // closed when the launcher has reported or ended
	report  launcher.Report // with pid and state: to be read after done
	pid     int             // of the program
	state   *os.ProcessState
}

// errNoProc is not fs.ErrNotExist, which would be about the program.
var errNoProc = errors.New("/proc cannot be used")

// start starts the launcher and gives it the program.
func start(p program, files [3]*os.File) (*tree, error) {
	sandbox, err := p.compile()
	if err != nil {
		return nil, err
	}
	t := p.launcher.take(files, p.sandbox.Namespaces)
	if t == nil {
		t = &tree{}
		err = t.spawn(files, p.sandbox.Namespaces)
	}
	t.name, t.program, t.sweeps, t.done = p.name, p, make(chan struct{}), make(chan struct{})
	switch {
	case errors.Is(err, fs.ErrNotExist): // not the program; each process has such a file
		return nil, &StartError{t.name, "/proc is not mounted, and no program can be started without " + ownProgram,
			errNoProc}
	case err != nil:
		return nil, t.refused("start the launcher: "+err.Error(), err)
	}
	env := t.environ()
	go t.watch()
	order := launcher.Program{Path: p.path, Dir: p.dir, Argv: p.argv, Env: env, Terminal: p.terminal, Sandbox: sandbox}
	// The launcher reads this at once. If it has died, watch reports it.
	_ = t.control.SetWriteDeadline(time.Now().Add(10 * time.Second))
	_, _ = t.control.Write(order.Encode())
	return t, nil
}

// environ is that of the program, with the mark.
func (t *tree) environ() []string {
	if t.program.sandbox.Namespaces {
		return t.program.env // the kernel ends what is in there
	}
	t.mark = newMark()
	marked := func(entry string) bool { return strings.HasPrefix(entry, markName) }
	return append(slices.DeleteFunc(slices.Clone(t.program.env), marked), t.mark)
}

// spawnAhead starts a launcher, or returns nil.
func spawnAhead(files [3]*os.File, namespaces bool) *tree {
	if namespaces && NamespacesRefused() != nil {
		return nil
	}
	t := &tree{}
	if t.spawn(files, namespaces) != nil {
		return nil
	}
	return t
}

// discard ends a launcher that has no program.
func (t *tree) discard() {
	_, _ = t.control.Close(), t.status.Close()
	_ = t.proc.Kill()
	go func() { _, _ = t.proc.Wait() }()
}

func (t *tree) spawn(files [3]*os.File, namespaces bool) error {
	theirs, control, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	status, report, err := os.Pipe()
	if err != nil {
		_ = control.Close()
		return err
	}
	defer report.Close()
	t.control, t.status = control, status
	// The signal wakes a launcher that was stopped, so that it finds its pipe closed. If the thread ends before the
	// process, an early signal does no harm.
	sys := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT}
	if namespaces {
		addNamespaces(sys)
	}
	t.proc, err = startLauncher(append(files[:], theirs, report), sys)
	if err != nil {
		_ = control.Close()
		_ = status.Close()
	}
	return err
}

// watch reads the report and reaps the launcher. A launcher that has reported an empty tree has nothing left to do,
// so a kill only speeds it up; one that still has work continues alone, and is reaped when it ends.
func (t *tree) watch() {
	t.report = launcher.ParseReport(t.listen())
	_ = t.status.Close()
	if t.report.Left > 0 {
		go func() { _, _ = t.proc.Wait() }()
	} else {
		_ = t.proc.Kill()
		if t.report.Ended && t.program.ended != nil {
			t.program.ended() // the kernel may take a millisecond to end a launcher and its namespaces
		}
		t.state, _ = t.proc.Wait()
	}
	close(t.done)
}

// longestReport is more than a launcher writes. A program of root can open its launcher's files, and write anything.
const longestReport = 1 << 20

// listen reads the status pipe to its end, and handles each line when it arrives.
func (t *tree) listen() string {
	var text strings.Builder
	lines := bufio.NewReader(io.LimitReader(t.status, longestReport))
	for {
		line, err := lines.ReadString('\n')
		text.WriteString(line)
		if err != nil {
			return text.String()
		}
		r := launcher.ParseReport(line)
		if t.program.sandbox.Namespaces && r.NamespaceWorks() {
			namespaceRefusal.set(nil)
		}
		switch {
		case r.PID > 0:
			t.pid = r.PID
			if t.program.sandbox.Namespaces {
				t.pid = t.outside(r.PID)
			}
			go t.superviseLauncher()
			if t.program.started != nil {
				t.program.started(t.pid)
			}
			t.send(launcher.FoundCommand)
		case r.Exited && t.program.exited != nil:
			t.program.exited(exitOf(r.Status, r.Took))
		case r.Sweeps && !within(t.sweeps, 0):
			close(t.sweeps)
		}
	}
}

// terminate asks the tree to end. The launcher may have just ended itself.
func (t *tree) terminate() {
	t.send(launcher.TerminateCommand)
	t.wake()
}

func (t *tree) send(command byte) {
	_ = t.control.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = t.control.Write([]byte{command})
}

// kill kills the tree: the launcher does when its control pipe ends.
func (t *tree) kill() {
	_ = t.control.Close()
	t.wake()
}

// wake continues a launcher that its program has stopped. It has no effect on one that has ended.
func (t *tree) wake() { _ = t.proc.Signal(syscall.SIGCONT) }

// answers reports whether the launcher has ended within the limit, or is running. One that is stopped again and again
// is not.
func (t *tree) answers(limit time.Duration) bool {
	if within(t.done, limit) {
		return true
	}
	return within(t.sweeps, 0) && !procstat.IsStopped(t.proc.Pid)
}

// abandon gives up a launcher that does not answer.
func (t *tree) abandon() { _ = t.proc.Kill() }

// ended reports whether no process of the tree is left.
func (t *tree) ended() bool {
	return within(t.done, 0) && t.report.Left == 0 && (t.report.Ended || t.report.Failed != "" || t.endedByKernel())
}

// endedByKernel reports whether the launcher was the first process of a namespace and has ended: the kernel lets it
// end only after all others.
func (t *tree) endedByKernel() bool { return t.program.sandbox.Namespaces && t.state != nil }

// result returns how the run ended. It also closes the pipe to the launcher.
func (t *tree) result() (Exit, error) {
	_ = t.control.Close()
	if !within(t.done, 0) {
		return Exit{Code: -1}, fmt.Errorf("%w; %w, and %w", &LauncherError{"does not end"}, ErrLost, ErrLoose)
	}
	r := t.report
	exit := Exit{Code: -1}
	if r.Ended {
		exit = exitOf(r.Status, r.Took)
		exit.Killed = r.Killed
	}
	switch {
	case r.Failed != "":
		return Exit{}, t.startError()
	case r.Left > 0:
		return exit, fmt.Errorf("%q: %w: %d after %v (pid %s)", t.name, ErrLeft, r.Left, launcher.SweepLimit, t.leftPIDs())
	case !r.Ended:
		return exit, t.endWithoutReport()
	}
	return exit, nil
}

// endWithoutReport handles a launcher that ended without a report. The kernel has killed the program, and everything
// in a namespace. Otherwise the process group of the program is known to us, and processes that left it have the mark.
func (t *tree) endWithoutReport() error {
	if t.endedByKernel() {
		return fmt.Errorf("%w; %w, and the kernel has ended all processes it started", t.fate(), ErrLost)
	}
	if !t.program.sandbox.Namespaces {
		if t.pid > 1 {
			_ = syscall.Kill(-t.pid, syscall.SIGKILL)
		}
		endMarked(t.mark)
	}
	return fmt.Errorf("%w; %w, and %w", t.fate(), ErrLost, ErrLoose)
}

func (t *tree) fate() *LauncherError {
	if t.state == nil {
		return &LauncherError{"cannot be waited for"}
	}
	if e := exitOf(t.state.Sys().(syscall.WaitStatus), 0); e.Signal != 0 {
		return &LauncherError{"was killed (" + e.SignalName() + ")"}
	}
	return &LauncherError{"ended too early (" + t.state.String() + ")"}
}

func (t *tree) startError() error {
	errno := t.report.Errno
	switch t.report.Failed {
	case "exec":
		return execError(t.program, errno)
	case "protect":
		return t.mountError()
	case "restrict":
		return t.program.sandboxError(t.report.Call, errno)
	case "chdir":
		return &StartError{t.name, fmt.Sprintf("chdir %s: %v", t.program.dir, errno), errno}
	case "mount":
		return t.refused("a /proc, /dev/shm, /dev/mqueue or /dev/pts of its own cannot be mounted: "+errno.Error(), errno)
	case "capset":
		return t.refused("capset: "+errno.Error(), errno)
	case "proc":
		why := "the launcher cannot read /proc: " + errno.Error()
		if errno == syscall.ENOENT {
			why = "the launcher is not in /proc, which is that of another process namespace; mount its own: " +
				"unshare --mount-proc, bwrap --proc /proc"
		}
		return &StartError{t.name, why, errNoProc}
	}
	return &StartError{t.name, t.report.Failed + ": " + errno.Error(), errno}
}
