package telemetry

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/supervise"
)

func startCollector(b *testing.B) (url string) {
	b.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), collectorVariable+"=1")
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// A measured host has telemetry or none.
type measured struct {
	host   *host.Host
	plugin *supervise.Process
	flush  func()          // exports the spans that wait
	spent  []time.Duration // in each group of blocks of calls, by this process
	whole  []time.Duration // also by the plugin
}

// newPlugin starts the plugin that both hosts call: two processes of one program take different times.
func newPlugin(b *testing.B) *supervise.Process {
	b.Helper()
	s, err := supervise.New(supervise.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	p, err := s.Add(supervise.Spec{Name: "steady", Command: []string{os.Args[0]}, Renamed: true})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func newMeasured(b *testing.B, p *supervise.Process, tel *Telemetry, record bool) *measured {
	b.Helper()
	o := host.Options{}
	if tel != nil {
		o.TracerProvider, o.MeterProvider = tel.TracerProvider(), tel.MeterProvider()
	}
	if record {
		log, err := audit.Open(filepath.Join(b.TempDir(), "audit.jsonl"), audit.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = log.Close() })
		o.Audit = log
	}
	h, err := host.New(map[string]host.Plugin{"steady": p}, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close() })
	m := &measured{host: h, plugin: p, flush: func() {}}
	if tel != nil && tel.traces != nil {
		m.flush = func() { _ = tel.traces.ForceFlush(context.Background()) }
	}
	for range 1000 {
		m.call(b)
	}
	return m
}

// run makes a block of calls, and adds the processor time that they took, to a new group with the first block of one.
// Spans are exported at the end of a group's last block, so that no other block has the cost.
func (m *measured) run(b *testing.B, first, last bool) {
	b.Helper()
	own, plugin := ownTime(b), timeOf(b, m.plugin.Status().PID)
	for range block {
		m.call(b)
	}
	if last {
		m.flush()
	}
	spent := ownTime(b) - own
	if first {
		m.spent, m.whole = append(m.spent, 0), append(m.whole, 0)
	}
	m.spent[len(m.spent)-1] += spent
	m.whole[len(m.whole)-1] += spent + timeOf(b, m.plugin.Status().PID) - plugin
}

func (m *measured) call(b *testing.B) {
	b.Helper()
	r := m.host.Call(context.Background(), host.Call{Tool: "steady__read", Arguments: json.RawMessage(`{"path":"main.go"}`)})
	if r.Error != nil {
		b.Fatal(r.Error)
	}
}

func ownTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// timeOf is the processor time of a process with all its threads.
func timeOf(b *testing.B, pid int) (sum time.Duration) {
	b.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		b.Skip("the kernel does not say how long processes ran")
	}
	for _, f := range files {
		text, _ := os.ReadFile(f)
		n, _, _ := strings.Cut(string(text), " ")
		ns, _ := strconv.ParseInt(n, 10, 64)
		sum += time.Duration(ns)
	}
	return sum
}

// median does not see the groups that something else on the machine has disturbed.
func median(all []time.Duration) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

func differences(a, b []time.Duration) (out []time.Duration) {
	for i := range a {
		out = append(out, a[i]-b[i])
	}
	return out
}

const block = 100 // calls

// BenchmarkCost measures how much processor time a call takes more with telemetry, at a sample ratio, as a part of
// what a call takes in this process and in the plugin. Blocks of calls with and without it take turns. A group of
// blocks has as many spans as an export takes, two of a call.
func BenchmarkCost(b *testing.B) {
	for _, record := range []bool{false, true} {
		for _, ratio := range []float64{0, 0.1, 1} {
			b.Run(fmt.Sprintf("record=%t/ratio=%g", record, ratio), func(b *testing.B) {
				tel, err := New(b.Context(), Options{Settings: config.Telemetry{Endpoint: startCollector(b), SampleRatio: &ratio}})
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = tel.Shutdown(context.Background()) }()
				p := newPlugin(b)
				off, on := newMeasured(b, p, nil, record), newMeasured(b, p, tel, record)
				group := 24
				if ratio > 0 {
					group = min(group, int(512/(2*block*ratio)))
				}
				for b.Loop() {
					for n := range group {
						one, other := off, on
						if n%2 == 1 {
							one, other = on, off
						}
						one.run(b, n == 0, n == group-1)
						other.run(b, n == 0, n == group-1)
					}
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(median(off.whole))/float64(group*block), "cpu-ns/call")
				b.ReportMetric(float64(median(differences(on.spent, off.spent)))/float64(group*block), "more-ns/call")
				b.ReportMetric(100*float64(median(differences(on.whole, off.whole)))/float64(median(off.whole)), "%more")
			})
		}
	}
}
