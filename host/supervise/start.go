package supervise

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	pluginrunner "github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/host/supervise/internal/removal"
	"github.com/toolhost/toolhost/host/supervise/internal/toolcache"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// A generation is one start of a plugin: a process, the connection to it, and its description. The next start is
// another generation with a higher number.
type generation struct {
	number     int
	program    string // the file that runs
	renamed    bool   // see Spec
	references References
	child      *child
	client     *client.Client
	conn       *grpc.ClientConn // under client, for go-plugin's health service
	goPlugin   *goplugin.Client
	socketDir  string // of the plugin's socket, once it exists

	confinement *sandbox.Confinement // nil before the launch
	sandboxHint string               // what the sandbox may have refused, for errors

	described atomic.Pointer[sdk.Description]
	cached    toolcache.Entry
	calls     *inFlightCalls
	health    healthCheck
	abandoned abandonedCalls
	replaced  chan struct{} // closed when a standby has taken over from it
	released  chan struct{} // closed, once, when its resources are about to be released
	releasing sync.Once
	stopWatch context.CancelFunc
}

func (g *generation) description() *sdk.Description { return g.described.Load() }
func (g *generation) done() <-chan struct{}         { return g.child.exited }

// startSlotTime is how long a start counts among the parallel ones. A longer one waits for something, and leaves the
// processors to others.
const startSlotTime = time.Second

// start brings up one generation within Spec.StartTimeout. It is the startFunc of the supervisor's plugins.
func (s *Supervisor) start(ctx context.Context, spec Spec, number int) (*generation, error) {
	select {
	case s.starts <- struct{}{}:
		done := sync.OnceFunc(func() { <-s.starts })
		defer done()
		defer time.AfterFunc(startSlotTime, done).Stop()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := spec.startContext(ctx)
	defer cancel()
	ended := make(chan startResult, 1)
	go func() {
		g, err := s.launchAndConfigure(ctx, spec, number)
		ended <- startResult{g, spec.References.hideError(err)}
	}()
	return awaitStart(ctx, ended)
}

// awaitStart waits for the end of a start, including its clean-up, but not for one that hangs in the kernel.
func awaitStart(ctx context.Context, ended <-chan startResult) (*generation, error) {
	select {
	case r := <-ended:
		return r.g, r.err
	case <-ctx.Done():
	}
	t := time.NewTimer(stopTime)
	defer t.Stop()
	select {
	case r := <-ended:
		return r.g, r.err
	case <-t.C:
		go func() { stopLate(<-ended) }()
		return nil, fmt.Errorf("%w, and the start could not be aborted: a file or a process hangs in the kernel",
			context.Cause(ctx))
	}
}

// startContext ends with the spec's StartTimeout.
func (s Spec) startContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.StartTimeout, fmt.Errorf("it was not ready within %s", s.StartTimeout))
}

// launchAndConfigure brings up one generation: verify, launch, handshake, dial, describe, configure.
func (s *Supervisor) launchAndConfigure(ctx context.Context, spec Spec, number int) (g *generation, err error) {
	path, err := s.verified(spec)
	if err != nil {
		return nil, err
	}
	if s.offline {
		return nil, &invalidError{errors.New("offline: plugins are not started, and the cache does not have its tools")}
	}
	if err := errors.Join(s.runDir.restore(), s.tempDir.restore()); err != nil {
		return nil, err
	}
	g = &generation{number: number, calls: newInFlightCalls(), program: path, renamed: spec.Renamed,
		references: spec.References,
		replaced:   make(chan struct{}), released: make(chan struct{})}
	defer func() {
		if err != nil {
			g, err = nil, g.cleanUp(ctx, err)
		}
	}()
	if err := g.connect(ctx, s, spec); err != nil {
		return g, err
	}
	d, err := g.describe(ctx)
	if err != nil {
		return g, fmt.Errorf("it did not describe itself: %w", err)
	}
	if err := g.configure(ctx, d, spec, s.workdir, g.cached.Cacheable()); err != nil {
		return g, err
	}
	if len(d.ConfigSchema) > 0 { // its tools may depend on its configuration
		if d, err = g.describe(ctx); err != nil {
			return g, fmt.Errorf("it did not list its tools: %w", err)
		}
	}
	g.described.Store(d)
	if d.Dynamic { // it is stored before any later one
		g.cached.Store(ctx, d)
	} else {
		// callers that wait for the plugin must not also wait for a file write
		s.storing.Go(func() { g.cached.Store(context.WithoutCancel(ctx), d) })
	}
	return g, nil
}

// connect launches the process and connects to it with go-plugin's client. That has no context: the end of ctx kills
// the process, which makes it return. It may panic at a plugin's input. The launcher comes up beside all else.
func (g *generation) connect(ctx context.Context, s *Supervisor, spec Spec) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("go-plugin panicked during the handshake: %v", cause)
		}
	}()
	r := &runner{ctx: ctx, spec: spec, supervisor: s, generation: g, log: s.log.With("plugin", spec.Name),
		prepared: func(how sandbox.Prepared) { g.confinement, g.sandboxHint = &how.Confinement, how.Hint }}
	defer func() {
		if r.stdio != nil { // it was not launched
			r.stdio.close()
		}
	}()
	if !spec.Attach {
		if r.stdio, err = openStdio(spec, spec.Sandbox.HasNamespaces(s.capabilities())); err != nil {
			return err
		}
		g.cached = s.cache.Entry(ctx, s.cacheKey(spec, g.program))
	}
	config := &goplugin.ClientConfig{
		HandshakeConfig:  client.Handshake,
		VersionedPlugins: map[int]goplugin.PluginSet{1: client.PluginSet()},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		RunnerFunc:       r.make,
		SkipHostEnv:      true,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: s.runDir.path},
		StartTimeout:     spec.StartTimeout + time.Second, // our timeout comes first
		SyncStdout:       newOutputLog(r.log, "stdout", nil, spec.References),
		SyncStderr:       newOutputLog(r.log, "stderr", nil, spec.References),
		// go-plugin does not parse the plugin's output; logs.go does.
		Logger:              hclog.NewNullLogger(),
		PluginLogBufferSize: 1,
	}
	g.goPlugin = goplugin.NewClient(config)
	_, err = g.goPlugin.Start()
	if g.socketDir = r.socketDir; err != nil {
		return err
	}
	// The peer is the process that we started. Behind a wrapper it may be another one of this user; the socket is in a
	// private folder.
	pid := g.child.pid
	if g.confinement.Wrapper != "" {
		pid = 0
	}
	dial := g.child.dialer(r.at)
	config.GRPCDialOptions = append(wire.DialOptions(pid), wire.WithToken(r.token), // read by Client, below
		grpc.WithContextDialer(dial), grpc.WithStreamInterceptor(refuseBroker))
	defer context.AfterFunc(ctx, func() { g.child.kill("") })()
	protocol, err := g.goPlugin.Client()
	if err != nil {
		return fmt.Errorf("%w: %w", errConnecting, err)
	}
	raw, err := protocol.Dispense("plugin")
	if err != nil {
		return err
	}
	g.client, g.conn = raw.(*client.Client), protocol.(*goplugin.GRPCClient).Conn
	g.client.EndCallsWith(g.calls.life)
	g.client.UseSessions(func(ctx context.Context) (net.Conn, error) {
		conn, err := dial(ctx, "")
		if err != nil {
			return nil, err
		}
		if _, _, err = wire.PeerCredentials(pid).ClientHandshake(ctx, "", conn); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return conn, nil
	}, r.token)
	return nil
}

// dialer connects to the plugin's socket. The connections end with the process, even if another process holds the
// socket: go-plugin waits without limit for one that is open and silent.
func (c *child) dialer(at address) func(context.Context, string) (net.Conn, error) {
	open := &connections{}
	go func() { <-c.exited; open.close() }()
	return func(ctx context.Context, _ string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, at.network, at.name)
		if err == nil {
			open.add(conn)
		}
		return conn, err
	}
}

// connections are those to one process, which end with it. They are not wrapped to find out when one is closed before:
// whoever asks for the peer of a socket, or writes to it without waiting, needs the connection itself.
type connections struct {
	mu     sync.Mutex
	open   []net.Conn // some may be closed
	closed bool
}

// add closes a connection of a process that has ended. It forgets those that have been closed.
func (c *connections) add(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(slices.DeleteFunc(c.open, isClosedConnection), conn)
	if c.closed {
		_ = conn.Close()
	}
}

func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, conn := range c.open {
		_ = conn.Close()
	}
	c.open = nil
}

func isClosedConnection(conn net.Conn) bool {
	s, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	return err != nil || raw.Control(func(uintptr) {}) != nil
}

// refuseBroker refuses go-plugin's broker, which is not used and keeps everything that a plugin sends to it.
func refuseBroker(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer,
	o ...grpc.CallOption) (grpc.ClientStream, error) {
	if strings.HasPrefix(method, "/plugin.GRPCBroker/") {
		return nil, status.Error(codes.Unimplemented, "the broker is not used")
	}
	return next(ctx, d, cc, method, o...)
}

// describe asks the plugin for its description. Notices may quote its configuration: values by reference are hidden.
func (g *generation) describe(ctx context.Context) (*sdk.Description, error) {
	d, err := g.client.Describe(ctx)
	if err != nil {
		return nil, err
	}
	hide := g.references.Hider()
	for i := range d.Notices {
		d.Notices[i].Text = hide(d.Notices[i].Text)
	}
	d.Missing = hide(d.Missing)
	noticed := len(d.Notices) > 0
	// Probable mistakes of its author that would go unnoticed:
	file, ours := strings.CutPrefix(fsutil.ProgramName(g.program), toolname.ProgramPrefix)
	if ours && d.Name != "" && d.Name != file && !g.renamed {
		d.Notices = append(d.Notices, sdk.Notice{Kind: sdk.Remark, Text: fmt.Sprintf("its name is %q (sdk.New), but its "+
			"program is %s%s: users look for its tools under that name", d.Name, toolname.ProgramPrefix, file)})
	}
	if len(d.Tools) == 0 && !d.Dynamic && !noticed {
		d.Notices = append(d.Notices,
			sdk.Notice{Kind: sdk.Remark, Text: "it has no tools; add some before sdk.Serve (sdk.AddTool)"})
	}
	return d, nil
}

// configure validates the plugin's configuration against the schema that it publishes, and sends it.
func (g *generation) configure(ctx context.Context, d *sdk.Description, spec Spec, workdir string,
	known *sdk.Description) error {
	if len(d.ConfigSchema) == 0 {
		if spec.Config != nil && string(bytes.TrimSpace(spec.Config)) != "{}" {
			return &invalidError{fmt.Errorf("it takes no configuration, but %s has a config block for it; remove that",
				cmp.Or(spec.Source, "its spec"))}
		}
		return nil
	}
	config := spec.Config
	if config == nil {
		config = json.RawMessage("{}")
	}
	compiled, err := schema.Compile(d.ConfigSchema)
	if err != nil {
		return &invalidError{fmt.Errorf("the schema of its configuration is invalid: %w", err)}
	}
	if wrong := compiled.ValidateShowing(config, spec.References.Config); wrong != nil {
		return &invalidError{&configError{reason: "its configuration is wrong: ", invalid: wrong}}
	}
	err = g.client.Configure(ctx, config, workdir, known)
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*sdk.Error](err)
	if ok && ctx.Err() == nil && !e.Retryable && e.Code != sdk.CodeTimeout && e.Code != sdk.CodeCanceled {
		return &invalidError{&configError{reason: "it refused its configuration: ", refusal: e}}
	}
	return fmt.Errorf("configuring it: %w", err)
}

// watchInterval is the least time between two descriptions of a plugin that reports changes without end.
const watchInterval = 200 * time.Millisecond

// watch asks a dynamic plugin for its description whenever it reports a change.
func (g *generation) watch(store func(int, *sdk.Description)) {
	ctx, stop := context.WithCancel(context.Background())
	g.stopWatch = stop
	if !g.description().Dynamic {
		return
	}
	// The first report only means that the watch has begun; asking then closes the gap since the description.
	go func() {
		_ = g.client.Watch(ctx, func() {
			asking, cancel := context.WithTimeout(ctx, answerTime)
			if d, err := g.describe(asking); err == nil {
				g.described.Store(d)
				store(g.number, d)
				if d.Cacheable {
					g.cached.Store(asking, d)
				}
			}
			cancel()
			within(watchInterval, ctx.Done())
		})
	}()
}

// cleanUp ends a start that failed with err, and returns the error for the user.
func (g *generation) cleanUp(ctx context.Context, err error) error {
	switch noHandshake := errors.Is(err, errNoHandshake); {
	case ctx.Err() == nil && noHandshake: // only the end of the process ends the reading early
		err = errEnded
	case noHandshake:
		err = fmt.Errorf("%w: %w", context.Cause(ctx), errNoHandshake)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	if g.child == nil {
		g.release()
		return err
	}
	_, broken := errors.AsType[*client.BrokenError](err)
	early := broken || errors.Is(err, errEnded) || errors.Is(err, errConnecting)
	if ctx.Err() == nil && !g.child.attached && early && g.hasEnded() {
		err = g.earlyExit(err)
	}
	g.child.kill("")
	g.child.allowRelease()
	if within(killTime, g.done()) {
		g.release()
	}
	if _, answered := errors.AsType[*configError](err); !answered { // the answer says why; stderr may be the stack of a panic
		err = g.child.withStderr(err)
	}
	return &failedStart{g.withSandboxHint(err), g.child.tail.last(statusLines)}
}

// A failedStart is why a start failed, with the last lines that the process printed.
type failedStart struct {
	error
	stderr []string
}

func (e *failedStart) Unwrap() error { return e.error }

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
	at        address
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
	r.at = addressIn(r.handshake)
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
	p := sandbox.Program{Path: r.generation.program, Env: environment(r.spec, temp, state, r.env), Temp: temp,
		Socket: r.socketDir, State: state}
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

// maxHandshake is the limit, in bytes, of the handshake line.
const maxHandshake = 4 << 10

var (
	errEnded       = errors.New("ended before the handshake")
	errNoHandshake = errors.New("no handshake; is it a toolhost plugin, and does main call sdk.Serve before all slow " +
		"work?")
	errConnecting = errors.New("connecting to it") // after a good handshake
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
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "", errNoHandshake
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
			return fmt.Errorf("it listens at %.120q, which is no port of 127.0.0.1", at.name)
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
		return fmt.Errorf("the socket of its handshake does not exist: %w", err)
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("%.120q in its handshake is not a socket", socket)
	}
	return nil
}

func notAHandshake(line string) error {
	return fmt.Errorf("it printed %.80q in place of the handshake: it is no toolhost plugin, or prints on standard "+
		"output before sdk.Serve; print on standard error", line)
}
