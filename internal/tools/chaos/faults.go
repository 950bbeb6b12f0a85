//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/supervise"
)

// A breaker breaks plugins, one fault at a time.
type breaker struct {
	world  *world
	ledger *ledger
	dice   *rand.Rand
	mends  sync.WaitGroup // what puts things right again later
	made   int
}

// faults are the ways to break something, and how often each is taken. One that found nothing to break gives false.
var faults = []struct {
	name   string
	weight int
	do     func(*breaker, context.Context) bool
}{
	{"plugin killed", 8, func(b *breaker, _ context.Context) bool { return b.signal(b.plugin(), syscall.SIGKILL) }},
	{"plugin terminated", 2, func(b *breaker, _ context.Context) bool { return b.signal(b.plugin(), syscall.SIGTERM) }},
	{"plugin segfaults", 1, func(b *breaker, _ context.Context) bool { return b.signal(b.plugin(), syscall.SIGSEGV) }},
	{"plugin stopped", 4, (*breaker).stop},
	{"launcher killed", 3, func(b *breaker, _ context.Context) bool { return b.signal(b.launcher(), syscall.SIGKILL) }},
	{"launcher stopped", 1, (*breaker).stopLauncher},
	{"plugin exits in a call", 2,
		func(b *breaker, ctx context.Context) bool { return b.call(ctx, "die", `{"how":"exit"}`) }},
	{"plugin panics in a call", 2,
		func(b *breaker, ctx context.Context) bool { return b.call(ctx, "die", `{"how":"panic"}`) }},
	{"plugin kills itself", 1, func(b *breaker, ctx context.Context) bool { return b.call(ctx, "die", `{"how":"kill"}`) }},
	{"plugin stops itself", 1, func(b *breaker, ctx context.Context) bool { return b.call(ctx, "die", `{"how":"stop"}`) }},
	{"plugin kills its launcher", 2,
		func(b *breaker, ctx context.Context) bool { return b.call(ctx, "die", `{"how":"parent"}`) }},
	{"call hangs", 3, func(b *breaker, ctx context.Context) bool { return b.call(ctx, "hang", `{}`) }},
	{"plugin leaves processes", 3, func(b *breaker, ctx context.Context) bool { return b.call(ctx, "litter", `{}`) }},
	{"output floods", 2, func(b *breaker, ctx context.Context) bool { return b.call(ctx, "flood", `{"bytes":8000000}`) }},
	{"answer is too large", 2,
		func(b *breaker, ctx context.Context) bool { return b.call(ctx, "big", `{"bytes":50000000}`) }},
	{"raw bytes for a plugin", 6, (*breaker).raw},
	{"reload", 3, (*breaker).reload},
	{"reload to what is broken", 2, (*breaker).reloadBroken},
	{"reload to other tools", 2, (*breaker).reloadOther},
	{"reset", 3, func(b *breaker, _ context.Context) bool { b.victim().Reset(); return true }},
	{"plugin comes or goes", 3, (*breaker).comeOrGo},
	{"rules replaced", 4, (*breaker).replaceRules},
	{"callers give up", 2, (*breaker).giveUp},
	{"no files left", 1, (*breaker).exhaustFiles},
}

// breakSomething takes one of the faults and waits a moment.
func (b *breaker) breakSomething(ctx context.Context) {
	total := 0
	for _, f := range faults {
		total += f.weight
	}
	pick := b.dice.IntN(total)
	for _, f := range faults {
		if pick -= f.weight; pick < 0 {
			if f.do(b, ctx) {
				b.ledger.fault(f.name)
			}
			break
		}
	}
	_ = pause(ctx, b.dice.IntN(60))
}

func (b *breaker) victim() *supervise.Process {
	return b.world.supervisor.Process(victimName(b.dice.IntN(victims)))
}

// plugin gives a process of a victim that runs, or 0; launcher the one above it.
func (b *breaker) plugin() int { return b.victim().Status().PID }

func (b *breaker) launcher() int {
	pid := b.plugin()
	if pid == 0 {
		return 0
	}
	if parent := parentOf(pid); parent != os.Getpid() { // where there is no launcher it is us
		return parent
	}
	return 0
}

// signal sends to a process of this world only: a pid may be another's by now.
func (b *breaker) signal(pid int, s syscall.Signal) bool {
	return pid > 1 && b.world.owns(pid) && syscall.Kill(pid, s) == nil
}

// stop stops a plugin, and lets it go on later, unless it was killed for it meanwhile.
func (b *breaker) stop(ctx context.Context) bool { return b.hold(ctx, b.plugin()) }

func (b *breaker) stopLauncher(ctx context.Context) bool { return b.hold(ctx, b.launcher()) }

func (b *breaker) hold(ctx context.Context, pid int) bool {
	if !b.signal(pid, syscall.SIGSTOP) {
		return false
	}
	wait := b.dice.IntN(500)
	b.mends.Go(func() {
		_ = pause(ctx, wait)
		b.signal(pid, syscall.SIGCONT)
	})
	return true
}

// call makes a call that breaks its plugin, and does not wait for the answer, which is checked as any other.
func (b *breaker) call(_ context.Context, tool, arguments string) bool {
	b.made++
	id, name := fmt.Sprintf("fault-%d", b.made), victimName(b.dice.IntN(victims))
	b.mends.Go(func() {
		b.ledger.make(context.Background(), b.world.host, id, name+"__"+tool, arguments, time.Second)
	})
	return true
}

// raw starts what is no plugin, through a call of it.
func (b *breaker) raw(_ context.Context) bool {
	spec := b.world.rawSpec(scripts[b.dice.IntN(len(scripts))])
	b.made++
	id := fmt.Sprintf("raw-%d", b.made)
	b.mends.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := b.world.supervisor.Process(raw).Reload(ctx, spec); err == nil {
			r := b.ledger.make(ctx, b.world.host, id, raw+"__x", `{}`, 10*time.Second)
			if r.Error == nil {
				b.ledger.breach("a call of what is no plugin worked: %s", spec.Env[envScript])
			}
		}
	})
	return true
}

// reload brings up another generation of a victim beside the one that runs.
func (b *breaker) reload(_ context.Context) bool { return b.reloadAs("") }

// reloadOther is reload to a generation whose tools are described in other words.
func (b *breaker) reloadOther(_ context.Context) bool { return b.reloadAs(fmt.Sprint(b.dice.IntN(3))) }

func (b *breaker) reloadAs(words string) bool {
	i := b.dice.IntN(victims)
	p := b.world.supervisor.Process(victimName(i))
	spec := b.world.spec(p.Name(), restarts(i))
	spec.Env[envWords] = words
	b.mends.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = p.Reload(ctx, spec) // it may be broken meanwhile, which is the calls' matter
	})
	return true
}

// reloadBroken asks for a generation that does not come up: the one that runs must go on.
func (b *breaker) reloadBroken(_ context.Context) bool {
	p := b.victim()
	spec := b.world.rawSpec("noise")
	spec.Name = p.Name()
	b.mends.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		running := p.Status().PID != 0
		if err := p.Reload(ctx, spec); err == nil && running && p.Status().PID != 0 {
			b.ledger.breach("a plugin was reloaded to what is no plugin, without an error")
		}
	})
	return true
}

// exhaustFiles takes the host's last files away for a moment.
func (b *breaker) exhaustFiles(ctx context.Context) bool {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return false
	}
	tight := limit
	tight.Cur = uint64(openFiles()) + uint64(b.dice.IntN(4))
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &tight); err != nil {
		return false
	}
	_ = pause(ctx, 20+b.dice.IntN(50))
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) == nil
}
