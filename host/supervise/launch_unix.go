//go:build unix

package supervise

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A child is the process of one generation. Its end is known from wait, never from the end of a pipe, which a
// grandchild may hold open.
type child struct {
	pid     int
	exited  chan struct{} // closed when the process has ended and its last words are read
	tail    *tail
	stdin   *os.File // the lifeline: the plugin ends when it closes
	readers sync.WaitGroup
	streams [2]*os.File // what the readers read: standard output, standard error

	mu     sync.Mutex
	state  *os.ProcessState
	reason string // why we killed it, if we did
}

// launch starts the plugin in a session of its own, without a terminal, and gives its standard output, which the caller
// must drain.
func (s *Supervisor) launch(spec Spec, env []string, log *slog.Logger) (*child, *os.File, error) {
	var p pipes
	if err := p.open(); err != nil {
		return nil, nil, fmt.Errorf("making pipes: %w", err)
	}
	cmd := exec.Command(spec.Command[0], spec.Command[1:]...) //nolint:noctx // its end is ours to choose
	cmd.Dir, cmd.Env = spec.Dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.stdin.r, p.stdout.w, p.stderr.w
	cmd.SysProcAttr = processAttributes()
	if err := s.forks.do(cmd.Start); err != nil {
		p.closeAll()
		return nil, nil, startProblem(spec, err)
	}
	p.closeTheirs()
	c := &child{pid: cmd.Process.Pid, exited: make(chan struct{}), tail: &tail{}, stdin: p.stdin.w,
		streams: [2]*os.File{p.stdout.r, p.stderr.r}}
	c.readers.Add(len(c.streams)) // one for each drain
	go c.drain(p.stderr.r, p.stderr.r, newPump(log, "stderr", c.tail))
	go c.wait(cmd)
	return c, p.stdout.r, nil
}

// wait sees the process's end, takes the rest of its process group along, and collects its last words.
func (c *child) wait(cmd *exec.Cmd) {
	c.reap(cmd)
	_ = c.stdin.Close()
	for _, f := range c.streams {
		_ = f.SetReadDeadline(time.Now().Add(lastWords))
	}
	c.readers.Wait()
	close(c.exited)
}

// lastWords is how long a pipe is read after the process has ended: what it wrote is there already, and a grandchild
// that escaped the process group may hold the pipe for ever.
const lastWords = 50 * time.Millisecond

func (c *child) closeLifeline() { _ = c.stdin.Close() }
func (c *child) terminate()     { c.signal(syscall.SIGTERM, "") }
func (c *child) kill()          { c.signal(syscall.SIGKILL, "") }

// killFor kills the process and keeps why.
func (c *child) killFor(reason string) { c.signal(syscall.SIGKILL, reason) }

// signal goes to the whole process group, unless the process has ended: its number may be another's by then.
func (c *child) signal(sig syscall.Signal, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == nil {
		c.reason = orDefault(c.reason, reason)
		_ = syscall.Kill(-c.pid, sig)
	}
}

// exit says how the process ended; it has.
func (c *child) exit() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reason != "" {
		return errors.New(c.reason + " and was killed")
	}
	status, _ := c.state.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return fmt.Errorf("killed by %s", signalName(status.Signal()))
	}
	return fmt.Errorf("exit status %d", status.ExitStatus())
}

// describeExit puts how the process ended among the facts of an error.
func (c *child) describeExit(facts map[string]any) {
	status, _ := c.state.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		facts["signal"] = signalName(status.Signal())
	} else {
		facts["exit_code"] = status.ExitStatus()
	}
	facts["last_stderr"] = c.tail.last(tailLines)
}

// withLastLines adds to err the last that the plugin printed, if it printed anything.
func (c *child) withLastLines(err error) error {
	lines := c.tail.telling()
	if len(lines) == 0 {
		return err
	}
	return fmt.Errorf("%w; its last words: %s", err, strings.Join(lines, " | "))
}

func signalName(s syscall.Signal) string {
	return cmp.Or(unix.SignalName(s), fmt.Sprintf("signal %d", int(s)))
}

// startProblem words why the program could not be run.
func startProblem(spec Spec, err error) error {
	program := spec.Command[0]
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("there is no program %s in PATH", program)
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s cannot be run: it, or the interpreter it names, or the folder to start in, is not there", program)
	case errors.Is(err, syscall.EISDIR):
		return fmt.Errorf("%s is a folder, not a program", program)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%s cannot be run: permission denied; is it executable?", program)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%s cannot be run: it is no program for this machine", program)
	}
	return fmt.Errorf("%s cannot be run: %w", program, err)
}

// A pipe has an end to read and one to write.
type pipe struct{ r, w *os.File }

// pipes are the three streams of a process.
type pipes struct{ stdin, stdout, stderr pipe }

func (p *pipes) open() (err error) {
	for _, one := range []*pipe{&p.stdin, &p.stdout, &p.stderr} {
		if one.r, one.w, err = os.Pipe(); err != nil {
			p.closeAll()
			return err
		}
	}
	return nil
}

// closeTheirs closes the ends that the process has copies of.
func (p *pipes) closeTheirs() { closeFiles(p.stdin.r, p.stdout.w, p.stderr.w) }

func (p *pipes) closeAll() {
	p.closeTheirs()
	closeFiles(p.stdin.w, p.stdout.r, p.stderr.r)
}

func closeFiles(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // also nil
	}
}

// endGroup makes the end of cmd's context the end of its whole process group.
func endGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
