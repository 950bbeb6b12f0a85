package host

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"github.com/toolhost/toolhost/host/internal/queue"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// A snapshot is a configuration snapshot: plugins, options, and the chain made of them, which hold until the next Reload. It
// never changes, and a call uses one at a time.
type snapshot struct {
	*Host
	options  Options
	log      *slog.Logger
	registry *registry
	aliases  map[string]string // full names of tools, by their other names
	results  *keeper
	queues   map[string]*queue.Queue // by plugin; of those that have limits
	route    CallFunc
	renewed  CallFunc // the route of a call that was on its way when its rules were replaced
	edited   CallFunc // the route of a call whose arguments a person has changed
	fitting  CallFunc // whether a call's arguments can be used
}

// newSnapshot prepares a snapshot that takes over from old what is the same; old is nil for the first. Nothing changes
// before change puts it in place.
func (h *Host) newSnapshot(plugins map[string]Plugin, o Options, old *snapshot) (*snapshot, error) {
	r, err := h.newRegistry(plugins, o, old)
	if err != nil {
		return nil, err
	}
	n := &snapshot{Host: h, options: o, log: o.Logger, registry: r, results: &keeper{dir: o.ResultDir}}
	if old != nil && old.options.ResultDir == o.ResultDir {
		n.results = old.results
	}
	if n.aliases, err = aliases(plugins, o.Tools); err != nil {
		return nil, err
	}
	r.hides = n.hides
	n.buildRoute()
	return n, nil
}

// buildRoute is the one place where the route of a call is put together, outermost first. Nothing behind approve may
// change the arguments.
func (h *snapshot) buildRoute() {
	outside := []Middleware{h.audit, h.conclude, h.guard, h.shed, h.open, h.shape}
	if len(h.options.Middleware) > 0 {
		outside = slices.Concat(outside, []Middleware{h.survey}, h.options.Middleware, []Middleware{h.own})
	}
	known := []Middleware{h.lookup, h.admit, h.parse}
	inside := []Middleware{h.renew, h.validate, h.budget, h.enforce, h.preview, h.approve, h.limit, h.record, h.start, h.timed}
	h.route = chain(h.dispatch, slices.Concat(outside, known, inside)...)
	h.renewed = chain(h.dispatch, slices.Concat(known, inside)...)
	h.edited = chain(h.dispatch, slices.Concat([]Middleware{h.parse}, inside)...)
	h.fitting = chain(func(context.Context, *Call) (*sdk.Result, error) { return nil, nil }, h.parse, h.validate)
}

// prepare begins a call's life.
func (h *snapshot) prepare(c *Call) *Call {
	h.fillIn(c)
	c.Definition, c.Decision = nil, policy.Decision{}
	c.life = &life{id: c.ID, called: c.Tool}
	c.Tool = h.meant(c.Tool)
	return c
}

// fillIn fills in what the caller has left to the host.
func (h *snapshot) fillIn(c *Call) {
	if c.catalog != nil {
		d := c.catalog.defaults
		c.Caller, c.SessionID, c.Workdir = cmp.Or(c.Caller, d.Caller), cmp.Or(c.SessionID, d.SessionID), cmp.Or(c.Workdir, d.Workdir)
	}
	if c.ID == "" {
		c.ID = newID()
	}
	c.Workdir = cmp.Or(c.Workdir, h.options.Workdir)
}
