package host

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"
)

// A Catalog is what one agent, profile or step may see and call, and nothing else: a view of a host's tools that is an
// allowlist too. Host.Catalog makes one, cheap enough for each turn of a model. It never changes, but the tools do:
// one that comes meanwhile and that the filter holds is in the catalog at once. It is safe for concurrent use.
type Catalog struct {
	host     *Host
	filters  []Filter // all must allow
	defaults CallDefaults
	deferral *deferral // what it lists; nil is all
	seen     atomic.Pointer[view]
}

// CallDefaults are what the calls of a catalog have that say nothing of their own: on whose behalf they are made, in which
// session, and where. What is empty is left to the host.
type CallDefaults struct {
	Caller, SessionID string
	// Workdir is absolute.
	Workdir string
}

// WithDefaults makes a catalog of the same tools whose calls have these defaults, as for one sub-agent or one session. What
// is empty in d stays as it was. Calls of it that name a caller, session or work folder keep theirs. Catalogs narrowed from it
// have the defaults too.
func (c *Catalog) WithDefaults(d CallDefaults) *Catalog {
	out := c.with(c.filters)
	out.defaults = CallDefaults{cmp.Or(d.Caller, c.defaults.Caller), cmp.Or(d.SessionID, c.defaults.SessionID), cmp.Or(d.Workdir, c.defaults.Workdir)}
	out.seen.Store(c.seen.Load())
	return out
}

// with is a catalog like this one with other filters.
func (c *Catalog) with(filters []Filter) *Catalog {
	return &Catalog{host: c.host, filters: filters, defaults: c.defaults, deferral: c.deferral}
}

// A view is what a catalog held when the tools last changed.
type view struct {
	changes  uint64
	tools    []*Tool
	problems []error
}

// Catalog makes a catalog of the tools that f holds. No plugin is asked for it. It fails for a glob that is none and for
// an unknown cost tier; what matches no tool is no error, since a plugin may be down: see Unmatched.
func (h *Host) Catalog(f Filter) (*Catalog, error) { return (&Catalog{host: h}).Narrow(f) }

// Narrow makes a catalog within this one, as for a step or a sub-agent: it holds what both hold.
func (c *Catalog) Narrow(f Filter) (*Catalog, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return c.with(append(slices.Clone(c.filters), f.clone())), nil
}

// Tools lists the catalog by full name, but for tools that the policy denies in any case, and tells which plugins or tools
// had to be left out, and why. It asks the plugins that may have tools of the catalog and are not listed yet, which starts
// them, and no others. The tools are the host's own: they must not be changed.
func (c *Catalog) Tools(ctx context.Context) ([]*Tool, []error) {
	tools, problems := c.all(ctx)
	if c.deferral == nil {
		return tools, problems
	}
	listed := c.deferral.listed(tools)
	if t := c.searchDefinition(ctx); t != nil {
		listed = append(listed, t)
	}
	slices.SortFunc(listed, byName)
	return listed, problems
}

// all are the tools that the catalog holds, listed or not.
func (c *Catalog) all(ctx context.Context) ([]*Tool, []error) {
	changes := c.host.changes.Load() // before looking: a later change outdates what is seen
	if v := c.seen.Load(); v != nil && v.changes == changes {
		return slices.Clone(v.tools), slices.Clone(v.problems)
	}
	tools, problems, complete := c.host.now.Load().registry.all(ctx, c)
	if complete {
		c.seen.Store(&view{changes, slices.Clone(tools), slices.Clone(problems)})
	}
	return tools, problems
}

// Call runs one tool of the catalog, as Host.Call does. A tool outside fails with sdk.CodeNotInCatalog, and one that does
// not exist with sdk.CodeToolNotFound. Nothing is started to tell these two apart: a name that the filters refuse is
// taken for that of a tool as long as its plugin is not listed. Only tools of the catalog are suggested instead.
func (c *Catalog) Call(ctx context.Context, call Call) *Result {
	call.catalog = c
	return c.host.Call(ctx, call)
}

// Unmatched gives the globs of the catalog's filters that match the name of no tool of the host, in order: as a rule
// typing errors. It asks the plugins that they may mean; a glob that may mean a plugin that cannot tell is not in it.
func (c *Catalog) Unmatched(ctx context.Context) []string {
	var globs []string
	for _, f := range c.filters {
		globs = slices.Concat(globs, f.Tools, f.Exclude)
	}
	asked := c.host.now.Load().registry.gather(ctx, func(plugin string) bool {
		return slices.ContainsFunc(globs, func(g string) bool { return globReaches(g, plugin) })
	})
	var out []string
	for _, g := range globs {
		mayMean := func(a answer) bool { return a.mayHave(g) }
		if !slices.Contains(out, g) && !slices.ContainsFunc(asked, mayMean) {
			out = append(out, g)
		}
	}
	return out
}

// mayHave tells whether the plugin has a tool that the glob matches, or may have one for all that is known. A tool that
// was left out is one: the glob is not what is wrong.
func (a answer) mayHave(glob string) bool {
	if a.err != nil {
		return globReaches(glob, a.plugin)
	}
	for name := range a.tools {
		if matches(glob, name) {
			return true
		}
	}
	return slices.ContainsFunc(a.problems, func(p error) bool { return matches(glob, nameOf(p)) })
}

// allows tells whether a tool is in the catalog. Every tool is in a nil one.
func (c *Catalog) allows(t *Tool) bool {
	return c == nil || isBuiltIn(t.plugin) || !slices.ContainsFunc(c.filters, func(f Filter) bool { return !f.allows(t) })
}

// allowsName tells it from the name, as far as that goes.
func (c *Catalog) allowsName(name string) bool {
	return c == nil || name == SearchToolName || !slices.ContainsFunc(c.filters, func(f Filter) bool { return !f.allowsName(name) })
}

func (c *Catalog) reaches(plugin string) bool {
	return c == nil || !slices.ContainsFunc(c.filters, func(f Filter) bool { return !f.reaches(plugin) })
}

// pick gives the tools of a plugin that are in the catalog, and what is wrong with those left out that would be.
func (c *Catalog) pick(k known) (tools []*Tool, problems []error) {
	for _, t := range k.tools {
		if c.allows(t) {
			tools = append(tools, t)
		}
	}
	for _, p := range k.problems {
		if name := nameOf(p); name == "" || c.allowsName(name) {
			problems = append(problems, p)
		}
	}
	return tools, problems
}

func byName(a, b *Tool) int { return strings.Compare(a.Name, b.Name) }
