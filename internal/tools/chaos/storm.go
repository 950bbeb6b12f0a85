//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	callers = 8
	// roundFaults is how many faults a world lives through before it is ended and looked at.
	roundFaults = 60
)

// storm breaks one world after the other until there were enough faults and calls, and the time is over.
func storm(p plan, r *report, tell func(string)) {
	calm(p, r)
	end := time.Now().Add(p.length)
	for n := 0; time.Now().Before(end) || r.totalFaults() < p.faults || r.madeCalls() < p.calls; n++ {
		if len(r.broken) >= maxBroken || p.length == 0 {
			return
		}
		round(p.seed, n, r)
		if n%10 == 9 {
			tell(fmt.Sprintf("%d faults, %d calls, %d promises broken", r.totalFaults(), r.madeCalls(), len(r.broken)))
		}
	}
}

// round is the life of one world: calls and faults together, then the end, then a look at what is left.
func round(seed uint64, n int, r *report) {
	inWorld(fmt.Sprintf("round-%d", n), r, func(w *world, l *ledger) {
		weather(w, l, seed, uint64(n))
	})
}

// inWorld makes a world, has f live in it, ends it, and checks that all is as it was before.
func inWorld(name string, r *report, f func(*world, *ledger)) {
	dir, err := os.MkdirTemp("", "chaos")
	if err != nil {
		r.breach("%s: %v", name, err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	before := measure()
	mark := filepath.Base(dir)
	w, err := newWorld(dir, mark)
	if err != nil {
		r.breach("%s: the world could not be made: %v", name, err)
		return
	}
	l := newLedger(r)
	f(w, l)
	began := time.Now()
	if err := w.close(); err != nil {
		r.breach("%s: closing: %v", name, err)
	}
	if took := time.Since(began); took > slack { // five seconds for the host's plugins, side by side, and room
		r.breach("%s: closing took %s", name, took)
	}
	l.settle(w.ledger)
	before.compare(name, w, r)
}

// weather is what a world lives through: callers, a bystander, and one fault after the other.
func weather(w *world, l *ledger, seed, n uint64) {
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range callers {
		c := &caller{ledger: l, world: w, dice: rand.New(rand.NewPCG(seed, n<<8|uint64(i))), name: fmt.Sprintf("c%d", i)} //nolint:gosec // repeatable dice
		all.Go(func() { c.run(ctx) })
	}
	all.Go(func() { l.watch(ctx, w, "watch", &l.stormy) })
	b := &breaker{world: w, ledger: l, dice: rand.New(rand.NewPCG(seed, n<<8|0xff))} //nolint:gosec // likewise
	for range roundFaults {
		b.breakSomething(ctx)
	}
	stop()
	all.Wait()
	b.mends.Wait()
}

// calm measures the bystander in a world where nothing is broken.
func calm(p plan, r *report) {
	inWorld("calm", r, func(w *world, l *ledger) {
		ctx, stop := context.WithTimeout(context.Background(), min(5*time.Second, p.length/10))
		defer stop()
		var all sync.WaitGroup
		for i := range callers {
			c := &caller{ledger: l, world: w, dice: rand.New(rand.NewPCG(p.seed, uint64(i))), name: fmt.Sprintf("c%d", i)} //nolint:gosec // repeatable dice
			all.Go(func() { c.run(ctx) })
		}
		l.watch(ctx, w, "watch", &l.calm)
		all.Wait()
	})
}
