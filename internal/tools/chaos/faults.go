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

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/procstat"
)

// An injector injects faults, one at a time.
type injector struct {
	testbed *testbed
	ledger  *ledger
	rng     *rand.Rand
	pending sync.WaitGroup // repairs, and calls that still run
	made    int
}

// faults are injected as often as their weight says. A function returns false if it found no target.
var faults = []struct {
	name   string
	weight int
	do     func(*injector, context.Context) bool
}{
	{"plugin killed", 8, func(b *injector, _ context.Context) bool { return b.signal(b.plugin(), syscall.SIGKILL) }},
	{"plugin terminated", 2, func(b *injector, _ context.Context) bool { return b.signal(b.plugin(), syscall.SIGTERM) }},
	{"plugin segfaults", 1, func(b *injector, _ context.Context) bool { return b.signal(b.plugin(), syscall.SIGSEGV) }},
	{"plugin stopped", 4, (*injector).stop},
	{"launcher killed", 3, func(b *injector, _ context.Context) bool { return b.signal(b.launcher(), syscall.SIGKILL) }},
	{"launcher stopped", 1, (*injector).stopLauncher},
	{"plugin exits in a call", 2,
		func(b *injector, ctx context.Context) bool { return b.call(ctx, "die", `{"how":"exit"}`) }},
	{"plugin panics in a call", 2,
		func(b *injector, ctx context.Context) bool { return b.call(ctx, "die", `{"how":"panic"}`) }},
	{"plugin kills itself", 1,
		func(b *injector, ctx context.Context) bool { return b.call(ctx, "die", `{"how":"kill"}`) }},
	{"plugin stops itself", 1,
		func(b *injector, ctx context.Context) bool { return b.call(ctx, "die", `{"how":"stop"}`) }},
	{"plugin kills its launcher", 2,
		func(b *injector, ctx context.Context) bool { return b.call(ctx, "die", `{"how":"parent"}`) }},
	{"call hangs", 3, func(b *injector, ctx context.Context) bool { return b.call(ctx, "hang", `{}`) }},
	{"plugin leaves processes", 3, func(b *injector, ctx context.Context) bool { return b.call(ctx, "litter", `{}`) }},
	{"output floods", 2, func(b *injector, ctx context.Context) bool { return b.call(ctx, "flood", `{"bytes":8000000}`) }},
	{"answer is too large", 2,
		func(b *injector, ctx context.Context) bool { return b.call(ctx, "big", `{"bytes":50000000}`) }},
	{"raw bytes for a plugin", 6, (*injector).raw},
	{"reload", 3, (*injector).reload},
	{"reload to a broken program", 2, (*injector).reloadBroken},
	{"reload to other tools", 2, (*injector).reloadOther},
	{"reset", 3, func(b *injector, _ context.Context) bool { b.victim().Reset(); return true }},
	{"plugin added or removed", 3, (*injector).addOrRemove},
	{"policy replaced", 4, (*injector).replacePolicy},
	{"calls canceled", 2, (*injector).cancelCalls},
	{"no files left", 1, (*injector).exhaustFiles},
}

// injectRandomFault injects one fault and waits a moment.
func (b *injector) injectRandomFault(ctx context.Context) {
	total := 0
	for _, f := range faults {
		total += f.weight
	}
	pick := b.rng.IntN(total)
	for _, f := range faults {
		if pick -= f.weight; pick < 0 {
			if f.do(b, ctx) {
				b.ledger.fault(f.name)
			}
			break
		}
	}
	_ = pause(ctx, b.rng.IntN(60))
}

func (b *injector) victim() *supervise.Process {
	return b.testbed.supervisor.Process(victimName(b.rng.IntN(victims)))
}

// plugin is the process of a victim, or 0; launcher is its parent.
func (b *injector) plugin() int { return b.victim().Status().PID }

func (b *injector) launcher() int {
	pid := b.plugin()
	if pid == 0 {
		return 0
	}
	if parent := procstat.ParentOf(pid); parent != os.Getpid() { // where there is no launcher it is us
		return parent
	}
	return 0
}

// signal signals a process of this testbed only: the pid may have been reused.
func (b *injector) signal(pid int, s syscall.Signal) bool {
	return pid > 1 && b.testbed.includes(pid) && syscall.Kill(pid, s) == nil
}

// stop stops a plugin, and continues it later, unless the host has killed it.
func (b *injector) stop(ctx context.Context) bool { return b.pauseProcess(ctx, b.plugin()) }

func (b *injector) stopLauncher(ctx context.Context) bool { return b.pauseProcess(ctx, b.launcher()) }

func (b *injector) pauseProcess(ctx context.Context, pid int) bool {
	if !b.signal(pid, syscall.SIGSTOP) {
		return false
	}
	wait := b.rng.IntN(500)
	b.pending.Go(func() {
		_ = pause(ctx, wait)
		b.signal(pid, syscall.SIGCONT)
	})
	return true
}

// call makes a call that breaks its plugin, and does not wait for the result, which is checked like any other.
func (b *injector) call(_ context.Context, tool, arguments string) bool {
	b.made++
	id, name := fmt.Sprintf("fault-%d", b.made), victimName(b.rng.IntN(victims))
	b.pending.Go(func() {
		b.ledger.make(context.Background(), b.testbed.host, id, name+"__"+tool, arguments, time.Second)
	})
	return true
}

// raw starts a program that is no plugin, through a call.
func (b *injector) raw(_ context.Context) bool {
	spec := b.testbed.rawSpec(scripts[b.rng.IntN(len(scripts))])
	b.made++
	id := fmt.Sprintf("raw-%d", b.made)
	b.pending.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := b.testbed.supervisor.Process(raw).Reload(ctx, spec); err == nil {
			r := b.ledger.make(ctx, b.testbed.host, id, raw+"__x", `{}`, 10*time.Second)
			if r.Error == nil {
				b.ledger.violation("a call of a program that is no plugin succeeded: %s", spec.Env[envScript])
			}
		}
	})
	return true
}

// reload starts another generation of a victim beside the one that runs.
func (b *injector) reload(_ context.Context) bool { return b.reloadAs("") }

// reloadOther is reload to a generation with another description of its tools.
func (b *injector) reloadOther(_ context.Context) bool { return b.reloadAs(fmt.Sprint(b.rng.IntN(3))) }

func (b *injector) reloadAs(words string) bool {
	i := b.rng.IntN(victims)
	p := b.testbed.supervisor.Process(victimName(i))
	spec := b.testbed.spec(p.Name(), restarts(i))
	spec.Env[envSuffix] = words
	b.pending.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = p.Reload(ctx, spec) // it may be broken meanwhile, which the calls report
	})
	return true
}

// reloadBroken reloads to a program that is no plugin: the running generation must continue.
func (b *injector) reloadBroken(_ context.Context) bool {
	p := b.victim()
	spec := b.testbed.rawSpec("noise")
	spec.Name = p.Name()
	b.pending.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		running := p.Status().PID != 0
		if err := p.Reload(ctx, spec); err == nil && running && p.Status().PID != 0 {
			b.ledger.violation("a plugin was reloaded to a program that is no plugin, without an error")
		}
	})
	return true
}

// exhaustFiles lowers the limit of open files for a moment.
func (b *injector) exhaustFiles(ctx context.Context) bool {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return false
	}
	tight := limit
	tight.Cur = uint64(openFiles()) + uint64(b.rng.IntN(4))
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &tight); err != nil {
		return false
	}
	_ = pause(ctx, 20+b.rng.IntN(50))
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) == nil
}

// addOrRemove adds or removes the transient plugin while its calls run.
func (b *injector) addOrRemove(_ context.Context) bool {
	w := b.testbed
	b.pending.Go(func() {
		w.reloads.Lock()
		defer w.reloads.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		specs := w.specs()
		if w.supervisor.Process(transient) == nil {
			specs = append(specs, w.transientSpec())
		}
		_ = w.supervisor.Reload(ctx, specs) // victims may be broken meanwhile
		b.replace(w.options())
	})
	return true
}

// replacePolicy gives the host other rules or limits for a moment: approval for everything, a small concurrency, a
// small queue.
func (b *injector) replacePolicy(ctx context.Context) bool {
	o := b.testbed.options()
	switch b.rng.IntN(3) {
	case 0:
		asks, err := policyOf(policy.Ask)
		if err != nil {
			return false
		}
		o.Policy, o.Approver = asks, slowApprover{b.rng.IntN(5)}
	case 1:
		o.MaxConcurrency = callers + 1 // the control plugin, with one call at a time, is never refused
	case 2:
		o.Plugins = map[string]host.PluginOptions{victimName(b.rng.IntN(victims)): {Limits: host.Limits{Concurrency: 1,
			Queue: 2}}}
	}
	wait := b.rng.IntN(50)
	b.pending.Go(func() {
		b.testbed.reloads.Lock()
		defer b.testbed.reloads.Unlock()
		b.replace(o)
		_ = pause(ctx, wait)
		b.replace(b.testbed.options())
	})
	return true
}

// replace reloads the host. The caller holds testbed.reloads.
func (b *injector) replace(o host.Options) {
	if err := b.testbed.host.Reload(b.testbed.plugins(), o); err != nil {
		b.ledger.violation("the host refused other options: %v", err)
	}
}

// A slowApprover approves after some milliseconds.
type slowApprover struct{ wait int }

// Approve approves.
func (a slowApprover) Approve(ctx context.Context, _ *host.ApprovalRequest) (host.Answer, error) {
	return host.Yes(), pause(ctx, a.wait)
}

// cancelCalls makes many calls of one plugin at once, and cancels all of them at once.
func (b *injector) cancelCalls(_ context.Context) bool {
	ctx, cancel := context.WithCancel(context.Background())
	tool, wait := victimName(b.rng.IntN(victims))+"__count", b.rng.IntN(20)
	b.made++
	burst := b.made
	for i := range 30 {
		b.pending.Go(func() {
			b.ledger.make(ctx, b.testbed.host, fmt.Sprintf("burst-%d-%d", burst, i), tool, `{"before":5,"after":5}`,
				3*time.Second)
		})
	}
	b.pending.Go(func() {
		defer cancel()
		_ = pause(context.Background(), wait)
	})
	return true
}
