package supervise

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/host/supervise/internal/stage"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk"
)

// A generation is one start of a plugin: a process, the connection to it, and what it said of itself. It never comes
// back; the next start is another generation with a higher number.
type generation struct {
	number  int
	program string // the file that is run
	hidden  References
	child   *child
	client  *sdk.Client
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
		staged: func(how stage.Stage) { g.confinement, g.hint = &how.Confinement, how.Hint }, adopt: func(c *child) { g.child = c }}
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
	g.client, g.conn = raw.(*sdk.Client), protocol.(*goplugin.GRPCClient).Conn
	return nil
}

func (s *Supervisor) clientConfig(r *runner, spec Spec) *goplugin.ClientConfig {
	return &goplugin.ClientConfig{
		HandshakeConfig:  sdk.Handshake,
		VersionedPlugins: map[int]goplugin.PluginSet{1: sdk.PluginSet()},
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
	_, broken := errors.AsType[*sdk.BrokenError](err)
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
