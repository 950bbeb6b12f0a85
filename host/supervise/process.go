package supervise

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
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
	stuck       chan stuck
	late        lateness
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
	recalled binaries.Identity // of what was known without a start, if it was used
	watchers map[*func()]struct{}
}

func newProcess(spec Spec, log *slog.Logger, start starter, onState func(Status)) *Process {
	p := &Process{name: spec.Name, log: log, onState: onState, wants: make(chan want), reloads: make(chan reload),
		resets: make(chan chan<- struct{}), stuck: make(chan stuck), late: lateness{lateEvery, lateAfter, maxLateHandlers}, turn: make(chan struct{}, 1), looks: make(turn, 1), recalls: make(turn, 1), checks: make(turn, 1),
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

// This file keeps what a plugin says of itself, from all its generations and from before the first.

// described is what the plugin last said, or what is known of it before it has said anything.
func (p *Process) described(ctx context.Context) *sdk.Description {
	if d := p.description.Load(); d != nil || p.recall == nil {
		return d
	}
	spec := p.spec.Load()
	r, _ := aside(ctx, p, p.recalls, func() recalled {
		return recalled{idOf(*spec), p.recall(ctx, *spec)}
	})
	if r.description != nil {
		p.keepRecalled(spec, r)
	}
	return p.description.Load()
}

// recalled is what is known of a plugin without a start, and of which program.
type recalled struct {
	program     binaries.Identity
	description *sdk.Description
}

// keepRecalled keeps what is known of a spec, unless the plugin, which knows better, has spoken or has another spec by now.
func (p *Process) keepRecalled(of *Spec, r recalled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spec.Load() == of && p.description.CompareAndSwap(nil, r.description) {
		p.recalled = r.program
	}
}

// describedBy gives the program that the description is from, as far as is known: the one that ran last, else the one that
// was recalled.
func (p *Process) describedBy(ran binaries.Identity) binaries.Identity {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cmp.Or(ran, p.recalled)
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
	p.tellWatchers()
}

func sameTools(a, b []sdk.Tool) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// undescribe forgets what the plugin said of itself: it will be another.
func (p *Process) undescribe() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recalled = binaries.Identity{}
	if p.description.Swap(nil) != nil {
		p.tellWatchers()
	}
}

func (p *Process) tellWatchers() {
	for changed := range p.watchers {
		go (*changed)()
	}
}

// A turn has room for one question to the file system.
type turn chan struct{}

// aside asks the file system something beside the caller, who leaves when ctx or the plugin ends: a program may be on a file
// system that hangs, as those of a network do. What is asked goes on by itself then, and keeps the turn until it ends, so
// that those who ask again add nothing to it. Ok says that there is an answer.
func aside[T any](ctx context.Context, p *Process, t turn, ask func() T) (found T, ok bool) {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return found, false
	case <-p.done:
		return found, false
	}
	answers := make(chan T, 1)
	go func() {
		defer func() { <-t }()
		answers <- ask()
	}()
	select {
	case found = <-answers:
		return found, true
	case <-ctx.Done():
		return found, false
	case <-p.done:
		return found, false
	}
}
