package host

import (
	"cmp"
	"math"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// Limits bound the calls of one tool, or of all tools of one plugin together. Zero is no limit. A call over a limit is
// refused with CodeLimit: it never reaches the plugin and does not count as a failure of it.
type Limits struct {
	// Concurrency is how many calls run at once. Others wait in line for five minutes at most; that time is no part of their
	// own timeout. The callers in line take turns, and one caller's calls run in the order in which they came.
	Concurrency int
	// Queue is how many calls may wait for Concurrency; one more is refused at once, or the last of the caller who has most in
	// line, if the one more is of a caller with fewer. That of a plugin counts all that wait for any of its tools. Zero is 16
	// times Concurrency; below zero, none may wait.
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
	of string // such as `tool "shell__exec"`

	Limits                         // guarded by the line's lock, like all that follows
	rate             *rate.Limiter // of Rate and Burst
	running, waiting int
	typical          time.Duration // how long calls take lately

	queue   waiters           // of a tool: its calls in line
	callers map[caller]*share // what each has in line
	ranks   shares            // the same, by how much it is
}

func newBound(of string, l Limits) *bound {
	l = l.filled()
	return &bound{Limits: l, of: of, rate: newRate(l)}
}

// A pair is what bounds one call: its tool and its plugin.
type pair [2]*bound

// set changes the limits. What calls take up of them stays.
func (b *bound) set(l Limits) {
	l = l.filled()
	if l.Rate != b.Rate || l.Burst != b.Burst {
		b.rate = newRate(l)
	}
	b.Limits = l
}

func newRate(l Limits) *rate.Limiter {
	if l.Rate == 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(l.Rate), l.Burst)
}

// limitsOfEach are what each plugin may take up of that, without limits of its own: a quarter is left for the others, so
// that a flood of calls to one plugin holds up no other. A host of few calls is one plugin's if need be.
func limitsOfEach(plugins map[string]*listing, o Options) map[string]Limits {
	all := limitsOfAll(o).filled()
	if all.Concurrency < 16 {
		return nil
	}
	out := map[string]Limits{}
	for name := range plugins {
		out[name] = Limits{Concurrency: all.Concurrency - all.Concurrency/4, Queue: all.Queue - all.Queue/4}
	}
	return out
}

// limitsOfAll are those of all calls together.
func limitsOfAll(o Options) Limits {
	return Limits{Concurrency: o.MaxConcurrency, Queue: 4 * min(o.MaxConcurrency, math.MaxInt/4)}
}

// adoptLines gives a line to each plugin that has limits, or one of whose tools has. Lines that there are go on under the
// new limits, or under none while there are calls in them.
func adoptLines(old map[string]*line, o Options) map[string]*line {
	lines, tools := map[string]*line{}, limitsOfTools(o)
	for name, p := range o.Plugins {
		if p.Limits != (Limits{}) || tools[name] != nil {
			lines[name] = cmp.Or(old[name], newLine(name, Limits{}))
		}
	}
	for name := range tools {
		lines[name] = cmp.Or(lines[name], old[name], newLine(name, Limits{}))
	}
	for name, l := range old {
		if lines[name] == nil {
			l.adopt(Limits{}, nil) // nothing holds up those who wait
			if l.busy() {
				lines[name] = l // they count when there are limits again
			}
		}
	}
	for name, l := range lines {
		l.adopt(o.Plugins[name].Limits, tools[name])
	}
	return lines
}

// limitsOfTools are those that are set, by plugin and by full name.
func limitsOfTools(o Options) map[string]map[string]Limits {
	out := map[string]map[string]Limits{}
	for name, t := range o.Tools {
		plugin, _, _ := strings.Cut(name, "__")
		switch {
		case t.Limits == (Limits{}):
			continue
		case out[plugin] == nil:
			out[plugin] = map[string]Limits{}
		}
		out[plugin][name] = t.Limits
	}
	return out
}
