//go:build linux

// Command chaos injects faults into plugins and hosts under load, and checks the host's invariants: every call returns
// once and in time, nothing runs twice, other plugins are not affected, and at the end no process, file, socket or
// goroutine is left. `make chaos` runs it; its short form is a test.
//
// The program has several roles: the injector, hosts that are killed, well-behaved plugins, and programs that send raw
// bytes on a plugin's socket.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A plan is the amount of work.
type plan struct {
	seed   uint64
	length time.Duration // of the load
	faults int           // at least, under load
	calls  int           // at least, under load
	kills  int           // of whole hosts
}

func main() {
	if role, ok := roles[os.Getenv(envRole)]; ok {
		role()
		return
	}
	p := plan{}
	//nolint:gosec // any seed will do
	flag.Uint64Var(&p.seed, "seed", rand.Uint64(), "random seed: the same seed makes the same choices")
	flag.DurationVar(&p.length, "for", 10*time.Minute, "how long the load lasts")
	flag.IntVar(&p.faults, "faults", 10_000, "the load goes on until there were so many")
	flag.IntVar(&p.calls, "calls", 100_000, "the load goes on until there were so many")
	flag.IntVar(&p.kills, "kills", 200, "how many hosts are killed")
	flag.Parse()
	fmt.Printf("seed %d\n", p.seed)
	report := run(p, func(line string) { fmt.Println(line) })
	fmt.Print(report.table())
	if len(report.violations) > 0 {
		os.Exit(1)
	}
}

// run executes the plan and reports progress.
func run(p plan, progress func(string)) *report {
	r := newReport()
	loadPhase(p, r, progress)
	killHosts(p, r, progress)
	freezeHosts(p, r, progress)
	fillDisks(p, r, progress)
	return r
}

// A report counts what was done and its results.
type report struct {
	mu         sync.Mutex
	began      time.Time
	faults     map[string]int
	outcomes   map[string]int // of calls: "ok", or the outcome of their error
	codes      map[string]int // of errors
	calls      int
	answered   int
	duplicated int // effects that happened more than once
	orphans    int
	crashes    int // of hosts
	baseline   []time.Duration
	underLoad  []time.Duration // of the control plugin
	violations []string        // of invariants
}

// maxViolations limits the output: one violation often causes many.
const maxViolations = 40

func newReport() *report {
	return &report{began: time.Now(), faults: map[string]int{}, outcomes: map[string]int{}, codes: map[string]int{}}
}

func (r *report) fault(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults[name]++
}

// violation records a violated invariant.
func (r *report) violation(format string, a ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.violations) < maxViolations {
		r.violations = append(r.violations, fmt.Sprintf(format, a...))
	}
}

func (r *report) faultCount() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.faults {
		n += c
	}
	return n
}

func (r *report) callCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

// table is the program's output.
func (r *report) table() string {
	faults := r.faultCount()
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	row := func(name string, value any) { fmt.Fprintf(&b, "%-24s %v\n", name, value) }
	row("faults injected", faults)
	for _, name := range slices.Sorted(maps.Keys(r.faults)) {
		row("  "+name, r.faults[name])
	}
	row("calls made", r.calls)
	row("calls answered", r.answered)
	for _, name := range slices.Sorted(maps.Keys(r.outcomes)) {
		row("  "+name, r.outcomes[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.codes)) {
		row("    "+name, r.codes[name])
	}
	row("calls lost", r.calls-r.answered)
	row("side effects twice", r.duplicated)
	row("orphans", r.orphans)
	row("host crashes", r.crashes)
	row("control, baseline", percentiles(r.baseline))
	row("control, under load", percentiles(r.underLoad))
	row("took", time.Since(r.began).Round(time.Second))
	row("violations", len(r.violations))
	for _, text := range r.violations {
		fmt.Fprintf(&b, "  %s\n", text)
	}
	return b.String()
}

// percentiles summarizes a sample.
func percentiles(all []time.Duration) string {
	if len(all) == 0 {
		return "not measured"
	}
	slices.Sort(all)
	at := func(q float64) time.Duration {
		return all[min(len(all)-1, int(q*float64(len(all))))].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %s, p99 %s, most %s of %d", at(0.5), at(0.99), all[len(all)-1].Round(10*time.Microsecond),
		len(all))
}

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
