package supervise

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/sdk"
)

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
