package config

import "time"

// Defaults are what holds for every tool that has no word of its own. Zero values are not set.
type Defaults struct {
	MaxCostTier       string        // the most expensive tier of tools that may be called, "" for no limit
	Timeout           time.Duration // at most an hour
	MaxResultBytes    int           // at most 64 MiB
	ErrorMessageLimit int           // characters that are kept of an error's message, at most 100000
	MaxConcurrency    int           // calls at once in the host, of all plugins together, at most 10000
	WithoutFloor      bool          // commands that would destroy the machine are left to the rules
}

// defaults reads the attributes of the file itself.
func (f *fields) defaults() Defaults {
	floor := f.choice("floor")
	return Defaults{
		MaxCostTier:       f.oneOf("max_cost_tier", costTiers),
		Timeout:           f.duration("default_timeout", time.Hour),
		MaxResultBytes:    f.integer("max_result_bytes", maxResult),
		ErrorMessageLimit: f.integer("error_message_limit", 100_000),
		MaxConcurrency:    f.integer("max_concurrency", 10_000),
		WithoutFloor:      floor != nil && !*floor,
	}
}
