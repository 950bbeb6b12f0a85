package supervise

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/host/supervise/internal/toolcache"
	"github.com/toolhost/toolhost/sdk"
)

// A Process is one plugin under supervision: the same value through every crash, restart and reload. It is safe for
// concurrent use, and implements host.Plugin.
type Process struct {
	name      string
	spec      atomic.Pointer[Spec] // complete; replaced by a reload
	workdir   string               // for specs without Dir
	log       *slog.Logger
	onState   func(Status)                                 // or nil
	recall    func(context.Context, Spec) *sdk.Description // looks up the tool cache; may be nil and may return nil
	overdue   overdueLimits
	stopCheck time.Duration // see stopCheckInterval

	// Events of the state machine.
	acquires  chan acquireRequest
	reloads   chan reload
	resets    chan chan<- struct{}
	stuck     chan *generation
	removed   chan struct{} // closed: no new calls, and the process ends after the running calls
	closing   chan struct{} // closed by Close
	done      chan struct{} // closed when the state machine has ended
	leaveOnce sync.Once
	closeOnce sync.Once

	reloading   chan struct{} // holds a token during a reload
	identifying slot          // one file operation each, see runDetached
	recalling   slot
	cache       *toolcache.Cache // or nil
	verifying   slot

	calls       atomic.Int64 // that run now
	cacheHits   atomic.Int64 // lists of tools that the cache had
	cacheMisses atomic.Int64
	status      atomic.Pointer[storedStatus]
	description atomic.Pointer[sdk.Description]

	mu          sync.Mutex
	described   chan struct{}     // closed and replaced when description changes
	describedBy int               // the generation that description is from
	describedAs *Spec             // what the description is of
	recalled    binaries.Identity // the program of a description from the tool cache
	watchers    map[*func()]struct{}
}

func newProcess(spec Spec, log *slog.Logger, start startFunc, onState func(Status)) *Process {
	p := &Process{
		name: spec.Name, log: log, onState: onState,
		overdue: overdueLimits{overdueInterval, overdueSettle, overdueAfter, maxOverdue}, stopCheck: stopCheckInterval,
		acquires: make(chan acquireRequest), reloads: make(chan reload), resets: make(chan chan<- struct{}),
		stuck: make(chan *generation), removed: make(chan struct{}), closing: make(chan struct{}), done: make(chan struct{}),
		reloading: make(chan struct{}, 1), identifying: make(slot, 1), recalling: make(slot, 1), verifying: make(slot, 1),
		watchers: map[*func()]struct{}{}, described: make(chan struct{}),
	}
	p.spec.Store(&spec)
	m := &stateMachine{p: p, start: start, crashes: crashHistory{limits: spec.Restart}, drained: make(chan *generation)}
	m.setState(Known, "the first call starts it")
	m.scheduleEager() // errors are logged, and returned by the first call
	m.storeStatus()
	go m.run()
	return p
}

// Name is the plugin's label.
func (p *Process) Name() string { return p.name }

// Tools returns the plugin's tools. The first time it starts the plugin, unless the tool cache has them; later it
// returns the last reported ones, also while the plugin is down.
func (p *Process) Tools(ctx context.Context) ([]sdk.Tool, error) {
	if d := p.known(ctx); d != nil && !isClosed(p.closing) {
		return slices.Clone(d.Tools), nil
	}
	g, err := p.acquire(ctx)
	if err != nil {
		return nil, err
	}
	return slices.Clone(g.description().Tools), nil
}

// Watch calls changed after each change of the list of tools, until ctx ends. It does not start the plugin.
func (p *Process) Watch(ctx context.Context, changed func()) error {
	p.mu.Lock()
	p.watchers[&changed] = struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.watchers, &changed)
		p.mu.Unlock()
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-p.done:
		return p.closedError()
	}
}

// Reset resets the plugin's crashes: one in backoff, quarantined or invalid is started by the next call, an eager one
// at once. It does not affect a running process.
func (p *Process) Reset() {
	done := make(chan struct{})
	select {
	case p.resets <- done:
		<-done
	case <-p.done:
	}
}

// Close ends the plugin's calls with CodeCanceled, then the process: by closing its standard input, by SIGTERM, by
// SIGKILL, within five seconds in all. Closing again waits for the same end.
func (p *Process) Close() error {
	p.closeOnce.Do(func() { close(p.closing) })
	<-p.done
	return nil
}

func (p *Process) closedError() *sdk.Error {
	return &sdk.Error{Code: sdk.CodePluginUnavailable, Name: "Closed",
		Message: fmt.Sprintf("plugin %q has been closed", p.name)}
}

// endedError is the error of a caller whose context has ended, or the plugin.
func (p *Process) endedError(ctx context.Context) *sdk.Error {
	if ctx.Err() != nil {
		return sdk.EndedError(ctx)
	}
	return p.closedError()
}

// deliver sends a value, and reports false when ctx or the plugin ends before.
func deliver[T any](ctx context.Context, p *Process, to chan<- T, value T) bool {
	select {
	case to <- value:
		return true
	case <-ctx.Done():
	case <-p.done:
	}
	return false
}

// running returns the generation that accepts calls, if there is one, without asking the state machine: that costs two
// changes of goroutine and a new status for each call. It may have been replaced a moment ago, and then accepts none.
func (p *Process) running() *generation {
	g := p.status.Load().running
	if g == nil || isClosed(g.done()) {
		return nil
	}
	return g
}

// acquire returns a generation that accepts calls, and starts one if necessary.
func (p *Process) acquire(ctx context.Context) (*generation, error) {
	var program binaries.Identity
	switch p.status.Load().State {
	case Crashed, Backoff, Quarantined, Invalid: // a changed program is started as if for the first time
		var ok bool
		if program, ok = p.identifyProgram(ctx, *p.spec.Load()); !ok {
			return nil, p.endedError(ctx)
		}
	}
	reply := make(chan startResult, 1)
	if !deliver(ctx, p, p.acquires, acquireRequest{reply, program}) {
		return nil, p.endedError(ctx)
	}
	select {
	case r := <-reply:
		return r.g, r.err
	case <-ctx.Done():
		return nil, sdk.EndedError(ctx)
	}
}

// known returns the plugin's last description, otherwise the cached one, otherwise nil.
func (p *Process) known(ctx context.Context) *sdk.Description {
	if d := p.description.Load(); d != nil || p.recall == nil {
		return d
	}
	type cached struct {
		program     binaries.Identity
		description *sdk.Description
	}
	spec := p.spec.Load()
	c, _ := runDetached(ctx, p, p.recalling, func() cached { return cached{identify(*spec), p.recall(ctx, *spec)} })
	if c.description != nil {
		p.cacheHits.Add(1)
		p.storeRecalled(spec, c.program, c.description)
	} else {
		p.cacheMisses.Add(1)
	}
	return p.description.Load()
}

// Checked reports whether SetChecked was called with these tools, by this program and with the same cache.
func (p *Process) Checked(tools []sdk.Tool) bool { return p.cache.Checked(tools) }

// SetChecked remembers in the cache that the tools have no flaw. That is written when the supervisor is closed.
func (p *Process) SetChecked(tools []sdk.Tool) { p.cache.SetChecked(tools) }

// storeRecalled keeps a description from the tool cache, unless the plugin has reported one or has another spec by now.
func (p *Process) storeRecalled(of *Spec, program binaries.Identity, d *sdk.Description) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spec.Load() == of && p.description.CompareAndSwap(nil, d) {
		p.recalled, p.describedAs = program, of
	}
}

// storeDescription keeps a generation's description, unless a later one has reported, and calls the watchers if the
// tools changed. Tools that are missing now stay those of before.
func (p *Process) storeDescription(generation int, d *sdk.Description) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if generation < p.describedBy {
		return
	}
	p.describedBy = generation
	defer p.announceDescription()
	spec := p.spec.Load()
	if old := p.description.Load(); old != nil && sameProcess(*p.describedAs, *spec) {
		d = withKnownTools(old, d)
	}
	p.describedAs = spec
	if old := p.description.Swap(d); old != nil && !slices.EqualFunc(old.Tools, d.Tools,
		func(a, b sdk.Tool) bool { return sameDefinition(&a, &b) }) {
		p.callWatchers()
	}
}

// withKnownTools adds the tools of the description before to one in which tools are missing, with the reason as a
// problem.
func withKnownTools(before, now *sdk.Description) *sdk.Description {
	if now.Missing == "" {
		return now
	}
	tools := slices.Clone(now.Tools)
	for _, t := range before.Tools {
		if definition(now, t.Name) == nil {
			tools = append(tools, t)
		}
	}
	if len(tools) == len(now.Tools) {
		return now
	}
	d := toolcache.WithProblem(now, "its tools are those of before: "+now.Missing)
	d.Tools = tools
	return d
}

// forgetDescription discards the description, because the plugin will be another.
func (p *Process) forgetDescription() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recalled = binaries.Identity{}
	defer p.announceDescription()
	if p.description.Swap(nil) != nil {
		p.callWatchers()
	}
}

// announceDescription wakes goroutines that wait for another description. It is called with mu held.
func (p *Process) announceDescription() {
	close(p.described)
	p.described = make(chan struct{})
}

// AwaitTools waits as long as the plugin expects tools that are missing from its list, such as those of a server that
// is still starting. It calls waiting with the reason when it begins to wait, and whenever that changes. The error says
// why tools are missing still; nil, that none are. It starts a plugin that has ended with tools missing.
func (p *Process) AwaitTools(ctx context.Context, waiting func(why string)) error {
	for said := ""; ; {
		p.mu.Lock()
		d, next := p.description.Load(), p.described
		p.mu.Unlock()
		if d == nil || d.Missing == "" {
			return nil
		}
		running := p.status.Load().running
		if running == nil || isClosed(running.done()) {
			if _, err := p.acquire(ctx); err != nil {
				return err
			}
			continue
		}
		if !d.Pending {
			return p.missingTools(d.Missing)
		}
		if d.Missing != said {
			said = d.Missing
			waiting(said)
		}
		select {
		case <-next:
		case <-running.done():
			return p.missingTools("it ended while its tools were awaited")
		case <-p.done:
			return p.closedError()
		case <-ctx.Done():
			return p.missingTools(d.Missing)
		}
	}
}

func (p *Process) missingTools(why string) *sdk.Error {
	return &sdk.Error{Code: sdk.CodePluginUnavailable, Name: "ToolsMissing", Retryable: true,
		Message:    fmt.Sprintf("plugin %q does not have this tool now: %s; nothing was run", p.name, why),
		Suggestion: "Make the call again later. The operator finds the cause with: toolhost status"}
}

func (p *Process) callWatchers() {
	for changed := range p.watchers {
		go (*changed)()
	}
}

// describedProgram is the program that the description is from, if known: the last one that ran, otherwise the one of
// the tool cache.
func (p *Process) describedProgram(ran binaries.Identity) binaries.Identity {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cmp.Or(ran, p.recalled)
}

// identifyProgram calls identify until ctx or the plugin ends; ok is false when one of them has ended.
func (p *Process) identifyProgram(ctx context.Context, spec Spec) (id binaries.Identity, ok bool) {
	return runDetached(ctx, p, p.identifying, func() binaries.Identity { return identify(spec) })
}

// identifyForStart is identifyProgram within the spec's StartTimeout.
func (p *Process) identifyForStart(ctx context.Context, spec Spec) (binaries.Identity, error) {
	ctx, cancel := spec.startContext(ctx)
	defer cancel()
	id, ok := p.identifyProgram(ctx, spec)
	if !ok {
		return id, fmt.Errorf("%w; reading its program file does not return: does its file system hang?", context.Cause(ctx))
	}
	return id, nil
}

var missingProgram = binaries.Identity{Size: -1}

// identify returns the state of a spec's program file, which shows whether the program has changed.
func identify(spec Spec) binaries.Identity {
	if len(spec.Command) == 0 {
		return missingProgram
	}
	path, err := spec.programFile()
	if err != nil {
		return missingProgram
	}
	id, err := binaries.Identify(path)
	if err != nil {
		return missingProgram
	}
	return id
}

// A slot admits one detached operation at a time.
type slot chan struct{}

// runDetached runs a file operation in its own goroutine and returns when ctx or the plugin ends (ok is false then):
// a program may be on a network file system that hangs. The operation continues and keeps the slot until it returns,
// so that retries do not pile up.
func runDetached[T any](ctx context.Context, p *Process, s slot, operation func() T) (result T, ok bool) {
	if !deliver(ctx, p, s, struct{}{}) {
		return result, false
	}
	results := make(chan T, 1)
	go func() {
		defer func() { <-s }()
		results <- operation()
	}()
	select {
	case result = <-results:
		return result, true
	case <-ctx.Done():
		return result, false
	case <-p.done:
		return result, false
	}
}

// within waits for a channel to close, at most for d, and reports whether it closed.
func within(d time.Duration, c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-time.After(d):
		return false
	}
}
