package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/supervise/internal/removal"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A child is the process of one generation, under a launcher of its own, which ends all that it has started. Its end is
// known from there, never from the end of a pipe, which a grandchild may hold open.
type child struct {
	pid         int           // as this process sees it
	handle      *os.Process   // means this process and no other of the same number
	containment string        // see proctree.Cmd.Containment
	end         func()        // kills everything
	exited      chan struct{} // closed when nothing of it is left and its last words are read
	tail        *tail
	stdin       *os.File // the lifeline: the plugin ends when it closes
	readers     sync.WaitGroup
	streams     [2]*os.File // what the readers read: standard output, standard error

	mu     sync.Mutex
	over   bool
	how    proctree.Exit // and lost: once it is over
	lost   error         // it could not be followed to its end
	reason string        // why we killed it, if we did
}

// launch starts the plugin in a session of its own, without a terminal, and gives its standard output, which the caller
// must drain. The end of ctx ends the start, not what was started.
func (s *Supervisor) launch(ctx context.Context, spec Spec, how sandbox.Stage, log *slog.Logger) (*child, *os.File, error) {
	var p pipes
	if err := p.open(); err != nil {
		return nil, nil, startProblem(spec, fmt.Errorf("making pipes: %w", err))
	}
	cmd := how.Command(spec.Dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.stdin.r, p.stdout.w, p.stderr.w
	c := &child{containment: cmd.Containment(), exited: make(chan struct{}), tail: &tail{}, stdin: p.stdin.w,
		streams: [2]*os.File{p.stdout.r, p.stderr.r}}
	ended, err := c.run(ctx, cmd)
	p.closeTheirs()
	if err != nil {
		p.closeAll()
		return nil, nil, startProblem(spec, err)
	}
	c.readers.Add(len(c.streams)) // one for each drain
	go c.drain(p.stderr.r, &lastWords{from: p.stderr.r}, newPump(log, "stderr", c.tail).hiding(spec.References))
	go c.wait(ended, how)
	return c, p.stdout.r, nil
}

// run returns when the program runs; ended closes when nothing of it is left.
func (c *child) run(ctx context.Context, cmd *proctree.Cmd) (ended chan struct{}, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	defer context.AfterFunc(ctx, end)()
	c.end, ended = end, make(chan struct{})
	started := make(chan error, 1)
	cmd.Started = func(pid int) { started <- c.find(pid) }
	go func() {
		defer close(ended)
		defer end()
		c.how, c.lost = cmd.Run(life)
	}()
	select {
	case err = <-started:
	case <-ended:
		if len(started) == 0 {
			return nil, cmp.Or(c.lost, errEnded)
		}
		err = <-started
	}
	if err != nil {
		end()
		<-ended
	}
	return ended, err
}

// find takes hold of the process, while nobody else can have its number.
func (c *child) find(pid int) (err error) {
	c.pid = pid
	if c.handle, err = os.FindProcess(pid); err != nil {
		return fmt.Errorf("its process cannot be found: %w", err)
	}
	return nil
}

// wait sees the end of all that the process started, and collects its last words. What it leaves in its folder for
// temporary files goes with it.
func (c *child) wait(ended <-chan struct{}, how sandbox.Stage) {
	<-ended
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	_ = c.handle.Release()
	_ = c.stdin.Close()
	for _, f := range c.streams {
		_ = f.SetReadDeadline(time.Now()) // what it wrote is there already, and one that could not be killed may hold the pipe for ever
	}
	c.readers.Wait()
	how.Release()
	close(c.exited)
	_ = removal.All(how.Temp, removalAside)
}

func (c *child) closeLifeline() { _ = c.stdin.Close() }
func (c *child) terminate()     { c.signal(syscall.SIGTERM, "") }
func (c *child) kill()          { c.killFor("") }

// killFor kills the process with all that it has started, and keeps why.
func (c *child) killFor(reason string) {
	c.signal(syscall.SIGKILL, reason)
	c.end()
}

// signal goes to the whole process group, unless the process has ended: its number may be another's by then.
func (c *child) signal(sig syscall.Signal, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.reason = cmp.Or(c.reason, reason)
	if c.handle.Signal(syscall.Signal(0)) == nil {
		_ = syscall.Kill(-c.pid, sig)
	}
}

// gone says whether the process itself has ended, which the kernel knows before the launcher has ended the rest and tells.
// It is false where the kernel does not say.
func (c *child) gone() (is bool) {
	_ = c.handle.WithHandle(func(handle uintptr) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}, 0)
		is = err == nil && n > 0
	})
	return is
}

// exit says how the process ended, and what became of those that it started if they did not end as they should; it has.
func (c *child) exit() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case errors.Is(c.lost, proctree.ErrLoose), errors.Is(c.lost, proctree.ErrLeft):
		return fmt.Errorf("%w; processes that it started may still run", c.ownExit())
	case errors.Is(c.lost, proctree.ErrLost):
		return fmt.Errorf("%w; the kernel has ended all that it started", c.ownExit())
	}
	return c.ownExit()
}

// ownExit is exit for the process alone.
func (c *child) ownExit() error {
	switch {
	case c.reason != "":
		return errors.New(c.reason + " and was killed")
	case errors.Is(c.lost, proctree.ErrLost):
		return errors.New("killed by SIGKILL, since its launcher was killed")
	case c.how.Signal == 0 && c.how.Code < 0:
		return c.lost
	}
	how := c.how
	how.Canceled = false // which is for us to say, and a reason
	return errors.New(how.String())
}

// describeExit puts how the process ended among the facts of an error.
func (c *child) describeExit(facts map[string]any) {
	switch {
	case c.how.Signal != 0:
		facts["signal"] = c.how.SignalName()
	case errors.Is(c.lost, proctree.ErrLost):
		facts["signal"] = "SIGKILL"
	default:
		facts["exit_code"] = c.how.Code
	}
	facts["last_stderr"] = c.tail.last(tailLines)
}

// withLastLines adds to err the last that the plugin printed, if it printed anything.
func (c *child) withLastLines(err error) error {
	lines := c.tail.telling()
	if len(lines) == 0 {
		return err
	}
	return fmt.Errorf("%w; its last lines: %s", err, strings.Join(lines, " | "))
}

// startProblem words why the program could not be run.
func startProblem(spec Spec, err error) error {
	program := spec.Command[0]
	if e, ok := errors.AsType[*proctree.RestrictionError](err); ok {
		return notRestricted(e)
	}
	why := ""
	if path, found := spec.file(); found {
		why = diagnose(path)
	}
	switch {
	case errors.Is(err, proctree.ErrNamespace): // whose number is not the program's
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("there is no program %s in PATH", program)
	case why != "" && isFormat(err):
		return fmt.Errorf("%s cannot be run: %s", program, why)
	case errors.Is(err, os.ErrNotExist) && spec.absent():
		return fmt.Errorf("%s cannot be run: it is not there", program)
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s cannot be run: it, or the interpreter it names, or the folder to start in, is not there", program)
	case errors.Is(err, syscall.EISDIR):
		return fmt.Errorf("%s is a folder, not a program", program)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%s cannot be run: permission denied; is it executable?", program)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%s cannot be run: too many open files; close some, or raise the limit (ulimit -n)", program)
	case errors.Is(err, syscall.EAGAIN):
		return fmt.Errorf("%s cannot be run: its user has too many processes; end some, or raise the limit (ulimit -u)", program)
	case errors.Is(err, syscall.ETXTBSY):
		return fmt.Errorf("%s cannot be run: something still writes to it; try again when it is complete", program)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%s cannot be run: it is no program for this machine", program)
	}
	return fmt.Errorf("%s cannot be run: %w", program, err)
}

// isFormat says whether an error can be about what is in a file, or its modes.
func isFormat(err error) bool {
	for _, e := range []error{os.ErrNotExist, os.ErrPermission, syscall.EISDIR, syscall.ENOEXEC, syscall.EINVAL, errIrregular} {
		if errors.Is(err, e) {
			return true
		}
	}
	e, ok := errors.AsType[syscall.Errno](err)
	return ok && unix.ErrnoName(e) == "ELIBBAD" // which only Linux has
}

// notRestricted words why the program was not run.
func notRestricted(e *proctree.RestrictionError) error {
	return fmt.Errorf("it was not run, because its sandbox cannot be set up: %.200q: %s (%w)", e.Call, cmp.Or(unix.ErrnoName(e.Errno), "error"), e.Errno)
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

// lastWords reads a pipe, and after its read deadline no more than what is in it already.
type lastWords struct {
	from *os.File
	late int // bytes read after the deadline
}

// maxLate is what a pipe holds at most: who goes on writing is not read without end.
const maxLate = 1 << 20

func (l *lastWords) Read(b []byte) (int, error) {
	n, err := l.from.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) && l.late < maxLate {
		n, err = l.now(b)
		l.late += n
	}
	return n, err
}

// now reads without waiting.
func (l *lastWords) now(b []byte) (n int, err error) {
	conn, err := l.from.SyscallConn()
	if err != nil {
		return 0, err
	}
	closed := conn.Control(func(fd uintptr) { n, err = unix.Read(int(fd), b) })
	switch {
	case closed != nil:
		return 0, closed
	case err != nil || n < 0:
		return 0, os.ErrDeadlineExceeded // nothing is there
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// inherited are the variables of the host's environment that plugins get, besides LC_*. Everything else, tokens above
// all, stays with the host.
var inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "TERM"}

// environment is what a plugin's process gets: the allow-list, a folder for temporary files in the place of ours, what the
// spec adds, and go-plugin's and our own last, so that nothing replaces those.
func environment(spec Spec, temp string, ours []string) []string {
	out := append(inheritedEnvironment(spec), "TMPDIR="+temp)
	for _, name := range slices.Sorted(maps.Keys(spec.Env)) {
		out = append(out, name+"="+spec.Env[name])
	}
	out = append(out, ours...)
	return append(out, wire.EnvKeepDir+"="+os.TempDir(), wire.EnvLifeline+"=stdin", wire.EnvHostPID+"="+strconv.Itoa(os.Getpid()))
}

func inheritedEnvironment(spec Spec) (out []string) {
	if spec.InheritEnv != nil && *spec.InheritEnv {
		return proctree.Environ()
	}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_") {
			out = append(out, kv)
		}
	}
	return out
}
