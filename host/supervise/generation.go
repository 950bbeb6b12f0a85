package supervise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"

	"github.com/toolhost/toolhost/host/internal/schema"
	"github.com/toolhost/toolhost/sdk"
)

// A generation is one start of a plugin: a process, the connection to it, and what it said of itself. It never comes
// back; the next start is another generation with a higher number.
type generation struct {
	number int
	child  *child
	client *sdk.Client
	wire   *goplugin.Client

	said       atomic.Pointer[sdk.Description]
	stopWatch  context.CancelFunc
	suspecting sync.Mutex
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
	if err := Verify(spec); err != nil {
		return nil, err
	}
	g := &generation{number: number}
	if err := g.bringUp(ctx, s, spec); err != nil {
		return nil, g.abandon(ctx, err)
	}
	return g, nil
}

func (g *generation) bringUp(ctx context.Context, s *Supervisor, spec Spec) error {
	if err := g.connect(ctx, s, spec); err != nil {
		return err
	}
	d, err := g.client.Describe(ctx)
	if err != nil {
		return fmt.Errorf("asking what it is: %w", err)
	}
	if err := g.configure(ctx, d, spec, s.workdir); err != nil {
		return err
	}
	if len(d.ConfigSchema) > 0 { // what it has may depend on its configuration
		if d, err = g.client.Describe(ctx); err != nil {
			return fmt.Errorf("asking for its tools: %w", err)
		}
	}
	g.said.Store(d)
	return nil
}

// connect runs go-plugin's client over our own process. It has no context of its own, so the end of ctx kills the
// process, which makes it return; and it may panic at what a plugin says.
func (g *generation) connect(ctx context.Context, s *Supervisor, spec Spec) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the handshake made go-plugin panic: %v", cause)
		}
	}()
	r := &runner{ctx: ctx, spec: spec, supervisor: s, log: s.log.With("plugin", spec.Name), adopt: func(c *child) { g.child = c }}
	config := s.clientConfig(r, spec)
	g.wire = goplugin.NewClient(config)
	if _, err := g.wire.Start(); err != nil {
		return err
	}
	config.GRPCDialOptions = dialOptions(g.child, r.socket) // read by Client, below
	defer context.AfterFunc(ctx, g.child.kill)()
	protocol, err := g.wire.Client()
	if err != nil {
		return fmt.Errorf("connecting to it: %w", err)
	}
	raw, err := protocol.Dispense("plugin")
	if err != nil {
		return err
	}
	g.client = raw.(*sdk.Client)
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
		SyncStdout:       newPump(r.log, "stdout", nil),
		SyncStderr:       newPump(r.log, "stderr", nil),
		Logger:           hclog.NewNullLogger(), // it never parses what a plugin prints; logs.go does
	}
}

// configure checks the plugin's configuration against the schema it publishes, and hands it over.
func (g *generation) configure(ctx context.Context, d *sdk.Description, spec Spec, workdir string) error {
	if len(d.ConfigSchema) == 0 {
		if spec.Config != nil && string(bytes.TrimSpace(spec.Config)) != "{}" {
			return &invalidError{fmt.Errorf("it takes no configuration, but %s has a config block for it", orDefault(spec.Source, "its spec"))}
		}
		return nil
	}
	config := spec.Config
	if config == nil {
		config = json.RawMessage("{}")
	}
	if err := checkConfig(d.ConfigSchema, config); err != nil {
		return &invalidError{err}
	}
	if err := g.client.Configure(ctx, config, workdir); err != nil {
		return refused(ctx, err)
	}
	return nil
}

func checkConfig(against, config json.RawMessage) error {
	s, err := schema.Compile(against)
	if err != nil {
		return fmt.Errorf("the schema of its configuration is broken: %w", err)
	}
	if invalid := s.Validate(config); invalid != nil {
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
	if ctx.Err() == nil && (broken || errors.Is(err, errEnded)) && g.diedWithin(settle) {
		err = fmt.Errorf("%w: %w", err, g.child.exit())
	}
	g.child.kill()
	<-g.child.exited
	g.release()
	return g.child.withLastLines(err)
}

func (g *generation) description() *sdk.Description { return g.said.Load() }
func (g *generation) done() <-chan struct{}         { return g.child.exited }
func (g *generation) pid() int                      { return g.child.pid }

// end says in words how the process ended; it has.
func (g *generation) end() string { return g.child.withLastLines(g.child.exit()).Error() }

// diedWithin waits for the process's end, but not longer than d.
func (g *generation) diedWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-g.done():
		return true
	case <-t.C:
		return false
	}
}

// stop ends the process: lifeline, SIGTERM, SIGKILL. It says whether the process has ended within five seconds; one that
// has not is stuck in the kernel.
func (g *generation) stop() bool {
	g.child.closeLifeline()
	if g.diedWithin(2 * time.Second) {
		return true
	}
	g.child.terminate()
	if g.diedWithin(time.Second) {
		return true
	}
	g.child.kill()
	return g.diedWithin(2 * time.Second)
}

// release frees what go-plugin holds for a process that has ended. Its Kill returns soon then; it is never called
// before, because it waits without limit for a plugin that does not answer.
func (g *generation) release() {
	if g.stopWatch != nil {
		g.stopWatch()
	}
	if g.wire != nil {
		g.wire.Kill()
	}
}
