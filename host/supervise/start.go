package supervise

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/host/supervise/internal/toolcache"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/nesting"
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

	described         atomic.Pointer[sdk.Description]
	cacheEntry        toolcache.Entry
	storedDescription atomic.Pointer[sdk.Description] // what cacheEntry holds now, or nil
	calls             *inFlightCalls
	health            healthCheck
	abandoned         abandonedCalls
	replaced          chan struct{} // closed when a standby has taken over from it
	released          chan struct{} // closed, once, when its resources are about to be released
	releasing         sync.Once
	stopWatch         context.CancelFunc
}

func (g *generation) description() *sdk.Description { return g.described.Load() }
func (g *generation) done() <-chan struct{}         { return g.child.treeEnded }

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
	path, err := s.verifiedProgram(spec, nil)
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
	if err := g.configure(ctx, d, spec, s.options.Workdir, g.cacheEntry.Cacheable()); err != nil {
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
		s.storing.Go(func() { g.cacheEntry.Store(context.WithoutCancel(ctx), d) })
	}
	return g, nil
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
	case g.awaitTreeEnd():
		err = g.earlyExit(err)
	case errors.Is(err, errEnded) && !isClosed(g.child.programEnded):
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
