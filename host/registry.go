package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// A registry knows every plugin, and which tools each has. It lists a plugin when the first call needs it.
type registry struct {
	plugins map[string]*listing
	limit   time.Duration // how long a plugin may take to tell its tools
}

var pluginName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

func newRegistry(plugins map[string]Plugin, o Options) (*registry, error) {
	r := &registry{plugins: map[string]*listing{}, limit: o.DefaultTimeout}
	for _, name := range slices.Sorted(maps.Keys(plugins)) {
		if !pluginName.MatchString(name) {
			return nil, fmt.Errorf("host: plugin name %q must match %s", name, pluginName)
		}
		if plugins[name] == nil {
			return nil, fmt.Errorf("host: plugin %q is nil", name)
		}
		r.plugins[name] = &listing{name: name, plugin: plugins[name], log: o.Logger, turn: make(chan struct{}, 1)}
	}
	return r, nil
}

// lookup finds the tool of a call by its exact full name.
func (h *Host) lookup(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		tool, err := h.registry.find(ctx, c.Tool, c.Timeout)
		if err != nil {
			return nil, err
		}
		c.Definition = tool
		return next(ctx, c)
	}
}

// find asks the plugin if need be, for no longer than the caller's own limit, if he has one.
func (r *registry) find(ctx context.Context, name string, limit time.Duration) (*Tool, error) {
	plugin, _, _ := strings.Cut(name, "__")
	l := r.plugins[plugin]
	if l == nil {
		return nil, r.notFound(ctx, name, known{})
	}
	if t := l.load().tools[name]; t != nil {
		return t, nil
	}
	asking, cancel := context.WithTimeout(ctx, firstPositive(limit, r.limit))
	defer cancel()
	own, err := l.list(asking)
	if err != nil {
		return nil, err
	}
	if t := own.tools[name]; t != nil {
		return t, nil
	}
	return nil, r.notFound(ctx, name, own)
}

// all lists every plugin, side by side, and gives the tools by name and what is wrong with some.
func (r *registry) all(ctx context.Context) ([]*Tool, []error) {
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	var mu sync.Mutex
	var tools []*Tool
	var problems []error
	var wg sync.WaitGroup
	for _, l := range r.plugins {
		wg.Go(func() {
			own, err := l.list(ctx)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				problems = append(problems, err)
				return
			}
			tools = slices.AppendSeq(tools, maps.Values(own.tools))
			problems = append(problems, own.problems...)
		})
	}
	wg.Wait()
	slices.SortFunc(tools, func(a, b *Tool) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return tools, problems
}

func (r *registry) forget(plugin string) { r.plugins[plugin].forget() }

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
