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
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/removal"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/nesting"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A child is the process of one generation, under its own launcher, which ends everything that the process has
// started. The launcher reports the end of the process: the end of a pipe would not, since another process may hold
// it open.
type child struct {
	pid         int           // as this process sees it
	handle      *os.Process   // this process, never another with the same number
	containment string        // see proctree.Cmd.Containment
	killAll     func()        // kills the process and everything it has started
	died        chan struct{} // closed when the program itself has ended: before exited
	exited      chan struct{} // closed when no process of it is left and its output has been read
	reaped      chan struct{} // closed when its launcher has ended too
	unneeded    chan struct{} // closed when its sandbox may be released, once it has exited; see allowRelease
	released    chan struct{} // closed after exited and reaped, when its sandbox holds nothing: no start waits for it
	lettingGo   sync.Once
	tail        *tail
	stdin       *os.File    // the plugin ends when this is closed
	attached    bool        // it was started by hand: the host never ends it, and leaves it instead
	killed      atomic.Bool // by kill: it may live for a moment more
	readers     sync.WaitGroup
	stderrRead  chan struct{} // closed when standard error has been read to its end
	output      [2]*os.File   // standard output and standard error, which the readers read

	mu         sync.Mutex
	over       bool
	exit       proctree.Exit // once it has died
	lost       error         // once it is over: it could not be followed to its end
	killReason string        // why the host killed it, or ""
}

// stdio are the pipes of a process, and its launcher, which comes up while the sandbox is prepared.
type stdio struct {
	stdin, stdout, stderr pipe
	launcher              *proctree.Launcher
}

func openStdio(spec Spec, namespaces bool) (s *stdio, err error) {
	s = &stdio{}
	for _, p := range []*pipe{&s.stdin, &s.stdout, &s.stderr} {
		open := outputPipe
		if p == &s.stdin {
			open = os.Pipe
		}
		if p.r, p.w, err = open(); err != nil {
			s.close()
			return nil, launchError(spec, fmt.Errorf("making pipes: %w", err))
		}
	}
	s.launcher = proctree.StartLauncher(s.stdin.r, s.stdout.w, s.stderr.w, namespaces)
	return s, nil
}

// close closes all of it that a process does not use.
func (s *stdio) close() {
	s.closeTheirs()
	closeFiles(s.stdin.w, s.stdout.r, s.stderr.r)
}

// closeTheirs closes what a process has copies of.
func (s *stdio) closeTheirs() {
	closeFiles(s.stdin.r, s.stdout.w, s.stderr.w)
	if s.launcher != nil {
		s.launcher.Close()
	}
}

// launch starts the plugin in its own session, without a terminal, and returns its standard output, which the caller
// must read to the end. The end of ctx ends the start, not the process.
func launch(ctx context.Context, spec Spec, how sandbox.Prepared, std *stdio, log *slog.Logger) (c *child,
	stdout *os.File, err error) {
	cmd := how.Command(spec.Dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Launcher = std.stdin.r, std.stdout.w, std.stderr.w, std.launcher
	c = &child{containment: cmd.Containment(), died: make(chan struct{}), exited: make(chan struct{}),
		reaped: make(chan struct{}), unneeded: make(chan struct{}), released: make(chan struct{}),
		stderrRead: make(chan struct{}), tail: &tail{}, stdin: std.stdin.w,
		output: [2]*os.File{std.stdout.r, std.stderr.r}}
	ended, err := c.run(ctx, cmd)
	if err != nil {
		std.close()
		return nil, nil, launchError(spec, err)
	}
	std.closeTheirs()
	c.readers.Add(len(c.output)) // one for each copyOutput
	go func() {
		defer close(c.stderrRead)
		c.copyOutput(std.stderr.r, &remainderReader{file: std.stderr.r}, newOutputLog(log, "stderr", c.tail, spec.References))
	}()
	go c.wait(ended, how)
	return c, std.stdout.r, nil
}

// run returns when the program runs; ended closes when no process of it is left, but for its launcher.
func (c *child) run(ctx context.Context, cmd *proctree.Cmd) (ended chan struct{}, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	life, kill := context.WithCancel(context.Background())
	defer context.AfterFunc(ctx, kill)()
	c.killAll, ended = kill, make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	started := make(chan error, 1)
	cmd.Started = func(pid int) { // before another process can get its number
		var err error
		c.pid = pid
		if c.handle, err = os.FindProcess(pid); err != nil {
			err = fmt.Errorf("its process cannot be found: %w", err)
		}
		started <- err
	}
	cmd.Exited = func(e proctree.Exit) { c.setExit(e, nil) }
	cmd.Ended = func() {
		end()
		<-c.unneeded // reaping the launcher earlier occupies a processor for some milliseconds beside the next start
	}
	go func() {
		defer close(c.reaped)
		defer end()
		defer kill()
		c.setExit(cmd.Run(life))
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
		kill()
		<-ended
	}
	return ended, err
}

// setExit records how the program ended: with its own end, and again with the end of its tree, when it is known whether
// that could be followed.
func (c *child) setExit(exit proctree.Exit, lost error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exit, c.lost = exit, lost
	if !isClosed(c.died) {
		close(c.died)
	}
}

// wait returns when everything that the process started has ended and its output has been read. It removes the
// process's folder for temporary files.
func (c *child) wait(ended <-chan struct{}, how sandbox.Prepared) {
	<-ended
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	_ = c.handle.Release()
	_ = c.stdin.Close()
	for _, f := range c.output {
		_ = f.SetReadDeadline(time.Now()) // a process that could not be killed may hold the pipe open
	}
	c.readers.Wait()
	close(c.exited)
	<-c.unneeded
	how.Release()
	<-c.reaped
	close(c.released)
	_ = removal.All(how.Temp, backgroundRemovalTime)
}

// allowRelease allows the sandbox to be released after the exit. The next start of a crashed plugin shares the
// placeholders of the last one, and would otherwise create again what is removed at the same time.
func (c *child) allowRelease() {
	if c.unneeded != nil { // else it was joined
		c.lettingGo.Do(func() { close(c.unneeded) })
	}
}

// closeLifeline ends its lifeline; a process that was joined is left.
func (c *child) closeLifeline() {
	if c.attached {
		c.killAll()
	} else {
		_ = c.stdin.Close()
	}
}

// kill kills the process and everything it has started. The reason, or "", is reported with its end.
func (c *child) kill(reason string) {
	c.killed.Store(true)
	c.signal(syscall.SIGKILL, reason)
	c.killAll()
}

// signal goes to the whole process group, unless the process has ended: its number may have been reused by then.
func (c *child) signal(sig syscall.Signal, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.killReason = cmp.Or(c.killReason, reason)
	if !c.attached && c.handle.Signal(syscall.Signal(0)) == nil {
		signalGroup(c.pid, sig)
	}
}

// hasExited reports whether the process itself has ended, which the kernel knows before the launcher has ended the
// rest. It is false where the kernel does not report it.
func (c *child) hasExited() bool { return hasEnded(c.handle) }

// exitError says how the process ended, with a phrase such as " before the handshake", and whether processes that it
// started may be left. The process must have ended.
func (c *child) exitError(phrase string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch text := c.endText() + phrase; {
	case errors.Is(c.lost, proctree.ErrLoose), errors.Is(c.lost, proctree.ErrLeft):
		return errors.New(text + "; processes that it started may still run")
	case errors.Is(c.lost, proctree.ErrLost):
		return errors.New(text + "; the kernel has ended all processes that it started")
	default:
		return errors.New(text)
	}
}

func (c *child) endText() string {
	launcher, lost := errors.AsType[*proctree.LauncherError](c.lost)
	switch {
	case c.killReason != "" && c.attached:
		return c.killReason + ", and the host has left it"
	case c.killReason != "":
		return c.killReason + " and was killed"
	case lost:
		return "killed by SIGKILL, because its launcher " + launcher.Fate
	case c.exit.Signal == 0 && c.exit.Code < 0:
		return fmt.Sprint(c.lost)
	}
	return exitText(c.exit)
}

// exitedSilently reports whether the process ended by itself and had printed nothing on standard error.
func (c *child) exitedSilently() bool {
	c.mu.Lock()
	ended := c.killReason == "" && c.lost == nil && c.exit.Signal == 0
	c.mu.Unlock()
	return ended && len(c.tail.last(1)) == 0
}

func exitText(e proctree.Exit) string {
	if e.Signal != 0 {
		return "killed by " + e.SignalName()
	}
	if e.Code > 0xffff { // of an exception on Windows, such as 0xC0000005
		return fmt.Sprintf("exited with code %#X", e.Code)
	}
	return fmt.Sprintf("exited with code %d", e.Code)
}

// addExitFacts adds how the process ended to the details of an error.
func (c *child) addExitFacts(facts map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.exit.Signal != 0:
		facts["signal"] = c.exit.SignalName()
	case errors.Is(c.lost, proctree.ErrLost):
		facts["signal"] = "SIGKILL"
	default:
		facts["exit_code"] = c.exit.Code
	}
	facts["last_stderr"] = c.tail.last(tailLines)
}

// withStderr adds the last lines of standard error to err, if there are any.
func (c *child) withStderr(err error) error {
	switch lines := c.tail.summary(); len(lines) {
	case 0:
		return err
	case 1:
		return fmt.Errorf("%w. Last line on stderr: %s", err, lines[0])
	default:
		return fmt.Errorf("%w. Last lines on stderr: %s", err, strings.Join(lines, " | "))
	}
}

// copyOutput reads a stream to its end, so that the plugin never blocks on a full pipe.
func (c *child) copyOutput(f *os.File, in io.Reader, to io.Writer) {
	defer c.readers.Done()
	// It ends with the process. Each process has two for as long as it lives: io.Copy would take 32 KB for each.
	_, _ = io.CopyBuffer(to, struct{ io.Reader }{in}, make([]byte, maxLine))
	_, _ = to.Write([]byte("\n")) // the last line may not be terminated
	_ = f.Close()
}

type pipe struct{ r, w *os.File }

func closeFiles(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // no error for nil
	}
}

// A remainderReader reads a pipe and, after its read deadline, what is already in it.
type remainderReader struct {
	file *os.File
	late int // bytes read after the deadline
}

// maxRemainder is the capacity of a pipe: a process that continues writing is not read without end.
const maxRemainder = 1 << 20

func (l *remainderReader) Read(b []byte) (int, error) {
	n, err := l.file.Read(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) || l.late >= maxRemainder {
		return n, err
	}
	conn, err := l.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	closed := conn.Control(func(fd uintptr) { n, err = readNow(fd, b) })
	switch {
	case closed != nil:
		return 0, closed
	case err != nil || n < 0:
		return 0, os.ErrDeadlineExceeded // it is empty
	case n == 0:
		return 0, io.EOF
	}
	l.late += n
	return n, nil
}

// inherited are the variables of the host's environment that plugins get, besides LC_*. All others, tokens above all,
// are withheld.
var inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "TERM", "XDG_STATE_HOME"}

// environment is the environment of a plugin's process: the allow-list, a folder for temporary files, the spec's
// variables, then go-plugin's and the host's, which nothing overrides.
func environment(spec Spec, config, temp, state string, protocol []string) []string {
	out := append(inheritedEnvironment(spec), TempEnvironment(temp)...)
	out = nesting.Below(append(out, ownEnvironment(spec)...), config, spec.title(), true)
	return append(append(out, protocol...),
		wire.EnvInstance+"="+spec.Name, wire.EnvKeepDir+"="+os.TempDir(), wire.EnvLifeline+"=stdin",
		wire.EnvStateDir+"="+state,
		wire.EnvHostPID+"="+strconv.Itoa(os.Getpid()))
}

// TempEnvironment has programs use a folder for their temporary files.
func TempEnvironment(dir string) (out []string) {
	for _, name := range tempVariables {
		out = append(out, name+"="+dir)
	}
	return out
}

// title is how errors, and hosts that the plugin runs, name it.
func (s Spec) title() string { return fmt.Sprintf("plugin %q", s.Name) }

// Environment is the part of the host's environment that a plugin gets, and the variables of the spec.
func (s Spec) Environment() []string { return append(inheritedEnvironment(s), ownEnvironment(s)...) }

func ownEnvironment(spec Spec) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(spec.Env)) {
		out = append(out, name+"="+spec.Env[name])
	}
	return out
}

func inheritedEnvironment(spec Spec) (out []string) {
	if spec.InheritEnv != nil && *spec.InheritEnv {
		return proctree.Environ()
	}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); isInherited(name) {
			out = append(out, kv)
		}
	}
	return out
}
