//go:build linux

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
)

// This file changes what a host works with while calls run, as its user might.

// comeOrGo adds the guest to the plugins, or takes it out, while calls of it run.
func (b *breaker) comeOrGo(_ context.Context) bool {
	w := b.world
	b.mends.Go(func() {
		w.reloads.Lock()
		defer w.reloads.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		specs := w.specs()
		if w.supervisor.Process(guest) == nil {
			specs = append(specs, w.guestSpec())
		}
		_ = w.supervisor.Reload(ctx, specs) // victims may be broken meanwhile
		b.replace(w.options())
	})
	return true
}

// replaceRules gives the host other rules and limits, and back: a person who is asked about everything, little room, no
// more of a plugin.
func (b *breaker) replaceRules(ctx context.Context) bool {
	o := b.world.options()
	switch b.dice.IntN(3) {
	case 0:
		asks, err := policyOf(policy.Ask)
		if err != nil {
			return false
		}
		o.Policy, o.Approver = asks, slowYes{b.dice.IntN(5)}
	case 1:
		o.MaxConcurrency = callers + 1 // the bystander, who has one call at a time, is never refused
	case 2:
		o.Plugins = map[string]host.PluginOptions{victimName(b.dice.IntN(victims)): {Limits: host.Limits{Concurrency: 1,
			Queue: 2}}}
	}
	wait := b.dice.IntN(50)
	b.mends.Go(func() {
		b.world.reloads.Lock()
		defer b.world.reloads.Unlock()
		b.replace(o)
		_ = pause(ctx, wait)
		b.replace(b.world.options())
	})
	return true
}

// replace has the host go on with the plugins that there are. It is for those who hold the lock.
func (b *breaker) replace(o host.Options) {
	if err := b.world.host.Reload(b.world.plugins(), o); err != nil {
		b.ledger.breach("the host took no other options: %v", err)
	}
}

// slowYes says yes after some milliseconds.
type slowYes struct{ wait int }

// Approve says yes.
func (a slowYes) Approve(ctx context.Context, _ *host.ApprovalRequest) (host.Answer, error) {
	return host.Yes(), pause(ctx, a.wait)
}

// giveUp makes many calls of one plugin at once, and gives all of them up at once.
func (b *breaker) giveUp(_ context.Context) bool {
	ctx, cancel := context.WithCancel(context.Background())
	tool, wait := victimName(b.dice.IntN(victims))+"__count", b.dice.IntN(20)
	b.made++
	storm := b.made
	for i := range 30 {
		b.mends.Go(func() {
			b.ledger.make(ctx, b.world.host, fmt.Sprintf("storm-%d-%d", storm, i), tool, `{"before":5,"after":5}`, 3*time.Second)
		})
	}
	b.mends.Go(func() {
		defer cancel()
		_ = pause(context.Background(), wait)
	})
	return true
}
