//go:build !proctree_group

package proctree

import (
	"bufio"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/sdk/proctree/internal/launcher"
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
	sweeps  chan struct{}   // closed when the launcher kills what is there
	done    chan struct{}   // closed when the launcher has reported or ended
	report  launcher.Report // and pid and state: to be read after done
	pid     int             // of the program
	state   *os.ProcessState
}

// start starts the launcher and gives it the program.
func start(p program, files [3]*os.File) (*tree, error) {
	orders, err := p.orders()
	if err != nil {
		return nil, err
	}
	t := &tree{name: p.name, program: p, sweeps: make(chan struct{}), done: make(chan struct{})}
	if err := t.spawn(files); err != nil {
		return nil, t.refused("start the launcher: "+err.Error(), err)
	}
	env := t.environ()
	go t.watch()
	order := launcher.Program{Path: p.path, Dir: p.dir, Argv: p.argv, Env: env, Terminal: p.terminal, Orders: orders,
		Sealed: p.sealed, Writable: p.writable, Fixed: p.fixed, ReadOnly: p.readOnly, Hidden: p.hidden, Links: p.links}
	// The launcher reads this at once. If it has died, watch sees it.
	_ = t.control.SetWriteDeadline(time.Now().Add(10 * time.Second))
	_, _ = t.control.Write(order.Encode())
	return t, nil
}

// environ is that of the program, with the mark.
func (t *tree) environ() []string {
	if t.program.namespace {
		return t.program.env // the kernel ends what is in there
	}
	t.mark = newMark()
	env := slices.DeleteFunc(slices.Clone(t.program.env), func(entry string) bool { return strings.HasPrefix(entry, markName) })
	return append(env, t.mark)
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
		Sys:   t.attributes(),
	})
	if err != nil {
		_ = control.Close()
		_ = status.Close()
	}
	return err
}

// attributes are those of the launcher. The signal wakes one that was stopped, to find
// its pipe ended. Should the thread end before the process, a signal too early does no
// harm.
func (t *tree) attributes() *syscall.SysProcAttr {
	sys := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT}
	if t.program.namespace {
		enclose(sys)
	}
	return sys
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

// longestReport is more than a launcher has to say. A program of root can open its launcher's files, and say anything.
const longestReport = 1 << 20

// listen gives all that the launcher says, and hears each line at once.
func (t *tree) listen() string {
	var text strings.Builder
	lines := bufio.NewReader(io.LimitReader(t.status, longestReport))
	for {
		line, err := lines.ReadString('\n')
		text.WriteString(line)
		if err != nil {
			return text.String()
		}
		t.hear(launcher.ParseReport(line))
	}
}

// hear passes on that the program runs, and remembers that it is to end.
func (t *tree) hear(line launcher.Report) {
	if t.program.namespace && line.Furnished() {
		learned.learn(nil)
	}
	switch {
	case line.PID > 0:
		t.pid = line.PID
		if t.program.namespace {
			t.pid = t.outside(line.PID)
		}
		go t.attend()
		t.program.runs(t.pid)
		t.order(launcher.FoundOrder)
	case line.Sweeps && !within(t.sweeps, 0):
		close(t.sweeps)
	}
}

// terminate asks the tree to end. The launcher may have just ended itself.
func (t *tree) terminate() {
	t.order(launcher.TerminateOrder)
	t.wake()
}

// order writes one byte for the launcher.
func (t *tree) order(o byte) {
	_ = t.control.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = t.control.Write([]byte{o})
}

// kill kills the tree: the launcher does when its control pipe ends.
func (t *tree) kill() {
	_ = t.control.Close()
	t.wake()
}

// wake lets a launcher go on that its program has stopped. One that has ended
// needs it no more.
func (t *tree) wake() { _ = t.proc.Signal(syscall.SIGCONT) }

// answers reports whether the launcher has ended within the limit, or is at work. One
// that is stopped again and again is not.
func (t *tree) answers(limit time.Duration) bool {
	if within(t.done, limit) {
		return true
	}
	return within(t.sweeps, 0) && !t.stopped()
}

// abandon gives up a launcher that does not answer.
func (t *tree) abandon() { _ = t.proc.Kill() }
