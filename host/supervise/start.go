package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/host/supervise/internal/toolcache"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/nesting"
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
	kept      atomic.Pointer[sdk.Description] // in cached; nil when nothing is
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
		ended <- startResult{g: g, err: spec.References.hideError(err)}
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
	select {
	case r := <-ended:
		return r.g, r.err
	case <-time.After(stopTime):
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
	path, err := s.verified(spec, nil)
	if err != nil {
		return nil, err
	}
	if s.options.Offline {
		return nil, &invalidError{errors.New("offline: plugins are not started, and the cache does not have its tools")}
	}
	if err := nesting.Check(s.options.Config, spec.title()); err != nil {
		return nil, &invalidError{err}
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
	if err := g.configure(ctx, d, spec, s.options.Workdir, g.cached.Cacheable()); err != nil {
		return g, err
	}
	if len(d.ConfigSchema) > 0 { // its tools may depend on its configuration
		if d, err = g.describe(ctx); err != nil {
			return g, fmt.Errorf("it did not list its tools: %w", err)
		}
	}
	g.described.Store(d)
	if d.Dynamic { // it is stored before any later one
		g.keep(ctx, d)
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
	dial := g.child.dialer(addressIn(r.handshake))
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
	if d.Missing = hide(d.Missing); d.Missing != "" && !slices.ContainsFunc(d.Notices, toolcache.IsProblem) {
		d.Notices = append(d.Notices, sdk.Notice{Kind: sdk.Problem, Text: d.Missing}) // what lists the tools says why
	}
	noticed := len(d.Notices) > 0
	// Probable mistakes of its author that would go unnoticed:
	file, ours := strings.CutPrefix(fsutil.ProgramName(g.program), toolname.ProgramPrefix)
	if ours && d.Name != "" && d.Name != file && !g.renamed {
		d.Notices = append(d.Notices, sdk.Notice{Kind: sdk.Remark, Text: fmt.Sprintf("it calls itself %q, but its "+
			"program is %s%s: users look for its tools under that name", d.Name, toolname.ProgramPrefix, file)})
	}
	if len(d.Tools) == 0 && !d.Dynamic && !noticed {
		d.Notices = append(d.Notices, sdk.Notice{Kind: sdk.Remark, Text: "it has no tools; add some before it serves"})
	}
	return d, nil
}

// configure validates the plugin's configuration against the schema that it publishes, and sends it.
func (g *generation) configure(ctx context.Context, d *sdk.Description, spec Spec, workdir string,
	known *sdk.Description) error {
	config, err := schema.CheckConfig(d.ConfigSchema, spec.Config, spec.References.Config)
	wrong, isWrong := errors.AsType[*schema.Invalid](err)
	switch {
	case errors.Is(err, schema.ErrNoConfig):
		return &invalidError{fmt.Errorf("%w, but %s has a config block for it; remove that", err,
			cmp.Or(spec.Source, "its spec"))}
	case isWrong:
		return &invalidError{&configError{reason: "its configuration is wrong: ", invalid: wrong}}
	case err != nil:
		return &invalidError{err}
	case config == nil:
		return nil
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

// maxWatchPause is the longest pause between two watches of a plugin that ends them, or does not describe itself.
const maxWatchPause = time.Minute

// watch asks a dynamic plugin for its description whenever it reports a change. No change is missed where the plugin
// ends the watch, or does not describe itself: both begin again.
func (g *generation) watch(p *Process) {
	ctx, stop := context.WithCancel(context.Background())
	g.stopWatch = stop
	if !g.description().Dynamic {
		return
	}
	// The first report only means that the watch has begun; asking then closes the gap since the description.
	go func() {
		level := slog.LevelWarn // once
		for pause := answerTime; ; pause = min(2*pause, maxWatchPause) {
			watching, again := context.WithCancel(ctx)
			var unanswered error
			err := g.client.Watch(watching, func() {
				asking, cancel := context.WithTimeout(watching, answerTime)
				defer cancel()
				d, err := g.describe(asking)
				if err != nil {
					unanswered = err
					again()
					return
				}
				pause = answerTime
				g.described.Store(d)
				p.storeDescription(g.number, d)
				g.keepTools(asking, d)
				within(watchInterval, ctx.Done())
			})
			again()
			if within(pause, g.done()) || ctx.Err() != nil {
				return
			}
			p.log.Log(ctx, level, "changes of the plugin's tools could not be followed", "error",
				g.references.hideError(cmp.Or(unanswered, err)))
			if level = slog.LevelDebug; status.Code(err) == codes.Unimplemented {
				return
			}
		}
	}()
}

func (g *generation) keep(ctx context.Context, d *sdk.Description) {
	g.cached.Store(ctx, d)
	g.kept.Store(d)
}

// keepTools is keep for a later description, if listings show that or the one before it without a start, or tools are
// missing in it.
func (g *generation) keepTools(ctx context.Context, d *sdk.Description) {
	kept := g.kept.Load()
	if d.Cacheable || d.Missing != "" || kept != nil && kept.Cacheable {
		g.keep(ctx, d)
	}
}

// lastAnswerTime is how long a plugin that is to end may take to describe itself once more.
const lastAnswerTime = 500 * time.Millisecond

// keepLast keeps what changed a moment before the end, such as in the only call of a host: the watch may not know it.
func (g *generation) keepLast() {
	if kept := g.kept.Load(); kept == nil || !kept.Cacheable && kept.Missing == "" || isClosed(g.child.died) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastAnswerTime)
	defer cancel()
	if d, err := g.describe(ctx); err == nil && !reflect.DeepEqual(d, g.kept.Load()) {
		g.keepTools(ctx, d)
	}
}

// cleanUp ends a start that failed with err, and returns the error for the user.
func (g *generation) cleanUp(ctx context.Context, err error) error {
	switch noHandshake := errors.Is(err, errNoHandshake); {
	case ctx.Err() == nil && noHandshake: // only the end of the process ends the reading early
		err = errEnded
	case ctx.Err() != nil && (noHandshake || g.client != nil): // with what the time was spent on
		err = fmt.Errorf("%w: %s", context.Cause(ctx), err.Error())
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	if g.child == nil {
		g.release()
		return err
	}
	_, broken := errors.AsType[*client.BrokenError](err)
	early := broken || errors.Is(err, errEnded) || errors.Is(err, errConnecting)
	switch {
	case ctx.Err() != nil || g.child.attached || !early:
	case g.hasEnded():
		err = g.earlyExit(err)
	case errors.Is(err, errEnded) && !isClosed(g.child.died):
		err = errClosed
	}
	g.child.kill("")
	g.child.allowRelease()
	if within(killTime, g.done()) {
		g.release()
	}
	if _, answered := errors.AsType[*configError](err); !answered { // it says why; stderr may be the stack of a panic
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
