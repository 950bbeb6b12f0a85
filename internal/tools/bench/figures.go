package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/tools/bench/payload"
	"github.com/toolhost/toolhost/sdk"
)

// roundTrips compares calls of all sizes with all others.
func (b *bench) roundTrips(ctx context.Context) error {
	const small, middle, large = 100, 10_000, 1_000_000
	names := map[int]string{small: "100 B", middle: "10 KB", large: "1 MB"}
	for _, c := range []struct{ size, callers int }{{small, 1}, {small, 16}, {small, 64}, {middle, 16}, {large, 1}, {large, 16}} {
		group, kinds := fmt.Sprintf("%s, %d callers", names[c.size], c.callers), []string{ours, goPlugin}
		switch {
		case c.callers == 16:
			kinds = append(kinds, officialMCP, processACall)
		case c.callers == 1:
			group = names[c.size] + ", 1 caller"
			if c.size == small {
				kinds = append(kinds, rawSocket)
			}
		}
		all, err := b.race(ctx, group, c.callers, c.size, kinds...)
		if err != nil {
			return err
		}
		add := func(against string, value func(sample) float64, what string, must, aim float64, atLeast bool) {
			b.add(figure{name: group + ", " + what, against: against, ratios: ratios(all, ours, against, value), must: must,
				aim: aim, atLeast: atLeast})
		}
		switch {
		case c.size == small && c.callers == 1:
			add(rawSocket, p50, "p50", 7.5, 5.5, false)
			add(goPlugin, p50, "p50", 1, 0.65, false)
		case c.size == large && c.callers == 1:
			add(goPlugin, p50, "p50", 1.5, 0.9, false)
		case c.size == small && c.callers == 64:
			add(goPlugin, perSecond, "calls/s", 1.6, 2.8, true)
		default:
			if c.size == small {
				add(goPlugin, perSecond, "calls/s", 1.3, 2, true)
			}
			limits := map[int][4]float64{small: {6, 10, 30, 50}, middle: {12, 20, 15, 30}, large: {25, 40, 1.3, 2}}[c.size]
			add(officialMCP, perSecond, "calls/s", limits[0], limits[1], true)
			add(processACall, perSecond, "calls/s", limits[2], limits[3], true)
		}
	}
	return nil
}

// schemas compares calls whose arguments are checked.
func (b *bench) schemas(ctx context.Context) error {
	all, err := b.race(ctx, "40 fields, 16 callers", 16, 100, oursWide, naiveHost)
	b.add(figure{name: "40 fields with a schema, 16 callers, calls/s", against: naiveHost,
		ratios: ratios(all, ours, naiveHost, perSecond), must: 3, aim: 5.5, atLeast: true})
	return err
}

// bridge compares what calls of one MCP server cost all processes, through toolhost and from the official client.
func (b *bench) bridge(ctx context.Context) error {
	for name, size := range map[string]int{"100 B": 100, "10 KB": 10_000} {
		all, err := b.race(ctx, "MCP server, "+name, 1, size, oursBridge, officialMCP)
		if err != nil {
			return err
		}
		b.add(figure{name: "MCP server through toolhost, " + name + ", processor time", against: "the official client",
			ratios: ratios(all, ours, officialMCP, sample.cpuPerCall), must: 1.25, aim: 1})
	}
	return nil
}

// huge compares results over 4 MiB: their time, and the host's memory.
func (b *bench) huge(ctx context.Context) error {
	for _, size := range []int{10_000_000, 100_000_000} {
		name := fmt.Sprintf("%d MB", size/1_000_000)
		all, err := b.race(ctx, name+", 1 caller", 1, size, oursLarge, goPlugin)
		if err != nil {
			return err
		}
		b.add(figure{name: name + ", 1 caller, p50", against: goPlugin, ratios: ratios(all, ours, goPlugin, p50), must: 1.2, aim: 0.85})
		var peaks []float64
		for range b.rounds() / 2 {
			mine, err := b.peakOf(oursLarge, size)
			theirs, err2 := b.peakOf(goPlugin, size)
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			peaks = append(peaks, mine/theirs)
		}
		b.add(figure{name: name + ", the host's peak of memory", against: goPlugin, ratios: peaks, must: 0.3, aim: 0.05})
	}
	return nil
}

// writes compares calls whose record has to be on the disk first.
func (b *bench) writes(ctx context.Context, h *toolhost) error {
	one, many := h.arm("one caller writes", "write", payload.Arguments(100), 1, 100), h.arm("16 callers write", "write", payload.Arguments(100), 16, 100)
	all, err := b.compare(ctx, "writing calls", []*arm{one, many})
	if err != nil {
		return err
	}
	b.add(figure{name: "calls that write, 16 callers, calls/s", against: "one caller",
		ratios: ratios(all, many.name, one.name, perSecond), must: 6, aim: 10, atLeast: true})
	return b.beside(ctx, h, "reading calls beside 16 that write, p50", many.call, 16, 1.5, 1.1)
}

// besideLarge compares small calls alone and beside results of 4 MB.
func (b *bench) besideLarge(ctx context.Context, h *toolhost) error {
	const large = 1 << 20
	return b.beside(ctx, h, "small calls beside two callers of 1 MB results, p50",
		func(int) error { return h.call("echo", payload.Arguments(large), large) }, 2, 8, 4)
}

// beside compares calls that read alone with the same beside others.
func (b *bench) beside(ctx context.Context, h *toolhost, name string, other func(int) error, others int, must, aim float64) error {
	alone, crowded := h.arm("alone", "echo", payload.Arguments(100), 1, 100), h.arm("beside others", "echo", payload.Arguments(100), 1, 100)
	call := crowded.call
	crowd := &crowd{call: other, callers: others}
	defer crowd.stop()
	crowded.call = func(i int) error { crowd.start(); return call(i) }
	alone.call = func(i int) error { crowd.stop(); return call(i) }
	all, err := b.compare(ctx, name, []*arm{alone, crowded})
	if err != nil {
		return err
	}
	b.add(figure{name: name, against: "alone", ratios: ratios(all, crowded.name, alone.name, p50), must: must, aim: aim})
	return crowd.failed()
}

// waiting compares the processor time of 20,000 calls that wait for one plugin with that of 10,000: twice as much, if
// it grows in proportion.
func (b *bench) waiting(ctx context.Context) error {
	h, err := b.open(1, "limits {\n concurrency = 1\n queue = 100000\n}")
	if err != nil {
		return err
	}
	defer h.Close()
	const calls = 10_000
	if _, err := b.waitingCalls(ctx, h, calls); err != nil { // what the first ones allocate is not compared
		return err
	}
	wait := func(n int) func() (time.Duration, error) {
		return func() (time.Duration, error) { return b.waitingCalls(ctx, h, n) }
	}
	ratios, err := b.pairs(ctx, max(3, b.rounds()/3), wait(2*calls), wait(calls))
	b.add(figure{name: "20,000 calls waiting for one plugin, processor time", against: "10,000", ratios: ratios, must: 2.3})
	return err
}

// waitingCalls is the processor time of calls that all wait before the first of them runs.
func (b *bench) waitingCalls(ctx context.Context, h *toolhost, n int) (time.Duration, error) {
	hold, release := context.WithCancel(ctx)
	defer release()
	held, freed := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(freed)
		h.Host().Call(hold, host.Call{Tool: "bench0__hang", Arguments: json.RawMessage("{}"), Events: func(e sdk.Event) {
			if e.Type == sdk.EventProgress {
				held <- struct{}{}
			}
		}})
	}()
	select {
	case <-held:
	case <-freed:
		return 0, errors.New("the call that holds the slot ended by itself")
	}
	arms := []*arm{{pids: h.pids}}
	args, errs := payload.Arguments(100), make(chan error, n)
	before := timeOf(arms)
	for range n {
		go func() { errs <- h.call("echo", args, 100) }()
	}
	time.Sleep(time.Duration(n) * 50 * time.Microsecond) // more than it takes all to join the queue
	release()
	var err error
	for range n {
		err = errors.Join(err, <-errs)
	}
	<-freed
	return timeOf(arms) - before, err
}

// A crowd makes calls in the background while it runs. It is for one goroutine.
type crowd struct {
	call    func(int) error
	callers int

	running bool
	ended   atomic.Bool
	all     sync.WaitGroup
	err     atomic.Pointer[error]
}

func (c *crowd) start() {
	if c.running {
		return
	}
	c.running = true
	c.ended.Store(false)
	for i := range c.callers {
		c.all.Go(func() {
			for !c.ended.Load() {
				if err := c.call(i); err != nil {
					c.err.Store(&err)
					return
				}
			}
		})
	}
}

func (c *crowd) stop() {
	if c.running {
		c.ended.Store(true)
		c.all.Wait()
		c.running = false
	}
}

func (c *crowd) failed() error {
	if err := c.err.Load(); err != nil {
		return *err
	}
	return nil
}
