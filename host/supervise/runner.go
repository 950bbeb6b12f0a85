package supervise

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	pluginrunner "github.com/hashicorp/go-plugin/runner"

	"github.com/toolhost/toolhost/host/supervise/internal/removal"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/wire"
)

// A runner is the plugin's process behind go-plugin's interface for processes. go-plugin gets the handshake line,
// already checked, and nothing else: no pipes, no standard input, no control over the end of the process.
type runner struct {
	ctx        context.Context // ends when the start has taken too long
	spec       Spec
	supervisor *Supervisor
	generation *generation
	stdio      *stdio // of the first launch, nil after it
	log        *slog.Logger
	prepared   func(sandbox.Prepared) // called before a launch

	env       []string
	token     string // authenticates the host to the plugin
	socketDir string
	handshake string // the line
}

var _ pluginrunner.Runner = (*runner)(nil)

func (r *runner) make(_ hclog.Logger, cmd *exec.Cmd, socketDir string) (pluginrunner.Runner, error) {
	r.token = rand.Text()
	r.env, r.socketDir = slices.Concat(cmd.Env, []string{wire.EnvToken + "=" + r.token}), socketDir
	return r, nil
}

// Start launches the process and waits for its handshake.
func (r *runner) Start(context.Context) error {
	if r.spec.Attach {
		return r.join()
	}
	c, stdout, err := r.launch()
	if err != nil {
		return err
	}
	r.generation.child = c
	defer context.AfterFunc(r.ctx, func() { _ = stdout.SetReadDeadline(time.Now()) })()
	in := bufio.NewReaderSize(&remainderReader{file: stdout}, maxHandshake)
	if r.handshake, err = readHandshake(in, r.socketDir); err != nil {
		go c.copyOutput(stdout, in, io.Discard)
		return err
	}
	go c.copyOutput(stdout, in, newOutputLog(r.log, "stdout", nil, r.spec.References))
	return nil
}

// launch starts the process with its own folder for temporary files; again if the start found out that the machine
// can do less, or if a protected path vanished or became a link since it was checked.
func (r *runner) launch() (c *child, stdout *os.File, err error) {
	s := r.supervisor
	temp, err := s.tempDir.temp()
	if err != nil {
		return nil, nil, fmt.Errorf("making a folder for its temporary files: %w", err)
	}
	before := s.capabilities()
	c, stdout, err = r.launchIn(temp)
	vanished := !isInvalid(err) && (errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ELOOP))
	if vanished || err != nil && s.capabilities() != before {
		c, stdout, err = r.launchIn(temp)
	}
	if err != nil {
		_ = removal.All(temp, removalTime) // it may have run for a moment
	}
	return c, stdout, err
}

func (r *runner) launchIn(temp string) (*child, *os.File, error) {
	s, state := r.supervisor, ""
	if dir := r.spec.StateDir; dir != "" {
		var err error
		if state, err = makeStateDir(dir); err != nil { // it may not need it
			s.log.Warn("plugin has no folder for its state", "plugin", r.spec.Name, "error", err)
		}
	}
	p := sandbox.Program{Path: r.generation.program, Temp: temp, Socket: r.socketDir, State: state,
		Env: environment(r.spec, s.options.Config, temp, state, r.env)}
	std := r.stdio
	if r.stdio = nil; std == nil {
		var err error
		if std, err = openStdio(r.spec, r.spec.Sandbox.HasNamespaces(s.capabilities())); err != nil {
			return nil, nil, err
		}
	}
	how, err := s.prepareSandbox(r.spec, p, s.specs())
	if err != nil {
		std.close()
		return nil, nil, err
	}
	r.prepared(how)
	c, stdout, err := launch(r.ctx, r.spec, how, std, r.log)
	if err != nil {
		how.Release()
		return nil, nil, err
	}
	s.reportReduced(r.spec, how.Confinement)
	return c, stdout, nil
}

// Stdout returns the handshake line.
func (r *runner) Stdout() io.ReadCloser { return io.NopCloser(strings.NewReader(r.handshake + "\n")) }

// Stderr is empty.
func (r *runner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Wait returns when the process has ended and is released: go-plugin then has standard error written to the disk, and
// a next start would wait for that.
func (r *runner) Wait(context.Context) error {
	<-r.generation.released
	return nil
}

// Kill ends the process.
func (r *runner) Kill(context.Context) error {
	if c := r.generation.child; c != nil {
		c.kill("")
	}
	return nil
}

// Name and ID are the plugin's name. go-plugin cleans up only processes with an ID.
func (r *runner) Name() string { return r.spec.Name }

// ID is Name.
func (r *runner) ID() string { return r.spec.Name }

// Diagnose adds nothing.
func (r *runner) Diagnose(context.Context) string { return "" }

// PluginToHost and HostToPlugin translate no paths.
func (r *runner) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin is the reverse.
func (r *runner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

const maxHandshake = 4 << 10 // the limit, in bytes, of the handshake line

var (
	errEnded       = errors.New("ended before the handshake")
	errClosed      = errors.New("it closed its standard output before the handshake")
	errNoHandshake = errors.New("no handshake")
	errConnecting  = errors.New("connecting to it") // after a good handshake
)

// readHandshake reads and checks the first line that the plugin prints, before go-plugin gets it: go-plugin would
// dial any address, and panics at some lines. The file's read deadline ends it.
func readHandshake(r *bufio.Reader, socketDir string) (string, error) {
	line, err := r.ReadSlice('\n')
	text := strings.TrimRight(string(line), "\r\n")
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", notAHandshake(text)
	case errors.Is(err, io.EOF) && text == "":
		return "", errEnded
	case errors.Is(err, os.ErrDeadlineExceeded) && text == "":
		return "", fmt.Errorf("%w; is it a toolhost plugin, and does it serve before all slow work?", errNoHandshake)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "", fmt.Errorf("%w; it printed %.80q, and not the end of that line", errNoHandshake, text)
	case err != nil && text == "":
		return "", err
	}
	return text, checkHandshake(text, socketDir)
}

// checkHandshake checks CORE|APP|network|address|protocol[|certificate], go-plugin's line.
func checkHandshake(line, socketDir string) error {
	f := strings.Split(line, "|")
	if len(f) < 5 || len(f) > 7 || f[0] != "1" {
		return notAHandshake(line)
	}
	at := addressIn(line)
	switch {
	case f[1] != "1":
		return fmt.Errorf("it speaks version %.20q of the plugin protocol, this host speaks version 1; update one of them",
			f[1])
	case at.network == "tcp" && tcpLoopback:
		if port, err := netip.ParseAddrPort(at.name); err != nil || port.Addr() != loopback || port.Port() == 0 {
			return fmt.Errorf("it listens at %.120q, which is not a port of 127.0.0.1", at.name)
		}
	case at.network != "unix":
		return fmt.Errorf("it listens on %.20q; plugins must listen on a Unix socket in PLUGIN_UNIX_SOCKET_DIR", f[2])
	case f[4] != "grpc":
		return fmt.Errorf("it speaks %.20q; plugins must speak grpc", f[4])
	case len(f) > 5 && f[5] != "":
		return errors.New("it sent a TLS certificate, which the host did not ask for")
	}
	if at.network == "unix" {
		return checkSocket(at.name, socketDir)
	}
	return nil
}

// An address is where a plugin listens: at a Unix socket or, on Windows, at a port of the machine itself.
type address struct{ network, name string }

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// addressIn is the address in a handshake line.
func addressIn(line string) address {
	f := strings.Split(line, "|")
	return address{f[2], f[3]}
}

// checkSocket checks that the Unix socket exists, in the folder for it.
func checkSocket(socket, socketDir string) error {
	if filepath.Dir(filepath.Clean(socket)) != filepath.Clean(socketDir) {
		return fmt.Errorf("it listens at %.120q, outside its own socket folder", socket)
	}
	info, err := os.Lstat(socket)
	if err != nil {
		return fmt.Errorf("the socket %.120q of its handshake does not exist: %w", socket, errors.Unwrap(err))
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("%.120q in its handshake is not a socket", socket)
	}
	return nil
}

func notAHandshake(line string) error {
	return fmt.Errorf("it printed %.80q in place of the handshake: it is not a toolhost plugin, or prints on standard "+
		"output before it serves; print on standard error", line)
}
