package host

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/internal/queue"
	"github.com/toolhost/toolhost/sdk"
)

// Reload gives the host other plugins and options, all at once, as New would take them: what New refuses, Reload refuses
// too, and changes nothing. Calls that come after it see only the new ones.
//
// A call that has reached its plugin goes on there. One that has not, because it waits for a person's yes or for its turn,
// is looked up and judged again: nothing begins to run under rules that hold no more. A yes stands when the new rules put
// the same question to the same Approver.
//
// What people said yes to, how often sessions have called, and which calls run and wait are not forgotten; but calls of a
// plugin that had no limits when they began do not count against the first that it gets. Saved answers
// become those of o.Remembered unless that is nil. A plugin that is the same value stays listed. One that is gone is not
// closed, since calls may run in it: that is the caller's to do. Catalogs stay good, and OnToolsChanged of the new options
// is told of each plugin whose tools may be others now.
func (h *Host) Reload(plugins map[string]Plugin, o Options) error {
	if err := o.fillIn(); err != nil {
		return err
	}
	old, n, err := h.replace(plugins, o)
	if err != nil {
		return err
	}
	for _, name := range n.changed(old) {
		n.tellChanged(name)
	}
	return nil
}

func (h *Host) replace(plugins map[string]Plugin, o Options) (old, n *snapshot, err error) {
	h.reloading.Lock()
	defer h.reloading.Unlock()
	old = h.now.Load()
	if n, err = h.newSnapshot(plugins, o, old); err != nil {
		return nil, nil, err
	}
	if !h.change(n) {
		return nil, nil, errors.New("host: the host is closed, and takes no other plugins")
	}
	return old, n, nil
}

// change puts a snapshot in place; false means that the host is closed.
func (h *Host) change(n *snapshot) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.base.Err() != nil {
		return false
	}
	var queues map[string]*queue.Queue
	if before := h.now.Load(); before != nil {
		queues = before.queues
		h.memory.replaceSaved(n.options.Remembered)
	}
	n.limitPlugins(queues)
	n.limitHost()
	h.now.Store(n)
	h.changes.Add(1) // after that: who looks in between looks again
	h.watchOnly(n)
	return true
}

// errReplaced sends a call round again, since the rules by which it was let through hold no more.
var errReplaced = errors.New("host: the rules were replaced")

func (h *snapshot) replaced() bool { return h.now.Load() != h }

// renew has a call that was overtaken by a Reload before it ran looked up and judged by what holds then.
func (h *snapshot) renew(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		result, err := next(ctx, c)
		if err != errReplaced { //nolint:errorlint // it is never wrapped
			return result, err
		}
		c.preview, c.doubted, c.problem = nil, false, ""
		return h.now.Load().renewed(ctx, c)
	}
}

// same compares two values of any kind; those that cannot be compared differ.
func same(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	return (!x.IsValid() || x.Comparable()) && (!y.IsValid() || y.Comparable()) && a == b
}

// listing is nil for a plugin that is not there.
func (h *snapshot) listing(plugin string) *listing {
	if h == nil {
		return nil
	}
	return h.registry.plugins[plugin]
}

// fits says whether what is known of a plugin also holds for another listing of it.
func (l *listing) fits(other *listing) bool {
	return l != nil && same(l.plugin, other.plugin) && l.deaf == other.deaf && maps.Equal(l.descriptions(), other.descriptions()) &&
		(l.pins.hashes == nil) == (other.pins.hashes == nil) && maps.Equal(l.pins.hashes, other.pins.hashes)
}

// descriptions are those that stand in for the plugin's own, and the aliases.
func (l *listing) descriptions() map[string]string {
	out := map[string]string{}
	for name, o := range l.options {
		if (o.Description != "" || len(o.Aliases) > 0) && strings.HasPrefix(name, l.name+"__") {
			out[name] = strings.Join(append(o.Aliases[:len(o.Aliases):len(o.Aliases)], o.Description), "\n")
		}
	}
	return out
}

// changed names the plugins whose tools may be others than they were, in order.
func (h *snapshot) changed(old *snapshot) (names []string) {
	all := maps.Clone(h.registry.plugins)
	maps.Copy(all, old.registry.plugins)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		before, now := old.listing(name), h.listing(name)
		if before != now || !slices.Equal(old.offered(now), h.offered(now)) {
			names = append(names, name)
		}
	}
	return names
}

// offered names the tools that are known and not hidden.
func (h *snapshot) offered(l *listing) (names []string) {
	for name, t := range l.load().tools {
		if !h.hides(t) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
