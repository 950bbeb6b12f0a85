package main

import (
	"cmp"
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
	worker  *worker // makes the calls, in place of call; nil: this process does
}

// slice is how long an arm is measured at once.
const slice = 120 * time.Millisecond

// A sample is what one slice gave.
type sample struct {
	group, arm string
	round      int
	measured
	foreign float64 // the share of the machine that others took in the round
}

type measured struct {
	Calls   int
	Elapsed time.Duration
	CPU     time.Duration // of all processes that worked
	P50     time.Duration
}

// perSecond is calls per second.
func (s sample) perSecond() float64 { return float64(s.Calls) / s.Elapsed.Seconds() }

func (s sample) cpuPerCall() float64 { return float64(s.CPU.Microseconds()) / float64(s.Calls) }

// maxForeign is the share of the machine that others may take in a round that counts.
const maxForeign = 0.03

// compare measures arms in turn, round by round, and keeps the samples of the rounds that count.
func (b *bench) compare(ctx context.Context, group string, arms []*arm) (map[string][]sample, error) {
	for _, a := range arms {
		if err := a.warmUp(); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", group, a.name, err)
		}
	}
	all := map[string][]sample{}
	for round := range b.rounds() {
		before, others := machineTime(), timeOf(arms)
		var taken []sample
		for _, i := range b.random.Perm(len(arms)) {
			m, err := arms[i].measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", group, arms[i].name, err)
			}
			taken = append(taken, sample{group: group, arm: arms[i].name, round: round, measured: m})
		}
		busy, own := machineTime(), timeOf(arms)-others
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

// warmUp makes three calls: the first ones start processes.
func (a *arm) warmUp() (err error) {
	if a.worker != nil {
		_, err = a.worker.do(warmUp)
		return err
	}
	for range 3 {
		err = cmp.Or(err, a.call(0))
	}
	return err
}

// measure has the arm's callers call for a slice.
func (a *arm) measure(ctx context.Context) (m measured, err error) {
	if a.worker != nil {
		r, err := a.worker.do(callSlice)
		return r.Measured, err
	}
	var all sync.WaitGroup
	times := make([][]time.Duration, a.callers)
	errs := make([]error, a.callers)
	cpu, began := timeOf([]*arm{a}), time.Now()
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
	m.Elapsed, m.CPU = time.Since(began), timeOf([]*arm{a})-cpu
	for _, err := range errs {
		if err != nil {
			return m, err
		}
	}
	took := slices.Concat(times...)
	slices.Sort(took)
	m.Calls = len(took)
	if m.Calls > 0 {
		m.P50 = took[len(took)/2]
	}
	return m, nil
}

// timeOf is the processor time of this process, of its children that have ended, and of the arms' processes.
func timeOf(arms []*arm) (t time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		_ = syscall.Getrusage(who, &u)
		t += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	seen := map[int]bool{}
	for _, a := range arms {
		if a.worker != nil {
			r, _ := a.worker.do(usedTime) // the next slice tells if it has ended
			t += time.Duration(r.Value)
		}
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

func p50(s sample) float64       { return float64(s.P50) }
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
				if other.group == s.group && other.arm == s.arm && other.Calls > 0 {
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
		if s.Calls > 0 {
			fmt.Fprintf(&t, "Benchmark%s/%s %d %.0f ns/op %.0f p50-ns %.1f cpu-us/op %.3f foreign\n",
				strings.ReplaceAll(s.group, " ", "_"), strings.ReplaceAll(s.arm, " ", "_"), s.Calls,
				float64(s.Elapsed)/float64(s.Calls), float64(s.P50), s.cpuPerCall(), s.foreign)
		}
	}
	return t.String()
}
