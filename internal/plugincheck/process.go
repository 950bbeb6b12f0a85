package plugincheck

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/gotrace"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// A process is a plugin that was started without a supervisor, so that the check sees what a host hides.
type process struct {
	cmd     *exec.Cmd
	dir     string // of its socket
	remove  func() // removes it
	stdin   io.Closer
	took    time.Duration // until the handshake
	address string        // as gRPC takes it
	token   string
	conn    *grpc.ClientConn
	client  *client.Client
	raw     pluginv1.PluginServiceClient
	stderr  tail
	done    chan struct{} // closed when it has ended
	exit    error         // valid then
	killing sync.Once
}

// A process that the plugin has left may hold its output open without end.
const (
	holdTime = time.Second            // how long standard error is read after the end of the plugin
	restTime = 100 * time.Millisecond // how long standard output is read after that
)

// socketDir is the variable that names the folder of a plugin's socket: no other plugin has the same.
func socketDir(dir string) string { return "PLUGIN_UNIX_SOCKET_DIR=" + dir }

// environment is that of a host, but for the cookie.
func environment(dir, token string) []string {
	return append(append(supervise.Spec{}.Environment(), supervise.TempEnvironment(dir)...), socketDir(dir),
		"PLUGIN_PROTOCOL_VERSIONS=1", wire.EnvToken+"="+token, wire.EnvLifeline+"=stdin", wire.EnvKeepDir+"="+dir,
		wire.EnvStateDir+"="+dir, wire.EnvInstance+"=check", fmt.Sprintf("%s=%d", wire.EnvHostPID, os.Getpid()))
}

var cookie = wire.EnvCookie + "=" + wire.Cookie

// A line is one that a plugin has printed, or why there is no whole one.
type line struct {
	text string
	err  error
}

// start runs the plugin until its handshake, and connects to it.
func start(ctx context.Context, o Options) (_ *process, err error) {
	// As with hosts, temporary files are not in $XDG_RUNTIME_DIR, which is small.
	base := supervise.Options{RunDir: os.TempDir()}.SocketDir()
	dir, remove, err := fsutil.TempDir(base, "toolhost-check-")
	if err != nil {
		return nil, err
	}
	p := &process{dir: filepath.Join(dir, "p"), remove: remove, token: rand.Text(), done: make(chan struct{})}
	if err = os.Mkdir(p.dir, 0o700); err != nil {
		remove()
		return nil, err
	}
	p.cmd = exec.Command(o.Command[0], o.Command[1:]...) //nolint:noctx // it ends by the checks, and after them
	p.cmd.Env = append(environment(p.dir, p.token), cookie)
	p.cmd.Stderr = &p.stderr
	p.cmd.SysProcAttr = ownGroup()
	p.cmd.WaitDelay = holdTime
	stdout, theirs, err := os.Pipe()
	if err != nil {
		remove()
		return nil, err
	}
	p.cmd.Stdout = theirs
	began := time.Now()
	if p.stdin, err = p.cmd.StdinPipe(); err == nil {
		err = p.cmd.Start()
	}
	_ = theirs.Close()
	if err != nil {
		_ = stdout.Close()
		remove()
		return nil, err
	}
	defer func() {
		if err != nil {
			p.kill()
		}
	}()
	first := make(chan line, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		r := bufio.NewReader(io.LimitReader(stdout, 64<<10))
		text, err := r.ReadString('\n')
		first <- line{text, err}
		_, _ = io.Copy(io.Discard, stdout)
	}()
	go func() {
		p.exit = p.cmd.Wait()
		_ = stdout.SetReadDeadline(time.Now().Add(restTime))
		<-read
		_ = stdout.Close()
		close(p.done)
	}()
	text, err := p.awaitLine(ctx, o.Timeout, began, first, stdout)
	if err != nil {
		return p, err
	}
	return p, p.connect(ctx, text)
}

// awaitLine returns the first line of the plugin's standard output, which is its handshake.
func (p *process) awaitLine(ctx context.Context, limit time.Duration, began time.Time, first <-chan line,
	stdout *os.File) (string, error) {
	select {
	case got := <-first:
		p.took = time.Since(began)
		if got.err != nil {
			how := p.waitExit(limit)
			err := fmt.Errorf("it printed no whole line on standard output, and closed that (%w)%s", how, p.stderr.quote())
			if p.exited() {
				err = fmt.Errorf("it ended before the handshake (%w)%s", how, p.stderr.quote())
				return "", &endedError{err, p.stderr.any()}
			}
			return "", err
		}
		return got.text, nil
	case <-time.After(limit):
		if p.stopped() {
			return "", errStopped
		}
		if stdout.SetReadDeadline(time.Now()) == nil { // on Windows it has none, and reading goes on
			if got := <-first; got.text != "" {
				return "", fmt.Errorf("it printed %.100q, and not the end of that line within %s%s", got.text, limit,
					p.stderr.quote())
			}
		}
		return "", fmt.Errorf("no handshake within %s%s", limit, p.stderr.quote())
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

var errStopped = errors.New("it was stopped by a signal, such as SIGSTOP, before the handshake")

const stoppedFix = "Let it run: nothing continues it, and hosts end a plugin that is stopped while calls run in it."

// An endedError means that the program ended by itself before the handshake.
type endedError struct {
	error
	said bool // something on standard error
}

func (e *endedError) Unwrap() error { return e.error }

// A foreignError means that another process serves than the one that was started.
type foreignError struct{ error }

// connect reads the handshake and makes the client.
func (p *process) connect(ctx context.Context, line string) error {
	f := strings.Split(strings.TrimRight(line, "\r\n"), "|")
	switch {
	case len(f) < 5 || f[0] != "1" || f[2] != "unix" && !(f[2] == "tcp" && runtime.GOOS == "windows") || f[4] != "grpc":
		return fmt.Errorf("its first line is %.100q, and must be 1|1|unix|PATH|grpc|", line)
	case f[1] != "1":
		return fmt.Errorf("it speaks version %.20q of the protocol; this is version 1", f[1])
	case f[2] == "tcp":
		if !strings.HasPrefix(f[3], "127.0.0.1:") {
			return fmt.Errorf("it listens at %.200q, which is not a port of 127.0.0.1", f[3])
		}
		p.address = "passthrough:///" + f[3]
	case filepath.Dir(f[3]) != p.dir:
		return fmt.Errorf("it listens at %.200q, which is not directly in PLUGIN_UNIX_SOCKET_DIR", f[3])
	}
	p.address = cmp.Or(p.address, "unix:"+f[3])
	conn, err := (&net.Dialer{Timeout: holdTime}).DialContext(ctx, f[2], f[3])
	if err != nil {
		return fmt.Errorf("it accepts no connections when it has printed the handshake: %w", err)
	}
	_, _, err = wire.PeerCredentials(p.cmd.Process.Pid).ClientHandshake(ctx, "", conn)
	if _ = conn.Close(); err != nil {
		return &foreignError{err}
	}
	if p.conn, err = p.dial(p.token); err != nil {
		return err
	}
	p.client, p.raw = client.New(p.conn), pluginv1.NewPluginServiceClient(p.conn)
	return nil
}

// dial connects as a host does, with a token or, where it is empty, without one.
func (p *process) dial(token string) (*grpc.ClientConn, error) {
	options := wire.DialOptions(0)
	if token != "" {
		options = append(options, wire.WithToken(token))
	}
	return grpc.NewClient(p.address, options...)
}

func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// endsSoon reports whether the process has ended, or does within a moment: its connection breaks first.
func (p *process) endsSoon() bool {
	_ = p.waitExit(200 * time.Millisecond)
	return p.exited()
}

// waitExit waits for the end of the process and returns how it ended, in words.
func (p *process) waitExit(d time.Duration) error {
	select {
	case <-p.done:
	case <-time.After(d):
		return fmt.Errorf("it still runs after %s", d)
	}
	if p.exit == nil {
		return errors.New("exit code 0")
	}
	return p.exit
}

// kill ends the process and all that it has started, and removes its folder.
func (p *process) kill() {
	p.killing.Do(func() {
		if p.conn != nil {
			_ = p.conn.Close()
		}
		_ = p.stdin.Close()
		killGroup(p.cmd.Process)
		p.killRest()
		<-p.done
		p.remove()
	})
}

// killRest ends what the plugin has started in other process groups: a host would, and nobody else does.
func (p *process) killRest() {
	const rounds = 10 // one may start another meanwhile
	for range rounds {
		rest := leftBehind(p.dir)
		for _, r := range rest {
			_ = r.Kill()
			_ = r.Release()
		}
		if len(rest) == 0 {
			return
		}
	}
}

// A tail keeps the end of what a process prints, and how a panic in it began.
type tail struct {
	mu    sync.Mutex
	text  []byte
	line  []byte // that has not ended
	trace gotrace.Finder
}

const tailSize = 4 << 10

func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, data...)
	for rest := data; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		t.line = append(t.line, line[:min(len(line), max(0, tailSize-len(t.line)))]...)
		if rest = after; ended {
			t.trace.Add(t.line)
			t.line = t.line[:0]
		}
	}
	if n := len(t.text) - tailSize; n > 0 {
		t.text = append(t.text[:0], t.text[n:]...)
	}
	return len(data), nil
}

// panicked reports whether the end is a panic.
func (t *tail) panicked() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.trace.InTrace()
}

// any reports whether anything but blanks was printed.
func (t *tail) any() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.trace.InTrace() || len(bytes.TrimSpace(t.text)) > 0
}

// quote is the last lines, or how a panic at the end began, for the end of a message.
func (t *tail) quote() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.trace.InTrace() {
		panicked := "; " + string(bytes.ToValidUTF8(t.trace.First(), []byte("?")))
		if place := t.trace.Place(); place != "" {
			panicked += " (" + place + ")"
		}
		return visible(panicked)
	}
	lines := strings.Split(strings.TrimSpace(string(bytes.ToValidUTF8(t.text, []byte("?")))), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return "; it printed nothing on standard error"
	}
	return "; the last lines of its standard error: " + visible(strings.Join(lines[max(0, len(lines)-6):], " | "))
}

func visible(s string) string {
	s, _ = textutil.Visible(s, '?')
	return s
}
