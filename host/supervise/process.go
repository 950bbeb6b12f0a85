package supervise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// A Process is one plugin under supervision: the same value through every crash and restart of the process itself. It
// is safe for concurrent use, and has the methods of a host.Plugin.
type Process struct {
	spec        Spec
	log         *slog.Logger
	onState     func(Status) // or nil
	wants       chan want
	closing     chan struct{}
	closeOnce   sync.Once
	done        chan struct{} // the owner has ended
	status      atomic.Pointer[Status]
	description atomic.Pointer[sdk.Description]

	mu       sync.Mutex
	speaker  int // the generation that description is from
	watchers map[*func()]struct{}
}

func newProcess(spec Spec, log *slog.Logger, start starter, onState func(Status)) *Process {
	p := &Process{spec: spec, log: log, onState: onState, wants: make(chan want), closing: make(chan struct{}), done: make(chan struct{}),
		watchers: map[*func()]struct{}{}}
	o := &owner{p: p, start: start, state: Known, history: history{limits: spec.Restart}, started: make(chan answer, 1)}
	o.publish()
	go o.run(p.wants, p.closing)
	if spec.Eager {
		go func() { _, _ = p.acquire(context.Background()) }() // what goes wrong is logged, and told to the first call
	}
	return p
}

// Name is the plugin's label.
func (p *Process) Name() string { return p.spec.Name }

// Status tells where the plugin is in its life.
func (p *Process) Status() Status {
	s := *p.status.Load()
	if d := p.description.Load(); d != nil {
		s.Version, s.Tools, s.Notices = d.Version, len(d.Tools), d.Notices
	}
	return s
}

// Tools gives the plugin's tools. The first time it starts the plugin; later it answers from what the plugin last said,
// also while it is down.
func (p *Process) Tools(ctx context.Context) ([]sdk.Tool, error) {
	if d := p.description.Load(); d != nil && !isClosed(p.closing) {
		return slices.Clone(d.Tools), nil
	}
	if _, err := p.acquire(ctx); err != nil {
		return nil, err
	}
	return slices.Clone(p.description.Load().Tools), nil
}

// Call runs one tool, and starts the plugin if it does not run. A tool that fails gives a result with an Error. The
// error of Call itself is an *sdk.Error: the plugin is not available, died in the call, broke the rules of the wire, or
// ctx ended. A call that provably never reached the plugin, or whose tool the spec calls idempotent, is made once more
// when the plugin dies.
func (p *Process) Call(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	for attempt := 1; ; attempt++ {
		g, err := p.acquire(ctx)
		if err != nil {
			return nil, err
		}
		r.Attempt, r.Generation = attempt, g.number
		result, err := g.client.Call(ctx, r)
		if err == nil {
			return result, nil
		}
		broken, ok := errors.AsType[*sdk.BrokenError](err)
		if !ok {
			g.suspect() // the call was left alone: find out whether the plugin still answers
			return nil, err
		}
		if !g.diedWithin(settle) || attempt > 1 || !p.mayRepeat(r, broken) {
			return nil, p.lost(g, r, broken)
		}
	}
}

// settle is how long the death of a process may take to show after its connection broke. Measured: 2 to 9 ms.
const settle = 500 * time.Millisecond

func (p *Process) mayRepeat(r *sdk.Request, broken *sdk.BrokenError) bool {
	return !broken.Delivered || slices.Contains(p.spec.Idempotent, r.Tool)
}

// lost says what became of a call whose plugin or connection broke.
func (p *Process) lost(g *generation, r *sdk.Request, broken *sdk.BrokenError) *sdk.Error {
	facts := map[string]any{"plugin": p.spec.Name, "generation": g.number, "call_id": r.CallID, "delivered": broken.Delivered}
	switch {
	case isClosed(p.closing):
		return &sdk.Error{Code: sdk.CodeCanceled, Name: "Closed", Message: "the host was closed during the call", Details: sdk.Details(facts)}
	case !isClosed(g.done()):
		g.child.killFor("it broke the rules of the wire")
		return &sdk.Error{Code: sdk.CodeProtocol, Name: "Protocol", Details: sdk.Details(facts),
			Message: fmt.Sprintf("plugin %q broke the rules of the wire and is started anew: %v", p.spec.Name, broken)}
	}
	g.child.describeExit(facts)
	return &sdk.Error{Code: sdk.CodePluginCrashed, Name: "PluginCrashed", Details: sdk.Details(facts),
		Message:    fmt.Sprintf("plugin %q died during the call: %s. %s", p.spec.Name, g.end(), outcomeOf(broken)),
		Suggestion: "Find out what the call has done before you make it again; the plugin is started anew with the next call."}
}

func outcomeOf(b *sdk.BrokenError) string {
	if b.Delivered {
		return "What the call had done by then is not known"
	}
	return "The call had not reached it"
}

// Preview asks what a call would do.
func (p *Process) Preview(ctx context.Context, r *sdk.Request) (*sdk.Preview, error) {
	g, err := p.acquire(ctx)
	if err != nil {
		return nil, err
	}
	preview, err := g.client.Preview(ctx, r)
	if broken, ok := errors.AsType[*sdk.BrokenError](err); ok {
		g.diedWithin(settle)
		return nil, p.lost(g, r, broken)
	}
	if ctx.Err() != nil {
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
		return closedError(p.spec.Name)
	}
}

// Close ends the plugin: by closing its lifeline, then with SIGTERM, then with SIGKILL, all within five seconds. Calls
// that run get CodeCanceled.
func (p *Process) Close() error {
	p.closeOnce.Do(func() { close(p.closing) })
	<-p.done
	return nil
}

// acquire gives a generation that takes calls, starting one if need be.
func (p *Process) acquire(ctx context.Context) (*generation, error) {
	reply := make(chan answer, 1)
	select {
	case p.wants <- want{reply}:
	case <-p.done:
		return nil, closedError(p.spec.Name)
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

// describe keeps what a generation of the plugin says of itself, unless a later one has spoken, and tells those who
// watch if the tools are not what they were.
func (p *Process) describe(generation int, d *sdk.Description) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if generation < p.speaker {
		return
	}
	p.speaker = generation
	old := p.description.Swap(d)
	if old == nil || sameTools(old.Tools, d.Tools) {
		return
	}
	for changed := range p.watchers {
		go (*changed)()
	}
}

func sameTools(a, b []sdk.Tool) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
