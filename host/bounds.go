package host

import (
	"fmt"
	"math"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// Limits bound the calls of one tool, or of all tools of one plugin together. Zero is no limit. A call over a limit is
// refused with CodeLimit: it never reaches the plugin and does not count as a failure of it.
type Limits struct {
	// Concurrency is how many calls run at once. Others wait in line, first come, first served, for five minutes at most;
	// that time is no part of their own timeout.
	Concurrency int
	// Queue is how many calls may wait for Concurrency; one more is refused at once. That of a plugin counts all that wait
	// for any of its tools. Zero is 16 times Concurrency; below zero, none may wait.
	Queue int
	// Rate is how many calls a second there may be, in the long run; one too early is refused at once.
	Rate float64
	// Burst is how many calls Rate lets through at once after a pause; zero is as many as in one second, at least one.
	Burst int
	// MaxCalls is how many calls each session may make. Calls that were not run do not count. The host remembers the 10 000
	// sessions that called last; one that it had to forget starts anew.
	MaxCalls int
}

// PluginOptions are a user's settings for one plugin.
type PluginOptions struct {
	Limits
	// IgnoreHints makes what the plugin says of how its tools behave count for nothing: their hints, category and cost tier.
	IgnoreHints bool
}

// filled replaces what is absent or makes no sense. Queue is a count of places afterwards.
func (l Limits) filled() Limits {
	l.Concurrency, l.MaxCalls = max(l.Concurrency, 0), max(l.MaxCalls, 0)
	if l.Queue == 0 {
		l.Queue = 16 * min(l.Concurrency, math.MaxInt/16)
	}
	l.Queue = max(l.Queue, 0)
	if !(l.Rate > 0) || math.IsInf(l.Rate, 1) { // NaN is above nothing
		l.Rate = 0
	}
	l.Burst = firstPositive(l.Burst, int(math.Ceil(min(l.Rate, math.MaxInt32))))
	return l
}

// A bound is what is set for one tool or plugin, and what its calls take up of it.
type bound struct {
	Limits
	of   string        // such as `tool "shell__exec"`
	rate *rate.Limiter // of Rate and Burst

	running, waiting int           // guarded by the line's lock
	typical          time.Duration // how long calls take lately; guarded too
}

func newBound(of string, l Limits) *bound {
	l = l.filled()
	b := &bound{Limits: l, of: of, rate: rate.NewLimiter(rate.Inf, 0)}
	if l.Rate > 0 {
		b.rate = rate.NewLimiter(rate.Limit(l.Rate), l.Burst)
	}
	return b
}

// A pair is what bounds one call: its tool and its plugin.
type pair [2]*bound

// newLines makes a line for each plugin that has limits, or one of whose tools has.
func newLines(o Options) map[string]*line {
	lines := map[string]*line{}
	of := func(plugin string) *line {
		if lines[plugin] == nil {
			lines[plugin] = newLine(plugin, o.Plugins[plugin].Limits)
		}
		return lines[plugin]
	}
	for name, p := range o.Plugins {
		if p.Limits != (Limits{}) {
			of(name)
		}
	}
	for name, t := range o.Tools {
		if t.Limits != (Limits{}) {
			plugin, _, _ := strings.Cut(name, "__")
			of(plugin).tools[name] = newBound(fmt.Sprintf("tool %q", name), t.Limits)
		}
	}
	return lines
}
