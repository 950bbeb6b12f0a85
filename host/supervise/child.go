package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/removal"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A child is the process of one generation, under its own launcher, which ends everything that the process has
// started. The launcher reports the end of the process: the end of a pipe would not, since another process may hold
// it open.
type child struct {
	pid         int         // as this process sees it
	handle      *os.Process // this process, never another with the same number
	containment string      // see proctree.Cmd.Containment
	killAll     func()      // kills the process and everything it has started
	// They close in this order, but for releaseAllowed after a start or stop that failed, and launcherEnded where the
	// launcher fails.
	programEnded   chan struct{} // the program itself has ended
	treeEnded      chan struct{} // no process of it is left, and its output has been read
	releaseAllowed chan struct{} // its sandbox may be released; see allowRelease
	launcherEnded  chan struct{} // its launcher has ended too
	released       chan struct{} // its sandbox holds nothing: no start waits for it

	allowOnce  sync.Once // closes releaseAllowed
	tail       *tail
	stdin      *os.File    // the plugin ends when this is closed
	attached   bool        // it was started by hand: the host never ends it, and leaves it instead
	killed     atomic.Bool // by kill: it may live for a moment more
	readers    sync.WaitGroup
	stderrRead chan struct{} // closed when standard error has been read to its end
	output     [2]*os.File   // standard output and standard error, which the readers read

	mu         sync.Mutex
	over       bool
	exit       proctree.Exit // once it has died
	followErr  error         // once it is over: it could not be followed to its end
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
func launch(ctx context.Context, spec Spec, prepared sandbox.Prepared, std *stdio, log *slog.Logger) (c *child,
	stdout *os.File, err error) {
	cmd := prepared.Command(spec.Dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Launcher = std.stdin.r, std.stdout.w, std.stderr.w, std.launcher
	c = &child{containment: cmd.Containment(), programEnded: make(chan struct{}), treeEnded: make(chan struct{}),
		launcherEnded: make(chan struct{}), releaseAllowed: make(chan struct{}), released: make(chan struct{}),
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
	go c.wait(ended, prepared)
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
		<-c.releaseAllowed // reaping the launcher earlier occupies a processor for some milliseconds beside the next start
	}
	go func() {
		defer close(c.launcherEnded)
		defer end()
		defer kill()
		c.setExit(cmd.Run(life))
	}()
	select {
	case err = <-started:
	case <-ended:
		if len(started) == 0 {
			return nil, cmp.Or(c.followErr, errEnded)
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
func (c *child) setExit(exit proctree.Exit, followErr error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exit, c.followErr = exit, followErr
	if !isClosed(c.programEnded) {
		close(c.programEnded)
	}
}

// wait returns when everything that the process started has ended and its output has been read. It removes the
// process's folder for temporary files.
func (c *child) wait(ended <-chan struct{}, prepared sandbox.Prepared) {
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
	close(c.treeEnded)
	<-c.releaseAllowed
	prepared.Release()
	<-c.launcherEnded
	close(c.released)
	_ = removal.All(prepared.Temp, backgroundRemovalTime)
}

// allowRelease allows the sandbox to be released after the exit. The next start of a crashed plugin shares the
// placeholders of the last one, and would otherwise create again what is removed at the same time.
func (c *child) allowRelease() {
	if c.releaseAllowed != nil { // else it was joined
		c.allowOnce.Do(func() { close(c.releaseAllowed) })
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

// kernelReportsEnd reports whether the process itself has ended, which the kernel knows before the launcher has ended
// the rest. It is false where the kernel does not report it.
func (c *child) kernelReportsEnd() bool { return processHasEnded(c.handle) }

// copyOutput reads a stream to its end, so that the plugin does not block on a full pipe unless it floods it.
func (c *child) copyOutput(f *os.File, in io.Reader, to io.Writer) {
	defer c.readers.Done()
	// It ends with the process. Each process has two for as long as it lives: io.Copy would take 32 KB for each.
	_, _ = io.CopyBuffer(to, &pacedReader{Reader: in, ended: c.programEnded}, make([]byte, maxLine))
	_, _ = to.Write([]byte("\n")) // the last line may not be terminated
	_ = f.Close()
}

// A pacedReader reads at most maxPaced bytes in pace until the program has ended: what a plugin prints without end
// costs a processor of the host otherwise, although nearly all of it is dropped.
type pacedReader struct {
	io.Reader
	ended <-chan struct{} // then errors wait for the last lines
	since time.Time
	read  int // since then
}

const (
	pace     = 100 * time.Millisecond
	maxPaced = 512 << 10
)

func (p *pacedReader) Read(b []byte) (int, error) {
	if p.read >= maxPaced {
		within(pace-time.Since(p.since), p.ended)
	}
	if time.Since(p.since) >= pace {
		p.since, p.read = time.Now(), 0
	}
	n, err := p.Reader.Read(b)
	p.read += n
	return n, err
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
