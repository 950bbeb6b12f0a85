package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/toolhost/toolhost/sdk"
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

// A Filter says which tools a Catalog holds: those that meet every condition. The zero Filter holds all. What a plugin
// does not tell of a tool counts against it.
type Filter struct {
	// Tools are globs of full names, such as "readfile__*" or "shell__exec": * stands for any characters, ? for one,
	// [a-c] for one of several. Nil holds all tools; empty but not nil holds none.
	Tools []string
	// Exclude are globs of full names that are left out, whatever Tools says.
	Exclude []string
	// ReadOnly holds only tools that say that they change nothing.
	ReadOnly bool
	// Categories hold only tools of one of these. Nil holds all tools; empty but not nil holds none.
	Categories []string
	// MaxCostTier holds only tools that cost no more. "" holds all; a tool that tells no cost counts as sdk.Cheap.
	MaxCostTier sdk.CostTier
	// Match is any further condition; nil is none. It must answer the same for the same tool each time, since answers are
	// kept, and it may be called from several goroutines at once.
	Match func(*Tool) bool
}

// check says what is wrong with the filter, all of it.
func (f *Filter) check() error {
	var all []error
	for _, g := range slices.Concat(f.Tools, f.Exclude) {
		if _, err := path.Match(g, ""); err != nil {
			all = append(all, fmt.Errorf(`filter: %q is no glob of tool names: close each [ with ], and end none with a \`, g))
		}
	}
	if f.MaxCostTier != "" && !slices.Contains(tiers, f.MaxCostTier) {
		all = append(all, fmt.Errorf("filter: cost tier %q is not one of free, cheap, expensive", f.MaxCostTier))
	}
	return errors.Join(all...)
}

// clone makes the filter safe from later changes of its lists.
func (f Filter) clone() Filter {
	f.Tools, f.Exclude, f.Categories = slices.Clone(f.Tools), slices.Clone(f.Exclude), slices.Clone(f.Categories)
	return f
}

// allowsName is false for names that no tool of the filter has, whatever the tool is.
func (f *Filter) allowsName(name string) bool {
	return !f.empty() && (f.Tools == nil || matchesAny(f.Tools, name)) && !matchesAny(f.Exclude, name)
}

func (f *Filter) empty() bool { return isEmpty(f.Tools) || isEmpty(f.Categories) }

func isEmpty(list []string) bool { return list != nil && len(list) == 0 }

func (f *Filter) allows(t *Tool) bool {
	switch {
	case !f.allowsName(t.Name):
		return false
	case f.ReadOnly && !isYes(t.Hints.ReadOnly):
		return false
	case f.Categories != nil && !slices.Contains(f.Categories, t.Category):
		return false
	case f.MaxCostTier != "" && t.costsMore(f.MaxCostTier):
		return false
	}
	return f.Match == nil || f.Match(t)
}

// reaches tells whether a plugin may have a tool that the filter holds, without asking the plugin.
func (f *Filter) reaches(plugin string) bool {
	switch {
	case f.empty():
		return false
	case f.Tools != nil && !slices.ContainsFunc(f.Tools, func(g string) bool { return globReaches(g, plugin) }):
		return false
	}
	return !slices.ContainsFunc(f.Exclude, func(g string) bool { return globCovers(g, plugin) })
}

// matchesAny takes globs that have been checked.
func matchesAny(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return matches(g, name) })
}

func matches(glob, name string) bool {
	if glob == name {
		return true
	}
	ok, err := path.Match(glob, name)
	return ok && err == nil
}

// globReaches tells whether the glob matches any name that a tool of the plugin may have.
func globReaches(glob, plugin string) bool {
	steps, rest := globSteps(glob)
	prefix := plugin + "__"
	if len(steps) < len(prefix) {
		return rest != "" && matches(strings.Join(steps, ""), prefix[:len(steps)])
	}
	return matches(strings.Join(steps[:len(prefix)], ""), prefix)
}

// globCovers tells whether the glob matches every name that a tool of the plugin may have.
func globCovers(glob, plugin string) bool {
	steps, rest := globSteps(glob)
	prefix := plugin + "__"
	return strings.Trim(rest, "*") == "" && rest != "" && len(steps) <= len(prefix) &&
		matches(strings.Join(steps, ""), prefix[:len(steps)])
}

// globSteps splits a glob into what matches one byte of a name each, up to the first star, and the rest from there.
// Names are ASCII.
func globSteps(glob string) (steps []string, rest string) {
	for glob != "" && glob[0] != '*' {
		n := stepLength(glob)
		steps, glob = append(steps, glob[:n]), glob[n:]
	}
	return steps, glob
}

func stepLength(glob string) int {
	switch glob[0] {
	case '\\':
		return min(2, len(glob))
	case '[':
		return classLength(glob)
	}
	return 1
}

// classLength finds the end of a class, in which a backslash takes the next byte along.
func classLength(glob string) int {
	for i := 1; i < len(glob); i++ {
		switch glob[i] {
		case '\\':
			i++
		case ']':
			return i + 1
		}
	}
	return len(glob)
}
