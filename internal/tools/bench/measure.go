package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// An arm is one way to do a thing.
type arm struct {
	name    string
	call    func(caller int) error
	callers int
	pids    func() []int // of the processes that work for it besides this one
	close   func()
}

// slice is how long an arm is measured at once.
const slice = 120 * time.Millisecond

// A sample is what one slice gave.
type sample struct {
	group, arm string
	round      int
	calls      int
	elapsed    time.Duration
	cpu        time.Duration // of all processes that worked
	p50        time.Duration
	foreign    float64 // the share of the machine that others took in the round
}

// perSecond is calls per second.
func (s sample) perSecond() float64 { return float64(s.calls) / s.elapsed.Seconds() }

func (s sample) cpuPerCall() float64 { return float64(s.cpu.Microseconds()) / float64(s.calls) }

// maxForeign is the share of the machine that others may take in a round that counts.
const maxForeign = 0.03

// compare measures arms in turn, round by round, and keeps the samples of the rounds that count.
func (b *bench) compare(ctx context.Context, group string, arms []*arm) (map[string][]sample, error) {
	for _, a := range arms { // the first calls start processes
		for range 3 {
			if err := a.call(0); err != nil {
				return nil, fmt.Errorf("%s, %s: %w", group, a.name, err)
			}
		}
	}
	all := map[string][]sample{}
	for round := range b.rounds() {
		before, others := machineTime(), b.ownTime(arms)
		var taken []sample
		for _, i := range b.random.Perm(len(arms)) {
			s, err := b.measure(ctx, arms[i])
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", group, arms[i].name, err)
			}
			s.group, s.round = group, round
			taken = append(taken, s)
		}
		busy, own := machineTime(), b.ownTime(arms)-others
		foreign := math.Max(0, float64(busy.busy-before.busy-own)/float64(busy.all-before.all))
		for _, s := range taken {
			s.foreign = foreign
			all[s.arm] = append(all[s.arm], s)
			b.samples = append(b.samples, s)
		}
	}
	const enough = 3
	for name, samples := range all {
		quiet := slices.DeleteFunc(slices.Clone(samples), func(s sample) bool { return s.foreign > maxForeign })
		if len(quiet) >= enough {
			all[name] = quiet
		}
	}
	return all, ctx.Err()
}

// measure has the arm's callers call for a slice.
func (b *bench) measure(ctx context.Context, a *arm) (sample, error) {
	var all sync.WaitGroup
	times := make([][]time.Duration, a.callers)
	errs := make([]error, a.callers)
	cpu, began := b.ownTime([]*arm{a}), time.Now()
	for i := range a.callers {
		all.Go(func() {
			for time.Since(began) < slice && ctx.Err() == nil {
				start := time.Now()
				if errs[i] = a.call(i); errs[i] != nil {
					return
				}
				times[i] = append(times[i], time.Since(start))
			}
		})
	}
	all.Wait()
	s := sample{arm: a.name, elapsed: time.Since(began), cpu: b.ownTime([]*arm{a}) - cpu}
	for _, err := range errs {
		if err != nil {
			return s, err
		}
	}
	took := slices.Concat(times...)
	slices.Sort(took)
	s.calls = len(took)
	if s.calls > 0 {
		s.p50 = took[len(took)/2]
	}
	return s, nil
}

// ownTime is the processor time of this process, of its children that have ended, and of the arms' processes.
func (b *bench) ownTime(arms []*arm) (t time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		_ = syscall.Getrusage(who, &u)
		t += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	seen := map[int]bool{}
	for _, a := range arms {
		if a.pids == nil {
			continue
		}
		for _, pid := range a.pids() {
			if seen[pid] {
				continue
			}
			seen[pid] = true
			const scheduler = 2 // of the clocks of a process, CPUCLOCK_SCHED
			var spec unix.Timespec
			if unix.ClockGettime(int32(^pid<<3|scheduler), &spec) == nil {
				t += time.Duration(spec.Nano())
			}
		}
	}
	return t
}

// A machine is what its processors did since it started.
type machine struct{ busy, all time.Duration }

// machineTime reads /proc/stat, whose unit is a hundredth of a second.
func machineTime() (m machine) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return m
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line)[1:] {
		n, _ := strconv.Atoi(field)
		d := time.Duration(n) * 10 * time.Millisecond
		m.all += d
		if i != 3 && i != 4 { // idle, iowait
			m.busy += d
		}
	}
	return m
}

func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return "unknown processor"
}

// ratios divides one arm's samples by another's, round by round.
func ratios(samples map[string][]sample, a, b string, value func(sample) float64) (out []float64) {
	for _, s := range samples[a] {
		for _, other := range samples[b] {
			if other.round == s.round && value(other) > 0 {
				out = append(out, value(s)/value(other))
			}
		}
	}
	return out
}

func p50(s sample) float64       { return float64(s.p50) }
func perSecond(s sample) float64 { return s.perSecond() }

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func (b *bench) add(f figure) {
	if len(f.ratios) == 0 {
		return
	}
	b.figures = append(b.figures, f)
	fmt.Printf("%-70s %s\n", f.name+" / "+f.against, f.value())
}

// value is the median, with the quarter of the ratios that is smallest and the one that is largest left out.
func (f figure) value() string {
	sorted := slices.Sorted(slices.Values(f.ratios))
	low, high := sorted[len(sorted)/4], sorted[len(sorted)-1-len(sorted)/4]
	return fmt.Sprintf("%s (%s to %s)", number(median(f.ratios)), number(low), number(high))
}

func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case v >= 10:
		return fmt.Sprintf("%.0f", v)
	case v >= 1:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// verdict says whether the median is within the limit and the aim.
func (f figure) verdict() string {
	within := func(limit float64) bool {
		if f.atLeast {
			return median(f.ratios) >= limit
		}
		return median(f.ratios) <= limit
	}
	switch {
	case f.must == 0:
		return ""
	case f.aim != 0 && within(f.aim):
		return "aim"
	case within(f.must):
		return "met"
	}
	return "missed"
}

// table is all figures in Markdown.
func (b *bench) table() string {
	var t strings.Builder
	t.WriteString("| figure | against | ratio (half of the rounds) | must | aim | |\n|---|---|---|---|---|---|\n")
	for _, f := range b.figures {
		sign := "≤ "
		if f.atLeast {
			sign = "≥ "
		}
		limit := func(v float64) string {
			if v == 0 {
				return ""
			}
			return sign + number(v)
		}
		fmt.Fprintf(&t, "| %s | %s | %s | %s | %s | %s |\n", f.name, f.against, f.value(), limit(f.must), limit(f.aim),
			strings.TrimSpace(f.verdict()+" "+f.note))
	}
	t.WriteString("\n| group | arm | calls/s | p50, µs | processor, µs a call |\n|---|---|---|---|---|\n")
	seen := map[string]bool{}
	for _, s := range b.samples {
		key := s.group + "|" + s.arm
		if seen[key] {
			continue
		}
		seen[key] = true
		column := func(value func(sample) float64) string {
			var values []float64
			for _, other := range b.samples {
				if other.group == s.group && other.arm == s.arm && other.calls > 0 {
					values = append(values, value(other))
				}
			}
			return fmt.Sprintf("%.0f", median(values))
		}
		fmt.Fprintf(&t, "| %s | %s | %s | %s | %s |\n", s.group, s.arm, column(perSecond),
			column(func(s sample) float64 { return p50(s) / 1000 }), column(sample.cpuPerCall))
	}
	return t.String()
}

// benchstat is all samples, a line each.
func (b *bench) benchstat() string {
	var t strings.Builder
	for _, s := range b.samples {
		if s.calls > 0 {
			fmt.Fprintf(&t, "Benchmark%s/%s %d %.0f ns/op %.0f p50-ns %.1f cpu-us/op %.3f foreign\n",
				strings.ReplaceAll(s.group, " ", "_"), strings.ReplaceAll(s.arm, " ", "_"), s.calls,
				float64(s.elapsed)/float64(s.calls), float64(s.p50), s.cpuPerCall(), s.foreign)
		}
	}
	return t.String()
}
