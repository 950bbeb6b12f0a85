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
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// A generation is one start of a plugin: a process, the connection to it, and what it said of itself. It never comes
// back; the next start is another generation with a higher number.
type generation struct {
	number  int
	program string // the file that is run
	hidden  References
	child   *child
	client  *client.Client
	conn    *grpc.ClientConn // under client, for what is go-plugin's
	wire    *goplugin.Client
	sockets string // the folder of the plugin's socket, once it was made

	confinement *sandbox.Confinement // nil before it was launched
	hint        string               // see stage

	said      atomic.Pointer[sdk.Description]
	visits    visits
	doubt     doubt
	left      left
	stopWatch context.CancelFunc
}

// startTurn is how long a start counts among those that run side by side: one that takes longer waits for something, and
// keeps nobody else from the machine.
const startTurn = time.Second

// start brings up one generation: launch, handshake, dial, describe, configure. It is the supervisor's starter.
func (s *Supervisor) start(ctx context.Context, spec Spec, number int) (*generation, error) {
	select {
	case s.starts <- struct{}{}:
		done := sync.OnceFunc(func() { <-s.starts })
		defer done()
		defer time.AfterFunc(startTurn, done).Stop()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, spec.StartTimeout, fmt.Errorf("it was not ready within %s", spec.StartTimeout))
	defer cancel()
	ended := make(chan answer, 1)
	go func() {
		g, err := s.raise(ctx, spec, number)
		ended <- answer{g, spec.References.hideError(err)}
	}()
	return inTime(ctx, ended)
}

// inTime waits for a start's end, and not for one that hangs in the kernel, on a file or a process, after its time.
func inTime(ctx context.Context, ended <-chan answer) (*generation, error) {
	select {
	case a := <-ended:
		return a.g, a.err
	case <-ctx.Done():
	}
	t := time.NewTimer(stopTime)
	defer t.Stop()
	select {
	case a := <-ended:
		return a.g, a.err
	case <-t.C:
		go func() { discard(<-ended) }()
		return nil, fmt.Errorf("%w; what was begun hangs in the system", context.Cause(ctx))
	}
}

// raise is start without the wait for a turn.
func (s *Supervisor) raise(ctx context.Context, spec Spec, number int) (*generation, error) {
	path, err := s.verified(spec)
	if err != nil {
		return nil, err
	}
	if s.offline {
		return nil, &invalidError{errors.New("nothing is started offline, and what it offers is not known from an earlier start")}
	}
	kept := s.cache.Slot(ctx, s.describing(spec, path))
	g := &generation{number: number, program: path, hidden: spec.References}
	if err := g.bringUp(ctx, s, spec); err != nil {
		return nil, g.abandon(ctx, err)
	}
	kept.Keep(ctx, g.description())
	return g, nil
}

func (g *generation) bringUp(ctx context.Context, s *Supervisor, spec Spec) error {
	if err := g.connect(ctx, s, spec); err != nil {
		return err
	}
	d, err := g.describe(ctx)
	if err != nil {
		return fmt.Errorf("asking what it is: %w", err)
	}
	if err := g.configure(ctx, d, spec, s.workdir); err != nil {
		return err
	}
	if len(d.ConfigSchema) > 0 { // what it has may depend on its configuration
		if d, err = g.describe(ctx); err != nil {
			return fmt.Errorf("asking for its tools: %w", err)
		}
	}
	g.said.Store(d)
	return nil
}

// describe asks the plugin what it is. Its notices, which may quote its configuration, do not tell values by reference.
func (g *generation) describe(ctx context.Context) (*sdk.Description, error) {
	d, err := g.client.Describe(ctx)
	if err != nil {
		return nil, err
	}
	hide := g.hidden.Hider()
	for i, notice := range d.Notices {
		d.Notices[i] = hide(notice)
	}
	d.Notices = append(d.Notices, mistakesOf(d, g.program)...)
	return d, nil
}

// mistakesOf are what its author probably got wrong, and would not notice.
func mistakesOf(d *sdk.Description, program string) (out []string) {
	file, ours := strings.CutPrefix(strings.TrimSuffix(filepath.Base(program), ".exe"), "toolhost-plugin-")
	if ours && d.Name != "" && d.Name != file {
		out = append(out, fmt.Sprintf("it calls itself %q (sdk.New), but its program is toolhost-plugin-%s; people look for its tools under that name", d.Name, file))
	}
	if len(d.Tools) == 0 && !d.Dynamic && len(d.Notices) == 0 {
		out = append(out, "it has no tools; add some before sdk.Serve (sdk.AddTool)")
	}
	return out
}

// connect runs go-plugin's client over our own process. It has no context of its own, so the end of ctx kills the
// process, which makes it return; and it may panic at what a plugin says.
func (g *generation) connect(ctx context.Context, s *Supervisor, spec Spec) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the handshake made go-plugin panic: %v", cause)
		}
	}()
	r := &runner{ctx: ctx, spec: spec, program: g.program, supervisor: s, log: s.log.With("plugin", spec.Name),
		staged: func(how sandbox.Stage) { g.confinement, g.hint = &how.Confinement, how.Hint }, adopt: func(c *child) { g.child = c }}
	config := s.clientConfig(r, spec)
	g.wire = goplugin.NewClient(config)
	_, err = g.wire.Start()
	if g.sockets = r.socketDir; err != nil {
		return err
	}
	config.GRPCDialOptions = dialOptions(g.child, r, g.confinement.Wrapper == "") // read by Client, below
	defer context.AfterFunc(ctx, g.child.kill)()
	protocol, err := g.wire.Client()
	if err != nil {
		return fmt.Errorf("%w: %w", errConnecting, err)
	}
	raw, err := protocol.Dispense("plugin")
	if err != nil {
		return err
	}
	g.client, g.conn = raw.(*client.Client), protocol.(*goplugin.GRPCClient).Conn
	return nil
}

func (s *Supervisor) clientConfig(r *runner, spec Spec) *goplugin.ClientConfig {
	return &goplugin.ClientConfig{
		HandshakeConfig:  wire.Handshake,
		VersionedPlugins: map[int]goplugin.PluginSet{1: client.PluginSet()},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		RunnerFunc:       r.make,
		SkipHostEnv:      true,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: s.dir.path},
		StartTimeout:     spec.StartTimeout + time.Second, // ours comes first
		SyncStdout:       newPump(r.log, "stdout", nil).hiding(spec.References),
		SyncStderr:       newPump(r.log, "stderr", nil).hiding(spec.References),
		Logger:           hclog.NewNullLogger(), // it never parses what a plugin prints; logs.go does
	}
}

// errConnecting begins what is said when a plugin said where it listens and could not be reached there.
var errConnecting = errors.New("connecting to it")

// abandon ends a start that failed, and words why.
func (g *generation) abandon(ctx context.Context, err error) error {
	switch silent := errors.Is(err, errSilent); {
	case ctx.Err() == nil && silent: // only the end of the process ends the reading early
		err = errEnded
	case ctx.Err() != nil && !silent:
		err = context.Cause(ctx)
	}
	if g.child == nil {
		g.release()
		return err
	}
	_, broken := errors.AsType[*client.BrokenError](err)
	if ctx.Err() == nil && (broken || errors.Is(err, errEnded) || errors.Is(err, errConnecting)) && g.died() {
		err = g.endedEarly(err)
	}
	g.child.kill()
	if g.diedWithin(killTime) {
		g.release()
	}
	return &failedStart{g.withHint(g.child.withLastLines(err)), g.child.tail.last(statusLines)}
}

// endedEarly says how the process ended that should have become a plugin, and why, as a rule.
func (g *generation) endedEarly(err error) error {
	c := g.child
	exit, why := c.exit(), diagnose(g.program)
	byItself := errors.Is(err, errEnded) && c.reason == "" && c.how.Signal == 0
	switch {
	case why != "":
		return fmt.Errorf("%w: %w; %s", err, exit, why)
	case byItself && c.how.Code == 0:
		return fmt.Errorf("exited with code 0 before the handshake: did main call sdk.Serve?%w", silently{err})
	case byItself && (c.how.Code == 126 || c.how.Code == 127):
		return fmt.Errorf("%w: %w; a program, an interpreter or a shared library that it needs was not found or cannot be run", err, exit)
	}
	return fmt.Errorf("%w: %w", err, exit)
}

// A silently is in an error without a word of its own.
type silently struct{ error }

func (silently) Error() string   { return "" }
func (s silently) Unwrap() error { return s.error }

// A failedStart is why a start failed, with the last that the process printed.
type failedStart struct {
	error
	stderr []string
}

// Unwrap gives the reason alone.
func (e *failedStart) Unwrap() error { return e.error }

func (g *generation) description() *sdk.Description { return g.said.Load() }
func (g *generation) done() <-chan struct{}         { return g.child.exited }
func (g *generation) pid() int                      { return g.child.pid }
func (g *generation) containment() string           { return g.child.containment }

// configure checks the plugin's configuration against the schema it publishes, and hands it over.
func (g *generation) configure(ctx context.Context, d *sdk.Description, spec Spec, workdir string) error {
	if len(d.ConfigSchema) == 0 {
		if spec.Config != nil && string(bytes.TrimSpace(spec.Config)) != "{}" {
			return &invalidError{fmt.Errorf("it takes no configuration, but %s has a config block for it; remove that", cmp.Or(spec.Source, "its spec"))}
		}
		return nil
	}
	config := spec.Config
	if config == nil {
		config = json.RawMessage("{}")
	}
	if err := checkConfig(d.ConfigSchema, config, spec.References.Config); err != nil {
		return &invalidError{err}
	}
	if err := g.client.Configure(ctx, config, workdir); err != nil {
		return refused(ctx, err)
	}
	return nil
}

func checkConfig(against, config json.RawMessage, shown map[string]string) error {
	s, err := schema.Compile(against)
	if err != nil {
		return fmt.Errorf("the schema of its configuration is broken: %w", err)
	}
	if invalid := s.ValidateShowing(config, shown); invalid != nil {
		return fmt.Errorf("its configuration is wrong: %w", invalid)
	}
	return nil
}

// refused tells a plugin that has something against its configuration from one that broke, or may take it later.
func refused(ctx context.Context, err error) error {
	e, ok := errors.AsType[*sdk.Error](err)
	if ok && ctx.Err() == nil && !e.Retryable && e.Code != sdk.CodeTimeout && e.Code != sdk.CodeCanceled {
		return &invalidError{fmt.Errorf("it refused its configuration: %s", e.Message)}
	}
	return fmt.Errorf("configuring it: %w", err)
}

// dialOptions are those of the sdk, with the token that the plugin knows us by, over a connection that ends with the process, and without go-plugin's broker.
// Behind a wrapper the plugin may be another process than the one we started; then it need only be of our user, in the
// private folder.
func dialOptions(c *child, r *runner, same bool) []grpc.DialOption {
	pid := 0
	if same {
		pid = c.pid
	}
	return append(wire.DialOptions(pid), wire.WithToken(r.token), grpc.WithContextDialer(c.dialer(r.socket)), grpc.WithStreamInterceptor(noBroker))
}

// dialer connects to the plugin's socket. The connection ends with the process, whoever else holds the socket:
// go-plugin waits without limit for one that is open and silent.
func (c *child) dialer(socket string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, _ string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", socket)
		if err == nil {
			go func() { <-c.exited; _ = conn.Close() }()
		}
		return conn, err
	}
}

// noBroker refuses go-plugin's broker, which nobody uses and which keeps for ever what a plugin sends to it.
func noBroker(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
	if strings.HasPrefix(method, "/plugin.GRPCBroker/") {
		return nil, status.Error(codes.Unimplemented, "the broker is not used")
	}
	return next(ctx, d, cc, method, o...)
}

// A runner is our process in the form that go-plugin wants (its RunnerFunc). go-plugin gets the handshake line, already
// checked, and nothing else: no pipes, no standard input, no say in how the process ends.
type runner struct {
	ctx        context.Context // ends when the start has taken too long
	spec       Spec
	program    string // the file to run
	supervisor *Supervisor
	log        *slog.Logger
	staged     func(sandbox.Stage)
	adopt      func(*child)

	env       []string
	token     string // what the plugin knows us by
	socketDir string
	child     *child
	line      string // the handshake
	socket    string // that it names
}

func (r *runner) make(_ hclog.Logger, cmd *exec.Cmd, socketDir string) (pluginrunner.Runner, error) {
	r.token = rand.Text()
	r.env, r.socketDir = slices.Concat(cmd.Env, []string{wire.EnvToken + "=" + r.token}), socketDir
	return r, nil
}

// Start launches the process and waits for its handshake.
func (r *runner) Start(context.Context) error {
	c, stdout, err := r.launch()
	if err != nil {
		return err
	}
	r.child = c
	r.adopt(c)
	defer context.AfterFunc(r.ctx, func() { _ = stdout.SetReadDeadline(time.Now()) })()
	in := bufio.NewReaderSize(&lastWords{from: stdout}, maxHandshake)
	if r.line, err = readHandshake(in, r.socketDir); err != nil {
		go c.drain(stdout, in, io.Discard)
		return err
	}
	r.socket = strings.Split(r.line, "|")[3]
	go c.drain(stdout, in, newPump(r.log, "stdout", nil).hiding(r.spec.References))
	return nil
}

// launch starts the process with a folder of its own for temporary files.
func (r *runner) launch() (*child, *os.File, error) {
	temp, err := r.supervisor.temps.temp()
	if err != nil {
		return nil, nil, fmt.Errorf("making a folder for its temporary files: %w", err)
	}
	before := r.supervisor.machine()
	c, stdout, err := r.launchIn(temp)
	refused := err != nil && r.supervisor.machine() != before // it was found out that the machine can do less
	if refused || moved(err) {
		c, stdout, err = r.launchIn(temp)
	}
	if err != nil {
		_ = removal.All(temp, removalTime) // it may have run for a moment
	}
	return c, stdout, err
}

// moved says whether what was to be kept from the plugin has gone, or become a link, since it was looked at.
func moved(err error) bool {
	return !isInvalid(err) && (errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ELOOP))
}

func (r *runner) launchIn(temp string) (*child, *os.File, error) {
	how, err := r.supervisor.stage(r.spec, r.program, sandbox.Folders{Temp: temp, Socket: r.socketDir}, environment(r.spec, temp, r.env), r.supervisor.programs)
	if err != nil {
		return nil, nil, err
	}
	r.staged(how)
	c, stdout, err := r.supervisor.launch(r.ctx, r.spec, how, r.log)
	if err != nil {
		how.Release()
		return nil, nil, err
	}
	r.supervisor.warnOfLess(r.spec.Name, how.Confinement)
	return c, stdout, nil
}

// Stdout gives the handshake line.
func (r *runner) Stdout() io.ReadCloser { return io.NopCloser(strings.NewReader(r.line + "\n")) }

// Stderr gives nothing.
func (r *runner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Wait returns when the process has ended.
func (r *runner) Wait(context.Context) error {
	<-r.child.exited
	return nil
}

// Kill ends the process.
func (r *runner) Kill(context.Context) error {
	if r.child != nil {
		r.child.kill()
	}
	return nil
}

// Name and ID name the plugin.
func (r *runner) Name() string { return r.spec.Name }

// ID is never empty: go-plugin cleans up only what has one.
func (r *runner) ID() string { return r.spec.Name }

// Diagnose has nothing to add.
func (r *runner) Diagnose(context.Context) string { return "" }

// PluginToHost and HostToPlugin: the plugin sees the same files.
func (r *runner) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin is the other way round.
func (r *runner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

var _ pluginrunner.Runner = (*runner)(nil)

// drain reads what is left of a stream until it ends, so that the plugin never waits for a reader.
func (c *child) drain(f *os.File, in io.Reader, to io.Writer) {
	defer c.readers.Done()
	_, _ = io.Copy(to, in)        // ends with the process
	_, _ = to.Write([]byte("\n")) // a last line may lack its end
	_ = f.Close()
}

// maxHandshake bounds the one line that a plugin prints to say where it listens.
const maxHandshake = 4 << 10

var (
	errEnded  = errors.New("it ended before the handshake")
	errSilent = errors.New("no handshake in time; is it a toolhost plugin, and does main call sdk.Serve?")
)

// readHandshake reads the first line that the plugin prints, and checks it, before go-plugin sees it: go-plugin would
// dial any address and crashes at some lines. Reading ends with r's deadline.
func readHandshake(r *bufio.Reader, socketDir string) (string, error) {
	line, err := r.ReadSlice('\n')
	text := strings.TrimRight(string(line), "\r\n")
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", notAPlugin(text)
	case errors.Is(err, io.EOF) && text == "":
		return "", errEnded
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "", errSilent
	case err != nil && text == "":
		return "", err
	}
	return text, checkHandshake(text, socketDir)
}

// checkHandshake checks CORE|APP|network|address|protocol[|certificate], go-plugin's line.
func checkHandshake(line, socketDir string) error {
	f := strings.Split(line, "|")
	if len(f) < 5 || len(f) > 7 || f[0] != "1" {
		return notAPlugin(line)
	}
	switch {
	case f[1] != "1":
		return fmt.Errorf("it speaks version %.20q of the plugin protocol, this host speaks version 1; one of them must be updated", f[1])
	case f[2] != "unix":
		return fmt.Errorf("it listens on %.20q; plugins must listen on a Unix socket in PLUGIN_UNIX_SOCKET_DIR", f[2])
	case f[4] != "grpc":
		return fmt.Errorf("it speaks %.20q; plugins must speak grpc", f[4])
	case len(f) > 5 && f[5] != "":
		return errors.New("it sent a certificate, which nobody asked for")
	}
	return checkSocket(f[3], socketDir)
}

func checkSocket(path, socketDir string) error {
	if filepath.Dir(filepath.Clean(path)) != filepath.Clean(socketDir) {
		return fmt.Errorf("it listens at %.120q, outside its own socket folder", path)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("the socket that it named is not there: %w", err)
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("it named %.120q, which is no socket", path)
	}
	return nil
}

func notAPlugin(line string) error {
	return fmt.Errorf("it printed %.80q in place of the handshake: it is no toolhost plugin, or prints on standard output before sdk.Serve", line)
}
