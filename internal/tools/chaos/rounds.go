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
	// roundFaults is how many faults one testbed gets before it is closed and checked.
	roundFaults = 60
)

// loadPhase runs rounds until there were enough faults and calls, and the time is over.
func loadPhase(p plan, r *report, progress func(string)) {
	baseline(p, r)
	end := time.Now().Add(p.length)
	for n := 0; time.Now().Before(end) || r.faultCount() < p.faults || r.callCount() < p.calls; n++ {
		if len(r.violations) >= maxViolations || p.length == 0 {
			return
		}
		round(p.seed, n, r)
		if n%10 == 9 {
			progress(fmt.Sprintf("%d faults, %d calls, %d violations", r.faultCount(), r.callCount(), len(r.violations)))
		}
	}
}

// round makes calls and injects faults in one testbed, closes it, and checks what is left.
func round(seed uint64, n int, r *report) {
	inTestbed(fmt.Sprintf("round-%d", n), r, func(w *testbed, l *ledger) {
		injectFaults(w, l, seed, uint64(n))
	})
}

// inTestbed calls f with a testbed, closes it, and checks that nothing is left.
func inTestbed(name string, r *report, f func(*testbed, *ledger)) {
	dir, err := os.MkdirTemp("", "chaos")
	if err != nil {
		r.violation("%s: %v", name, err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	before := countResources()
	mark := filepath.Base(dir)
	w, err := newTestbed(dir, mark)
	if err != nil {
		r.violation("%s: the testbed could not be made: %v", name, err)
		return
	}
	l := newLedger(r)
	f(w, l)
	began := time.Now()
	if err := w.close(); err != nil {
		r.violation("%s: closing: %v", name, err)
	}
	if took := time.Since(began); took > grace { // five seconds for the plugins, in parallel, and some room
		r.violation("%s: closing took %s", name, took)
	}
	l.compareEffects(w.ledger)
	before.compare(name, w, r)
}

// injectFaults injects one fault after the other while callers and the control plugin work.
func injectFaults(w *testbed, l *ledger, seed, n uint64) {
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { newCaller(l, w, seed, n<<8|uint64(i), i).run(ctx) })
	}
	all.Go(func() { l.watch(ctx, w, "watch", &l.underLoad) })
	b := &injector{testbed: w, ledger: l, rng: rand.New(rand.NewPCG(seed, n<<8|0xff))} //nolint:gosec // likewise
	for range roundFaults {
		b.injectRandomFault(ctx)
	}
	stop()
	all.Wait()
	b.pending.Wait()
}

// baseline measures the control plugin without faults.
func baseline(p plan, r *report) {
	inTestbed("calm", r, func(w *testbed, l *ledger) {
		ctx, stop := context.WithTimeout(context.Background(), min(5*time.Second, p.length/10))
		defer stop()
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() { newCaller(l, w, p.seed, uint64(i), i).run(ctx) })
		}
		l.watch(ctx, w, "watch", &l.baseline)
		all.Wait()
	})
}
