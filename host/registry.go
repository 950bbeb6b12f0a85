package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/internal/lazy"
	"github.com/toolhost/toolhost/sdk"
)

// A registry knows every plugin, and which tools each has. It lists a plugin when the first call needs it.
type registry struct {
	plugins map[string]*listing
	limit   time.Duration    // how long a plugin may take to tell its tools
	hides   func(*Tool) bool // tools that nobody is offered, though they can be called
	single  bool             // the host makes one call
}

var pluginName = lazy.Regexp(`^[a-z][a-z0-9-]{0,31}$`)

// newRegistry takes over the listings of plugins for which nothing has changed.
func (h *Host) newRegistry(plugins map[string]Plugin, o Options, old *snapshot) (*registry, error) {
	r := &registry{plugins: map[string]*listing{}, limit: o.DefaultTimeout, single: o.SingleCall}
	plugins = maps.Clone(plugins)
	if _, taken := plugins[builtIn]; !taken {
		if plugins == nil {
			plugins = map[string]Plugin{}
		}
		plugins[builtIn] = searchPlugin{h}
	}
	for _, name := range slices.Sorted(maps.Keys(plugins)) {
		if !pluginName().MatchString(name) {
			return nil, fmt.Errorf("host: plugin name %q must match %s", name, pluginName())
		}
		if plugins[name] == nil {
			return nil, fmt.Errorf("host: plugin %q is nil", name)
		}
		l := &listing{name: name, plugin: plugins[name], log: h.logger, turn: make(chan struct{}, 1), changes: &h.changes,
			deaf: o.Plugins[name].IgnoreHints, options: o.Tools, pins: pins{o.Pins[name], o.Pinned}}
		if before := old.listing(name); before.fits(l) {
			l = before
		}
		r.plugins[name] = l
	}
	return r, nil
}

// lookup finds the tool of a call by its exact full name, if the call's catalog has it.
func (h *snapshot) lookup(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if e := c.checkNames(); e != nil {
			return nil, e
		}
		if u := c.unlisted; u.by == h && u.tool == c.Tool {
			return nil, u.err
		}
		tool, err := h.registry.find(ctx, c)
		if err != nil {
			return nil, err
		}
		c.Definition = tool
		return next(ctx, c)
	}
}

func (r *registry) find(ctx context.Context, c *Call) (*Tool, error) {
	plugin, _, _ := strings.Cut(c.Tool, "__")
	l := r.plugins[plugin]
	if l == nil {
		return nil, r.notFound(ctx, c, known{})
	}
	own, err := r.toolsFor(ctx, c, l)
	if err != nil {
		return nil, err
	}
	t := own.tools[c.Tool]
	switch {
	case t == nil:
		if e := own.refused(c); e != nil {
			return nil, e
		}
		return nil, r.notFound(ctx, c, own)
	case !c.catalog.allows(t):
		return nil, r.notInCatalog(ctx, c, own)
	}
	if e := r.offered(t); e != nil {
		return nil, e
	}
	return t, nil
}

// toolsFor asks the plugin if need be, for no longer than the caller's own limit, if he has one. It does not ask for a
// name that the catalog refuses whatever the tool is.
func (r *registry) toolsFor(ctx context.Context, c *Call, l *listing) (known, error) {
	own := l.load()
	switch {
	case own.tools != nil:
		return own, nil
	case !c.catalog.allowsName(c.Tool):
		return known{}, r.notInCatalog(ctx, c, known{})
	}
	asking, cancel := context.WithTimeout(ctx, firstPositive(c.Timeout, r.limit))
	defer cancel()
	return l.list(asking)
}

// all gives the tools of a catalog by name, and what is wrong with some. It is complete when every plugin could tell.
func (r *registry) all(ctx context.Context, c *Catalog) (tools []*Tool, problems []error, complete bool) {
	complete = true
	for _, a := range r.gather(ctx, c.reaches) {
		if a.err != nil {
			problems, complete = append(problems, a.err), false
			continue
		}
		own, wrong := c.pick(a.known)
		own = slices.DeleteFunc(own, r.hides)
		tools, problems = append(tools, own...), append(problems, wrong...)
	}
	slices.SortFunc(tools, byName)
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return tools, problems, complete
}

// An answer is what a plugin has for tools, or why it cannot tell.
type answer struct {
	plugin string
	known
	err error
}

// gather lists the plugins that are wanted, side by side, in any order.
func (r *registry) gather(ctx context.Context, wanted func(plugin string) bool) []answer {
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	var mu sync.Mutex
	var answers []answer
	var wg sync.WaitGroup
	for name, l := range r.plugins {
		if wanted(name) {
			wg.Go(func() {
				own, err := l.list(ctx)
				mu.Lock()
				defer mu.Unlock()
				answers = append(answers, answer{name, own, err})
			})
		}
	}
	wg.Wait()
	return answers
}

// close ends all plugins, side by side.
func (r *registry) close() error {
	var mu sync.Mutex
	var all []error
	var wg sync.WaitGroup
	for _, l := range r.plugins {
		wg.Go(func() {
			if err := l.plugin.Close(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, fmt.Errorf("closing plugin %q: %w", l.name, err))
			}
		})
	}
	wg.Wait()
	return errors.Join(all...)
}
