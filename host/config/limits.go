package config

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/zclconf/go-cty/cty"
)

// Limits bound the calls of a tool, or of all tools of a plugin together. Zero values are not set.
type Limits struct {
	Concurrency int     // calls at once, at most 1000
	Queue       int     // calls that wait for their turn, at most 100000
	Rate        float64 // calls a second
	Burst       int     // calls at once after a rest, at most 100000
	MaxCalls    int     // calls in one session, at most a million
}

// PluginSettings are what the user says about all tools of a plugin. Zero values are not set.
type PluginSettings struct {
	Limits Limits
	// IgnoreHints is trust_hints = false: what the plugin says of its tools counts for nothing.
	IgnoreHints bool
	// FreeTools is pin_tools = false: the lock file says nothing of its tools.
	FreeTools bool
	Source    string // such as "config.hcl:12"
}

// limits reads the limits that stand in a block.
func (f *fields) limits() Limits {
	out := Limits{
		Concurrency: f.integer("concurrency", 1000),
		Queue:       f.integer("queue", 100_000),
		Rate:        f.rate("rate"),
		Burst:       f.integer("burst", 100_000),
		MaxCalls:    f.integer("max_calls", 1_000_000),
	}
	f.needs("queue", "concurrency", "4")
	f.needs("burst", "rate", `"10/s"`)
	return out
}

// needs reports an attribute that means nothing without another one.
func (f *fields) needs(name, other, example string) {
	if f.given[name] && !f.given[other] {
		f.wrong(f.body.Attributes[name].NameRange, "%s means nothing without %s", name, other).hint("add %s = %s, or remove it", other, example)
	}
}

// pluginLimits reads the limits block of a plugin.
func (f *fields) pluginLimits() Limits {
	b := f.block("limits")
	if b == nil {
		return Limits{}
	}
	in := f.open(b.Body, "limits", f.what+", limits")
	out := in.limits()
	in.done()
	return out
}

var ratePattern = regexp.MustCompile(`^([0-9]{1,9}(?:\.[0-9]{1,9})?)/(s|m|h)$`)

// rate reads how many calls a second, 0 when there is no limit.
func (f *fields) rate(name string) float64 {
	v, e := f.typed(name, kind{`a rate such as "10/s"`, textKind.is}, func(v cty.Value) string {
		return fmt.Sprintf("write %s = %s", name, rateFor(v))
	})
	if e == nil {
		return 0
	}
	m := ratePattern.FindStringSubmatch(v.AsString())
	if m == nil {
		f.wrong(e.Range(), "%s cannot be %q", name, brief(v.AsString())).hint(`write a number and /s, /m or /h, such as "10/s" or "60/m"`)
		return 0
	}
	n, _ := strconv.ParseFloat(m[1], 64) // what matches is a number
	n /= map[string]float64{"s": 1, "m": 60, "h": 3600}[m[2]]
	if n <= 0 || n > 1e6 {
		f.wrong(e.Range(), "%s must be more than zero, and at most a million a second", name).hint("remove it to have no limit")
	}
	return n
}

// rateFor shows the rate that was probably meant by a value of another type.
func rateFor(v cty.Value) string {
	if numberKind.is(v) {
		return fmt.Sprintf(`"%s/s" if you mean calls a second`, v.AsBigFloat().Text('f', -1))
	}
	return `"10/s"`
}
