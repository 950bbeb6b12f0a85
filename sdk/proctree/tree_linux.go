//go:build !proctree_group

package proctree

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/sdk/proctree/internal/launcher"
)

const containment = "process-tree"

// tree is our side of a launcher.
type tree struct {
	name    string
	program program
	proc    *os.Process
	control *os.File
	status  *os.File
	done    chan struct{}   // closed when the launcher has reported or ended
	report  launcher.Report // and state: to be read after done
	state   *os.ProcessState
}

// start starts the launcher and gives it the program.
func start(p program, files [3]*os.File) (*tree, error) {
	t := &tree{name: p.name, program: p, done: make(chan struct{})}
	if err := t.spawn(files); err != nil {
		return nil, &StartError{p.name, "start the launcher: " + err.Error(), err}
	}
	go t.watch()
	order := launcher.Program{Path: p.path, Dir: p.dir, Argv: p.argv, Env: p.env, Terminal: p.terminal}
	// The launcher reads this at once. If it has died, watch sees it.
	_ = t.control.SetWriteDeadline(time.Now().Add(10 * time.Second))
	_, _ = t.control.Write(order.Encode())
	return t, nil
}

func (t *tree) spawn(files [3]*os.File) error {
	orders, control, err := os.Pipe()
	if err != nil {
		return err
	}
	defer orders.Close()
	status, report, err := os.Pipe()
	if err != nil {
		_ = control.Close()
		return err
	}
	defer report.Close()
	t.control, t.status = control, status
	t.proc, err = os.StartProcess("/proc/self/exe", []string{launcher.Name}, &os.ProcAttr{
		Env:   launcherEnv(),
		Files: append(files[:], orders, report),
		// The signal wakes a launcher that was stopped, to find its pipe ended. Should
		// the thread end before the process, a signal too early does no harm.
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT},
	})
	if err != nil {
		_ = control.Close()
		_ = status.Close()
	}
	return err
}

// launcherEnv is what the dynamic linker needs to load this executable again.
// The rest of our environment is not for all to read in another process.
func launcherEnv() []string {
	env := []string{"GOMAXPROCS=1"} // it has one goroutine
	for _, entry := range os.Environ() {
		if strings.HasPrefix(entry, "LD_") {
			env = append(env, entry)
		}
	}
	return env
}

// watch reads the report and reaps the launcher. A launcher that has reported
// an empty tree has nothing left to do, so a kill only speeds it up; one that
// still has work goes on alone, and is reaped when it ends.
func (t *tree) watch() {
	t.report = launcher.ParseReport(t.listen())
	_ = t.status.Close()
	if t.report.Left > 0 {
		go func() { _, _ = t.proc.Wait() }()
	} else {
		_ = t.proc.Kill()
		t.state, _ = t.proc.Wait()
	}
	close(t.done)
}

// listen gives all that the launcher says, and passes on at once that the program runs.
func (t *tree) listen() string {
	var text strings.Builder
	lines := bufio.NewReader(t.status)
	for {
		line, err := lines.ReadString('\n')
		text.WriteString(line)
		if err != nil {
			return text.String()
		}
		if pid := launcher.ParseReport(line).PID; pid > 0 {
			t.program.runs(pid)
		}
	}
}

// terminate asks the tree to end. The launcher may have just ended itself.
func (t *tree) terminate() {
	_ = t.control.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = t.control.Write([]byte{launcher.TerminateOrder})
	t.wake()
}

// kill kills the tree: the launcher does when its control pipe ends.
func (t *tree) kill() {
	_ = t.control.Close()
	t.wake()
}

// wake lets a launcher go on that its program has stopped. One that has ended
// needs it no more.
func (t *tree) wake() { _ = t.proc.Signal(syscall.SIGCONT) }

// abandon gives up a launcher that does not answer.
func (t *tree) abandon() { _ = t.proc.Kill() }

// ended reports whether no process of the tree is left.
func (t *tree) ended() bool {
	return within(t.done, 0) && t.report.Left == 0 && (t.report.Ended || t.report.Failed != "")
}

// result says how it went. It also lets go of the launcher.
func (t *tree) result() (Exit, error) {
	_ = t.control.Close()
	if !within(t.done, 0) {
		return Exit{Code: -1}, fmt.Errorf("the watcher of the command does not end; %w", ErrLost)
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
		return exit, fmt.Errorf("%q: %w: %d after %v (pid %s)", t.name, ErrLeft, r.Left, launcher.SweepLimit, r.PIDs)
	case !r.Ended:
		return exit, t.lost()
	}
	return exit, nil
}

// lost is for a launcher that ended without a word. The kernel has killed the
// program; its process group is known to us, so take that along too.
func (t *tree) lost() error {
	if t.report.PID > 1 {
		_ = syscall.Kill(-t.report.PID, syscall.SIGKILL)
	}
	return fmt.Errorf("the watcher of the command %s; %w", t.fate(), ErrLost)
}

// fate says how the launcher ended.
func (t *tree) fate() string {
	if t.state == nil {
		return "cannot be waited for"
	}
	if e := exitOf(t.state.Sys().(syscall.WaitStatus), 0); e.Signal != 0 {
		return "was killed (" + e.SignalName() + ")"
	}
	return "ended too early (" + t.state.String() + ")"
}

func (t *tree) startError() error {
	switch t.report.Failed {
	case "exec":
		return execError(t.program, t.report.Errno)
	case "chdir":
		return &StartError{t.name, fmt.Sprintf("chdir %s: %v", t.program.dir, t.report.Errno), t.report.Errno}
	case "proc":
		return &StartError{t.name, "the launcher cannot read /proc: " + t.report.Errno.Error(), t.report.Errno}
	}
	return &StartError{t.name, t.report.Failed + ": " + t.report.Errno.Error(), t.report.Errno}
}
