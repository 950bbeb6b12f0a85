package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/toolhost/toolhost/host/supervise"
)

// Plugins are the plugins of a host. *bootstrap.Instance implements it.
type Plugins interface {
	// Processes returns the plugins in use.
	Processes() []*supervise.Process
}

// Observe reports the states, starts, crashes, memory and processor time of plugins as metrics, read when they are
// scraped or exported, until stop is called.
func (t *Telemetry) Observe(p Plugins) (stop func(), err error) {
	if t.metrics == nil {
		return func() {}, nil
	}
	m := t.metrics.Meter(scope)
	o := &observer{plugins: p, usage: map[string]*usage{}}
	o.state, err = m.Int64ObservableGauge("toolhost.plugin.state", metric.WithDescription(
		"1 for the state that a plugin is in."))
	if err != nil {
		return nil, err
	}
	counters := []struct {
		to                      *metric.Int64Observable
		name, unit, description string
		up                      bool // never goes down
	}{
		{&o.starts, "toolhost.plugin.starts", "{start}", "Starts of a plugin's process, also those that failed.", true},
		{&o.restarts, "toolhost.plugin.restarts", "{restart}", "Starts after the first, without reloads.", true},
		{&o.crashes, "toolhost.plugin.crashes", "{crash}", "Crashes of a plugin, and starts that failed.", true},
		{&o.quarantines, "toolhost.plugin.quarantines", "{quarantine}",
			"How often a plugin was not started for five minutes, because it crashed too often.", true},
		{&o.cache, "toolhost.plugin.cache.lookups", "{lookup}",
			"Lists of tools that the cache had (hit), and for which the plugin was started (miss).", true},
		{&o.calls, "toolhost.plugin.calls.running", "{call}", "Calls that a plugin runs.", false},
		{&o.processes, "toolhost.plugin.processes", "{process}", "Processes of a plugin and of what it has started.", false},
		{&o.memory, "toolhost.plugin.memory", "By",
			"Resident memory of a plugin's processes. What they share counts for each.", false},
	}
	for _, c := range counters {
		unit, description := metric.WithUnit(c.unit), metric.WithDescription(c.description)
		if c.up {
			*c.to, err = m.Int64ObservableCounter(c.name, unit, description)
		} else {
			*c.to, err = m.Int64ObservableUpDownCounter(c.name, unit, description)
		}
		if err != nil {
			return nil, err
		}
	}
	o.time, err = m.Float64ObservableCounter("toolhost.plugin.cpu.time", metric.WithUnit("s"),
		metric.WithDescription("Processor time of a plugin's processes, also of those that have ended."))
	if err != nil {
		return nil, err
	}
	registered, err := m.RegisterCallback(o.observe, o.state, o.starts, o.restarts, o.crashes, o.quarantines, o.cache,
		o.calls, o.processes, o.memory, o.time)
	if err != nil {
		return nil, err
	}
	return func() { _ = registered.Unregister() }, nil
}

// An observer reads the plugins of one host.
type observer struct {
	plugins Plugins

	state, starts, restarts, crashes, quarantines, cache, calls, processes, memory metric.Int64Observable
	time                                                                           metric.Float64Observable

	mu    sync.Mutex
	usage map[string]*usage // by plugin
	read  time.Time         // when usage was read
}

// A processTree is what a process and all that it has started use.
type processTree struct {
	processes int
	memory    int64         // resident, in bytes
	time      time.Duration // of processors, also of ended processes that were waited for
}

// usage is what a plugin's processes use.
type usage struct {
	processTree
	measured bool
	root     int           // the process whose tree it is
	ended    time.Duration // processor time of earlier trees
}

// usageAge is how long what was read of processes is used again: several programs may scrape, and each reads a file per
// process.
const usageAge = time.Second

func (o *observer) observe(_ context.Context, out metric.Observer) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.plugins.Processes()
	if time.Since(o.read) >= usageAge {
		o.readUsage(all)
	}
	for _, p := range all {
		s := p.Status()
		of := attribute.String("toolhost.plugin", s.Name)
		plugin := metric.WithAttributeSet(attribute.NewSet(of))
		out.ObserveInt64(o.state, 1, metric.WithAttributes(of, attribute.String("toolhost.plugin.state", string(s.State))))
		out.ObserveInt64(o.starts, int64(s.Starts), plugin)
		out.ObserveInt64(o.restarts, int64(s.Restarts), plugin)
		out.ObserveInt64(o.crashes, int64(s.TotalCrashes), plugin)
		out.ObserveInt64(o.quarantines, int64(s.Quarantines), plugin)
		out.ObserveInt64(o.cache, int64(s.CacheHits), metric.WithAttributes(of, attribute.String("toolhost.cache", "hit")))
		out.ObserveInt64(o.cache, int64(s.CacheMisses), metric.WithAttributes(of, attribute.String("toolhost.cache", "miss")))
		out.ObserveInt64(o.calls, int64(s.Calls), plugin)
		if u := o.usage[s.Name]; u != nil && u.measured {
			out.ObserveInt64(o.processes, int64(u.processes), plugin)
			out.ObserveInt64(o.memory, u.memory, plugin)
			out.ObserveFloat64(o.time, (u.ended + u.time).Seconds(), plugin)
		}
	}
	return nil
}

// maxProcesses is how many processes of all plugins are read at once. Those after it are not counted.
const maxProcesses = 2000

// readUsage reads the processes of all plugins.
func (o *observer) readUsage(all []*supervise.Process) {
	before, left := o.usage, maxProcesses
	o.usage, o.read = make(map[string]*usage, len(all)), time.Now()
	for _, p := range all {
		s := p.Status()
		u := before[s.Name]
		if u == nil {
			u = &usage{}
		}
		o.usage[s.Name] = u
		root := 0
		if s.PID > 0 {
			root = rootOf(s.PID)
		}
		now := processTree{}
		if root > 0 {
			now = readTree(root, &left)
		}
		u.add(root, now)
	}
}

// Usage returns the resident memory, in bytes, and the processor time of a plugin's process and all that it has
// started. Both are 0 where the system does not tell, and of a process that has ended.
func Usage(pid int) (memory int64, cpu time.Duration) {
	root, left := rootOf(pid), maxProcesses
	if root == 0 {
		return 0, 0
	}
	t := readTree(root, &left)
	return t.memory, t.time
}

// add takes what was read of a plugin's tree of processes. The sum of their times does not go down: neither when a tree
// is replaced, nor when a process ends without its parent waiting for it, which takes its time along.
func (u *usage) add(root int, now processTree) {
	switch {
	case root != u.root:
		u.ended += u.time
	case now.time < u.time:
		u.ended += u.time - now.time
	}
	u.root, u.processTree, u.measured = root, now, u.measured || now.processes > 0
}
