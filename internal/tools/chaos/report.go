//go:build linux

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// A report adds up what was done and what came of it.
type report struct {
	mu       sync.Mutex
	began    time.Time
	faults   map[string]int
	outcomes map[string]int // of calls: "ok", or the outcome of their error
	codes    map[string]int // of errors
	calls    int
	answered int
	twice    int // side effects that happened more often than calls
	orphans  int
	crashes  int // of hosts
	calm     []time.Duration
	stormy   []time.Duration // answers of the plugin that is left alone
	broken   []string        // promises, in words
}

// maxBroken bounds what is told: one broken promise tends to come with many.
const maxBroken = 40

func newReport() *report {
	return &report{began: time.Now(), faults: map[string]int{}, outcomes: map[string]int{}, codes: map[string]int{}}
}

func (r *report) fault(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults[name]++
}

// breach notes a broken promise.
func (r *report) breach(format string, a ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.broken) < maxBroken {
		r.broken = append(r.broken, fmt.Sprintf(format, a...))
	}
}

func (r *report) totalFaults() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.faults {
		n += c
	}
	return n
}

func (r *report) madeCalls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

// table is what the program prints at its end.
func (r *report) table() string {
	faults := r.totalFaults()
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
	row("side effects twice", r.twice)
	row("orphans", r.orphans)
	row("host crashes", r.crashes)
	row("bystander, calm", spread(r.calm))
	row("bystander, storm", spread(r.stormy))
	row("took", time.Since(r.began).Round(time.Second))
	row("promises broken", len(r.broken))
	for _, text := range r.broken {
		fmt.Fprintf(&b, "  %s\n", text)
	}
	return b.String()
}

// spread tells the middle and the tail of a sample.
func spread(all []time.Duration) string {
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
