package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/internal/queue"
	"github.com/toolhost/toolhost/sdk"
)

// Reload replaces the host's plugins and options atomically by those that New would accept; if New would refuse them,
// Reload returns the error and changes nothing. Later calls see only the new ones.
// A call that has reached its plugin continues there. One that has not, because it waits for an approval or for its
// slot, is looked up and decided on again: no call starts under rules that have been replaced. An approval still
// holds if the new rules ask the same question to the same Approver.
// Approvals, the counts of sessions, and running and waiting calls are kept; but if a plugin had no limits before, the
// new ones do not count the calls that already run. Saved approvals are replaced by o.Remembered unless that is
// nil. A plugin that is the same value stays listed. A plugin that is removed is not closed, since calls may run in
// it: the caller closes it. Catalogs stay valid, and OnToolsChanged of the new options is called for each plugin
// whose tools may have changed.
func (h *Host) Reload(plugins map[string]Plugin, o Options) error {
	if err := o.fillIn(); err != nil {
		return err
	}
	old, n, err := h.replace(plugins, o)
	if err != nil {
		return err
	}
	for _, name := range n.changedPlugins(old) {
		n.reportChanged(name)
	}
	return nil
}

func (h *Host) replace(plugins map[string]Plugin, o Options) (old, n *snapshot, err error) {
	h.reloading.Lock()
	defer h.reloading.Unlock()
	old = h.current.Load()
	if n, err = h.newSnapshot(plugins, o, old); err != nil {
		return nil, nil, err
	}
	if !h.change(n) {
		n.instruments.replaceWith(old.instruments)
		return nil, nil, errors.New("host: the host is closed, and takes no other plugins")
	}
	old.instruments.replaceWith(n.instruments)
	return old, n, nil
}

// change installs a snapshot; false means that the host is closed.
func (h *Host) change(n *snapshot) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.base.Err() != nil {
		return false
	}
	var queues map[string]*queue.Queue
	if before := h.current.Load(); before != nil {
		queues = before.queues
		h.approvals.replaceSaved(n.options.Remembered)
	}
	n.limitPlugins(queues)
	n.limitHost()
	h.current.Store(n)
	h.changes.Add(1) // after that: a catalog that was listed in between is listed again
	h.updateWatches(n)
	return true
}

// errReplaced is the error of a call whose snapshot was replaced before it ran.
var errReplaced = errors.New("host: the rules were replaced")

// refresh has such a call looked up and decided on again with the new snapshot.
func (h *snapshot) refresh(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		result, err := next(ctx, c)
		if err != errReplaced { //nolint:errorlint // it is never wrapped
			return result, err
		}
		c.problem = ""
		return h.current.Load().chainFromNested(ctx, c)
	}
}

// sameValue compares two values of any type; values that cannot be compared differ.
func sameValue(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	return (!x.IsValid() || x.Comparable()) && (!y.IsValid() || y.Comparable()) && a == b
}

// listing returns nil for an unknown plugin.
func (h *snapshot) listing(plugin string) *listing {
	if h == nil {
		return nil
	}
	return h.registry.plugins[plugin]
}

// fits reports whether the tools of one listing of a plugin are valid for another.
func (l *listing) fits(other *listing) bool {
	return l != nil && sameValue(l.plugin, other.plugin) && l.ignoreHints == other.ignoreHints &&
		l.trustForeign == other.trustForeign &&
		maps.Equal(l.overrides(), other.overrides()) &&
		(l.pins.hashes == nil) == (other.pins.hashes == nil) && maps.Equal(l.pins.hashes, other.pins.hashes)
}

// overrides are the user's descriptions and aliases.
func (l *listing) overrides() map[string]string {
	out := map[string]string{}
	for name, o := range l.options {
		if !strings.HasPrefix(name, l.name+"__") {
			continue
		}
		if o.Description != "" || len(o.Aliases)+len(o.DescriptionFor) > 0 {
			out[name] = fmt.Sprintf("%q %q %q", o.Aliases, o.Description, o.DescriptionFor) // maps are printed in order
		}
	}
	return out
}

// changedPlugins names the plugins whose tools may have changed, in order.
func (h *snapshot) changedPlugins(old *snapshot) (names []string) {
	all := maps.Clone(h.registry.plugins)
	maps.Copy(all, old.registry.plugins)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		before, now := old.listing(name), h.listing(name)
		if before != now || !slices.Equal(old.offeredTools(now), h.offeredTools(now)) {
			names = append(names, name)
		}
	}
	return names
}

// offeredTools names the tools that are listed and not hidden.
func (h *snapshot) offeredTools(l *listing) (names []string) {
	for name, t := range l.load().tools {
		if !h.hides(t) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
