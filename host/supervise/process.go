package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/host/supervise/internal/programs"
	"github.com/toolhost/toolhost/sdk"
)

// A Process is one plugin under supervision: the same value through every crash and restart of the process itself. It
// is safe for concurrent use, and has the methods of a host.Plugin.
type Process struct {
	name        string
	spec        atomic.Pointer[Spec] // complete; another one after a reload
	workdir     string               // for specs that name no folder
	log         *slog.Logger
	onState     func(Status) // or nil
	wants       chan want
	reloads     chan reload
	resets      chan chan<- struct{}
	turn        chan struct{} // holds a token during a reload
	looks       turn          // to find out which program it is
	recalls     turn          // to find out what is known without a start
	checks      turn          // to find out what is wrong with a program
	leaving     chan struct{} // closed: no new calls, and the end when those that run have ended
	closing     chan struct{}
	leaveOnce   sync.Once
	closeOnce   sync.Once
	done        chan struct{} // the owner has ended
	calls       atomic.Int64  // that run now
	status      atomic.Pointer[snapshot]
	description atomic.Pointer[sdk.Description]
	recall      func(context.Context, Spec) *sdk.Description // what is known without a start, or nil; may be nil

	mu       sync.Mutex
	speaker  int               // the generation that description is from
	recalled programs.Identity // of what was known without a start, if it was used
	watchers map[*func()]struct{}
}

func newProcess(spec Spec, log *slog.Logger, start starter, onState func(Status)) *Process {
	p := &Process{name: spec.Name, log: log, onState: onState, wants: make(chan want), reloads: make(chan reload),
		resets: make(chan chan<- struct{}), turn: make(chan struct{}, 1), looks: make(turn, 1), recalls: make(turn, 1), checks: make(turn, 1),
		leaving: make(chan struct{}), closing: make(chan struct{}),
		done: make(chan struct{}), watchers: map[*func()]struct{}{}}
	p.spec.Store(&spec)
	o := &owner{p: p, start: start, history: history{limits: spec.Restart}, drained: make(chan *generation)}
	o.to(Known, "the first call starts it")
	if spec.Eager {
		o.alarm = time.After(0) // what goes wrong is logged, and told to the first call
	}
	o.show()
	go o.run()
	return p
}

// Name is the plugin's label.
func (p *Process) Name() string { return p.name }

// Tools gives the plugin's tools. The first time it starts the plugin, unless the supervisor's cache knows it; later it
// answers from what the plugin last said, also while it is down.
func (p *Process) Tools(ctx context.Context) ([]sdk.Tool, error) {
	if d := p.described(ctx); d != nil && !isClosed(p.closing) {
		return slices.Clone(d.Tools), nil
	}
	g, err := p.acquire(ctx)
	if err != nil {
		return nil, err
	}
	return slices.Clone(g.description().Tools), nil
}

// Call runs one tool, once at most, and starts the plugin if it does not run. A tool that fails gives a result with an
// Error. The error of Call itself is an *sdk.Error with its Outcome: the plugin is not available, died in the call, broke
// the rules of the wire, or ctx ended. When the plugin dies, a call that provably never reached it, or whose tool the spec
// calls idempotent, is made once more, with the same id and in what is left of ctx's time. One whose tool turns out to be
// another than was listed, once the plugin runs, is not made.
func (p *Process) Call(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	listed := p.description.Load()
	result, died, err := p.attempt(ctx, r, 1, listed)
	if died == nil || ctx.Err() != nil || isClosed(p.closing) || !p.mayRepeat(r, died) {
		return result, err
	}
	result, _, err = p.attempt(ctx, r, 2, listed)
	if e, ok := errors.AsType[*sdk.Error](err); ok && died.Delivered && e.Outcome == sdk.OutcomeNotSent {
		err = withOutcome(e, sdk.OutcomeUnknown) // of the first attempt
	}
	return result, err
}

// attempt makes the call of a tool as it was listed. Died is set when the plugin has died in it.
func (p *Process) attempt(ctx context.Context, r *sdk.Request, number int, listed *sdk.Description) (result *sdk.Result, died *sdk.BrokenError, err error) {
	v, err := p.enter(ctx)
	if err != nil {
		return nil, nil, p.notSent(err)
	}
	defer v.leave()
	g := v.generation
	if err := outdated(p.name, r, listed, g.description()); err != nil {
		return nil, nil, p.notSent(err)
	}
	r.Attempt, r.Generation = number, g.number
	result, err = g.client.Call(v.ctx, r)
	if err == nil {
		return result, nil, nil
	}
	broken, ok := v.broken(err)
	if !ok {
		v.leave()
		if sdk.CodeOf(err) != sdk.CodeResultTooLarge { // which is an answer
			g.suspect() // the call was left alone: find out whether the plugin still answers
		}
		return nil, nil, err
	}
	if !v.cut() && g.diedWithin(settle) && isCut(broken) {
		died = broken
	}
	return nil, died, withOutcome(p.lost(g, r, broken), outcomeOf(broken))
}

// settle is how long the death of a process may take to show after its connection broke. Measured: 2 to 9 ms.
const settle = 500 * time.Millisecond

func (p *Process) mayRepeat(r *sdk.Request, broken *sdk.BrokenError) bool {
	return !broken.Delivered || slices.Contains(p.spec.Load().Idempotent, r.Tool)
}

// isCut tells a connection that was cut from a plugin that answered with something else than its result.
func isCut(b *sdk.BrokenError) bool {
	return !b.Delivered || status.Code(b.Err) == codes.Unavailable
}

func outcomeOf(b *sdk.BrokenError) sdk.Outcome {
	if b.Delivered {
		return sdk.OutcomeUnknown
	}
	return sdk.OutcomeNotSent
}

// withOutcome leaves e as it is: others may have it too.
func withOutcome(e *sdk.Error, o sdk.Outcome) *sdk.Error {
	e = new(*e)
	e.Outcome = o
	return e
}

// notSent says of a call that found no plugin to go to that nothing was run.
func (p *Process) notSent(err error) error {
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return err
	}
	e = withOutcome(e, sdk.OutcomeNotSent)
	if e.Code == sdk.CodeTimeout || e.Code == sdk.CodeCanceled {
		e.Message = fmt.Sprintf("%s before plugin %q was ready; nothing was run", e.Message, p.name)
	}
	return e
}

// lost says how it came that a plugin or its connection broke in a call.
func (p *Process) lost(g *generation, r *sdk.Request, broken *sdk.BrokenError) *sdk.Error {
	facts := map[string]any{"plugin": p.name, "generation": g.number, "call_id": r.CallID, "delivered": broken.Delivered}
	switch {
	case isClosed(p.closing):
		return &sdk.Error{Code: sdk.CodeCanceled, Name: "Closed", Message: "the host was closed during the call", Details: sdk.Details(facts)}
	case g.visits.wereCut():
		return &sdk.Error{Code: sdk.CodeCanceled, Name: "Replaced", Details: sdk.Details(facts),
			Message: fmt.Sprintf("plugin %q was reloaded or removed, and the old process got no more time for the call", p.name)}
	case !isClosed(g.done()):
		g.child.killFor("it broke the rules of the wire")
		return &sdk.Error{Code: sdk.CodeProtocol, Name: "Protocol", Details: sdk.Details(facts),
			Message: fmt.Sprintf("plugin %q broke the rules of the wire and is started anew: %v", p.name, broken)}
	}
	g.child.describeExit(facts)
	e := &sdk.Error{Code: sdk.CodePluginCrashed, Name: "PluginCrashed", Details: sdk.Details(facts),
		Message:    fmt.Sprintf("plugin %q died during the call: %s", p.name, g.end()),
		Suggestion: "The plugin is started anew with the next call."}
	if !broken.Delivered {
		e.Message = fmt.Sprintf("plugin %q died before the call reached it: %s", p.name, g.end())
	}
	return e
}

// Preview asks what a call would do.
func (p *Process) Preview(ctx context.Context, r *sdk.Request) (*sdk.Preview, error) {
	v, err := p.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer v.leave()
	g := v.generation
	preview, err := g.client.Preview(v.ctx, r)
	if broken, ok := v.broken(err); ok {
		_ = v.cut() || g.diedWithin(settle)
		return nil, p.lost(g, r, broken)
	}
	if ctx.Err() != nil {
		v.leave()
		g.suspect()
	}
	return preview, err
}

// Watch calls changed whenever the list of tools has changed, until ctx ends. It does not start the plugin.
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
		return closedError(p.name)
	}
}

// Close ends the plugin: its calls, which get CodeCanceled, then the process by closing its lifeline, by SIGTERM, by
// SIGKILL, all within five seconds. Closing again waits for the same end.
func (p *Process) Close() error {
	p.closeOnce.Do(func() { close(p.closing) })
	<-p.done
	return nil
}

// Reset forgets the plugin's crashes: one that is in backoff, quarantined or invalid is started by the next call, an eager
// one at once. One that runs is left alone.
func (p *Process) Reset() {
	taken := make(chan struct{})
	select {
	case p.resets <- taken:
		<-taken
	case <-p.done:
	}
}

// acquire gives a generation that takes calls, starting one if need be.
func (p *Process) acquire(ctx context.Context) (*generation, error) {
	program, ok := p.program(ctx)
	switch {
	case !ok && ctx.Err() != nil:
		return nil, sdk.EndedError(ctx)
	case !ok:
		return nil, closedError(p.name)
	}
	reply := make(chan answer, 1)
	select {
	case p.wants <- want{reply, program}:
	case <-p.done:
		return nil, closedError(p.name)
	case <-ctx.Done():
		return nil, sdk.EndedError(ctx)
	}
	select {
	case a := <-reply:
		return a.g, a.err
	case <-ctx.Done():
		return nil, sdk.EndedError(ctx)
	}
}
