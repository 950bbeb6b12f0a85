package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/supervise"
)

// A found is the configuration and the plugins that it leads to.
type found struct {
	config   *config.Config
	specs    []supervise.Spec
	problems []error // sources of plugins that cannot be used

	notices map[string]error             // plugins that are not locked
	pins    map[string]map[string]string // see host.Options
}

// find reads the configuration and looks for its plugins, if it may.
func (g *globals) find(ctx context.Context, o opening) (*found, error) {
	load := g.loadOrShipped
	if o.configured {
		load = g.load
	}
	c, err := load()
	if err != nil {
		return nil, err
	}
	if o.offline {
		return findOffline(ctx, c), nil
	}
	if err := g.admit(ctx, c, o.person); err != nil {
		return nil, err
	}
	return find(ctx, c), nil
}

// find looks for the plugins; discovery commands are run for it.
func find(ctx context.Context, c *config.Config) *found {
	specs, problems := supervise.Find(ctx, sources(c))
	return foundIn(c, specs, problems)
}

// foundIn is what was found, as it may be used: by what it is locked to, and by whose it is.
func foundIn(c *config.Config, specs []supervise.Spec, problems []error) *found {
	specs, notices := c.Locked.Check(trustOwn(specs, c.Locked), c.LockMode, c.Dir)
	return &found{config: c, specs: specs, problems: problems, notices: notices, pins: c.Pins()}
}

// findOffline is find without running anything.
func findOffline(ctx context.Context, c *config.Config) *found {
	f := findStill(ctx, c)
	for _, d := range c.Discovery {
		f.problems = append(f.problems, fmt.Errorf("%s: plugin_discovery %q is not run, and the plugins that it names are not known", d.Source, d.Name))
	}
	return f
}

// findStill looks for the plugins that can be found without running anything.
func findStill(ctx context.Context, c *config.Config) *found {
	from := sources(c)
	from.Commands = nil
	specs, problems := supervise.Find(ctx, from)
	return foundIn(c, specs, problems)
}

// findToCheck runs what a trusted configuration names to find plugins, and nothing of another.
func findToCheck(ctx context.Context, c *config.Config, trusted bool) *found {
	if trusted {
		return find(ctx, c)
	}
	return findStill(ctx, c)
}

func sources(c *config.Config) supervise.Sources {
	commands := slices.Clone(c.Discovery)
	for i := range commands {
		commands[i].Protect = slices.Concat(protect(c), reserve(c, c.Plugins))
	}
	return supervise.Sources{Plugins: c.Plugins, Dirs: c.PluginDirs, Commands: commands}
}
