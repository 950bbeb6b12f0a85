package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk"
)

// A Catalog is the set of tools that one agent, profile or step may see and call: an allowlist and a view of a host's
// tools. Host.Catalog makes one, cheaply enough for each turn of a model. A Catalog never changes, but the tools do:
// a new tool that matches the filter is in the catalog at once. It is safe for concurrent use.
type Catalog struct {
	host     *Host
	filters  []Filter  // all must allow a tool
	deferral *deferral // which tools are listed; nil lists all
	model    string    // whose descriptions tools have; "" for those of all models
	seen     atomic.Pointer[catalogTools]
}

// catalogTools are the tools of a catalog since the last change.
type catalogTools struct {
	changes  uint64
	tools    []*Tool
	problems []error
}

// Catalog returns a catalog of the tools that match f. It lists no plugin. It fails for an invalid glob and for an
// unknown cost tier; a glob that matches no tool is no error, since a plugin may be down: see Unmatched.
func (h *Host) Catalog(f Filter) (*Catalog, error) { return (&Catalog{host: h}).Narrow(f) }

// Narrow returns a catalog of the tools in this one that also match f, such as for a step or a sub-agent.
func (c *Catalog) Narrow(f Filter) (*Catalog, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	f.Tools, f.Exclude, f.Categories = slices.Clone(f.Tools), slices.Clone(f.Exclude), slices.Clone(f.Categories)
	return c.with(append(slices.Clone(c.filters), f)), nil
}

// ForModel returns a catalog of the same tools, whose listed definitions have the descriptions for a model that
// ToolOptions.DescriptionFor names. Calls, rules and locks do not depend on it.
func (c *Catalog) ForModel(name string) *Catalog {
	out := c.with(c.filters)
	out.model = name
	return out
}

// with returns a copy of this catalog with other filters.
func (c *Catalog) with(filters []Filter) *Catalog {
	return &Catalog{host: c.host, filters: filters, deferral: c.deferral, model: c.model}
}

// described gives the tools the descriptions for the catalog's model.
func (c *Catalog) described(tools []*Tool) []*Tool {
	if c.model != "" {
		for i, t := range tools {
			tools[i] = t.forModel(c.model)
		}
	}
	return tools
}

// Call runs one tool of the catalog, as Host.Call does. A tool outside the catalog fails with sdk.CodeNotInCatalog, an
// unknown one with sdk.CodeToolNotFound. No plugin is started to distinguish the two: until the plugin is listed, a
// name that the filters refuse counts as that of a tool. Only tools of the catalog are suggested.
func (c *Catalog) Call(ctx context.Context, call Call) *Result {
	call.catalog = c
	return c.host.Call(ctx, call)
}

// Tools returns the catalog by full name, except tools that the policy denies in any case, and errors for plugins and
// tools that are left out. It lists the plugins that may have tools of the catalog and are not listed yet, which starts
// them, and no others. The tools belong to the host: do not change them.
func (c *Catalog) Tools(ctx context.Context) ([]*Tool, []error) {
	tools, problems := c.all(ctx)
	if c.deferral == nil {
		return tools, problems
	}
	visible := c.deferral.filter(tools)
	if t := c.searchDefinition(ctx); t != nil {
		visible = append(visible, t)
	}
	slices.SortFunc(visible, byName)
	return visible, problems
}

// Plugins returns the labels of the plugins that may have tools of the catalog, in order. No plugin is listed for it.
func (c *Catalog) Plugins() (labels []string) {
	for name, l := range c.host.current.Load().registry.plugins {
		if c.reaches(name) && !isBuiltIn(l.plugin) {
			labels = append(labels, name)
		}
	}
	slices.Sort(labels)
	return labels
}

// ToolsOf returns the tools of one plugin that are in the catalog, as Tools does, and errors for those that are left
// out. It lists that plugin alone, if necessary; err says why it cannot be listed, or that the catalog has no such
// plugin: those that it has are in Plugins.
func (c *Catalog) ToolsOf(ctx context.Context, plugin string) (tools []*Tool, problems []error, err error) {
	r := c.host.current.Load().registry
	l := r.plugins[plugin]
	if l == nil || !c.reaches(plugin) {
		return nil, nil, c.noPlugin(plugin)
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	own, err := l.list(ctx)
	if err != nil {
		return nil, nil, err
	}
	tools, problems = c.pick(own)
	tools = c.described(slices.DeleteFunc(tools, r.hides))
	slices.SortFunc(tools, byName)
	return tools, problems, nil
}

// noPlugin is the error of a label that none of the catalog's plugins has.
func (c *Catalog) noPlugin(label string) error {
	labels := c.Plugins()
	return fail(sdk.CodeToolNotFound, "UnknownPlugin", "there is no plugin %.50q in this catalog, which has %s%s", label,
		cmp.Or(cutText(strings.Join(labels, ", "), maxLabelsShown), "none"), textutil.DidYouMean(label, labels))
}

const maxLabelsShown = 300 // characters of all labels, in an error

// Tool returns the tool with a full name or an alias, for a caller who is about to call it: it lists the tool's plugin
// if necessary, waits for tools that the plugin expects soon, and its error, an *sdk.Error, is that of such a call. The
// tool belongs to the host: do not change it.
func (c *Catalog) Tool(ctx context.Context, name string) (*Tool, error) {
	now := c.host.current.Load()
	if tool, ok := now.aliases[name]; ok {
		name = tool
	}
	return now.registry.find(ctx, &Call{Tool: name, catalog: c, callState: &callState{}})
}

func byName(a, b *Tool) int { return strings.Compare(a.Name, b.Name) }

// all returns the tools that the catalog holds, listed or not.
func (c *Catalog) all(ctx context.Context) ([]*Tool, []error) {
	changes := c.host.changes.Load() // read before listing, so that a later change makes the list stale
	if seen := c.seen.Load(); seen != nil && seen.changes == changes {
		return slices.Clone(seen.tools), slices.Clone(seen.problems)
	}
	tools, problems, complete := c.host.current.Load().registry.all(ctx, c)
	tools = c.described(tools)
	if complete {
		c.seen.Store(&catalogTools{changes, slices.Clone(tools), slices.Clone(problems)})
	}
	return tools, problems
}

// Unmatched returns the globs of the catalog's filters that match no tool of the host, in order: usually typing
// errors. It lists the plugins that the globs may refer to; a glob that may refer to a plugin that cannot be listed
// is not returned.
func (c *Catalog) Unmatched(ctx context.Context) []string {
	var globs []string
	for _, f := range c.filters {
		globs = slices.Concat(globs, f.Tools, f.Exclude)
	}
	plugins := c.host.current.Load().registry.listAll(ctx, func(plugin string) bool {
		return slices.ContainsFunc(globs, func(g string) bool { return globReaches(g, plugin) })
	})
	var out []string
	for _, g := range globs {
		if !slices.Contains(out, g) && !slices.ContainsFunc(plugins, func(l pluginTools) bool { return l.mayHave(g) }) {
			out = append(out, g)
		}
	}
	return out
}

// mayHave reports whether the plugin has a tool that the glob matches, including one that was left out, or cannot be
// listed.
func (l pluginTools) mayHave(glob string) bool {
	if l.err != nil {
		return globReaches(glob, l.plugin)
	}
	for name := range l.tools {
		if toolname.Matches(glob, name) {
			return true
		}
	}
	return slices.ContainsFunc(l.problems, func(p error) bool { return toolname.Matches(glob, problemTool(p)) })
}

// allows reports whether a tool is in the catalog. A nil catalog has every tool.
func (c *Catalog) allows(t *Tool) bool {
	return c == nil || isBuiltIn(t.plugin) || !slices.ContainsFunc(c.filters, func(f Filter) bool { return !f.allows(t) })
}

// allowsName is false for names that the filters refuse for any tool.
func (c *Catalog) allowsName(name string) bool {
	return c == nil || name == SearchToolName ||
		!slices.ContainsFunc(c.filters, func(f Filter) bool { return !f.allowsName(name) })
}

func (c *Catalog) reaches(plugin string) bool {
	return c == nil || !slices.ContainsFunc(c.filters, func(f Filter) bool { return !f.reaches(plugin) })
}

// pick returns the tools of a plugin that are in the catalog, and the problems of tools that would be.
func (c *Catalog) pick(list toolList) (tools []*Tool, problems []error) {
	for _, t := range list.tools {
		if c.allows(t) {
			tools = append(tools, t)
		}
	}
	var last *toolProblem
	more := 0
	for _, p := range list.problems {
		switch e, ok := errors.AsType[*toolProblem](p); {
		case ok && !c.allowsName(e.name):
		case ok && len(problems) >= maxToolProblems:
			last, more = e, more+1
		default:
			problems = append(problems, p)
		}
	}
	if last != nil {
		problems = append(problems, fmt.Errorf("plugin %q: tools like these: %d more are left out; a call of one says why",
			last.plugin, more))
	}
	return tools, problems
}

// maxToolProblems is how many tools of a plugin that are left out a list names; the rest is counted.
const maxToolProblems = 20

// A Filter selects the tools of a Catalog: those that meet every condition. The zero Filter selects all. A property
// that a plugin does not state counts against the tool.
type Filter struct {
	// Tools are globs of full names, such as "readfile__*" or "shell__exec": * matches any characters, ? one, [a-c] one
	// of several. Nil selects all tools; empty but not nil selects none.
	Tools []string
	// Exclude are globs of full names that are left out, whatever Tools says.
	Exclude []string
	// ReadOnly selects only tools with the read-only hint.
	ReadOnly bool
	// Categories selects only tools of these categories. Nil selects all tools; empty but not nil selects none.
	Categories []string
	// MaxCostTier selects only tools that cost no more. "" selects all; a tool without a cost tier counts as sdk.Cheap.
	MaxCostTier sdk.CostTier
	// Match is a further condition; nil is none. It must return the same for the same tool each time, since its results
	// are cached, and it may be called concurrently.
	Match func(*Tool) bool
}

func (f *Filter) check() error {
	var all []error
	for _, g := range slices.Concat(f.Tools, f.Exclude) {
		if _, err := path.Match(g, ""); err != nil {
			all = append(all, fmt.Errorf(`filter: %q is not a glob of tool names: close each [ with ], and end none with a \`,
				g))
		}
	}
	if f.MaxCostTier != "" && !slices.Contains(tiers, f.MaxCostTier) {
		all = append(all, fmt.Errorf("filter: cost tier %q is not one of free, cheap, expensive", f.MaxCostTier))
	}
	return errors.Join(all...)
}

func (f *Filter) isEmpty() bool {
	return f.Tools != nil && len(f.Tools) == 0 || f.Categories != nil && len(f.Categories) == 0
}

// allowsName is false for names that the filter refuses for any tool.
func (f *Filter) allowsName(name string) bool {
	return !f.isEmpty() && (f.Tools == nil || toolname.MatchesAny(f.Tools, name)) &&
		!toolname.MatchesAny(f.Exclude, name)
}

func (f *Filter) allows(t *Tool) bool {
	switch {
	case !f.allowsName(t.Name):
		return false
	case f.ReadOnly && !isTrue(t.Hints.ReadOnly):
		return false
	case f.Categories != nil && !slices.Contains(f.Categories, t.Category):
		return false
	case f.MaxCostTier != "" && t.costsMore(f.MaxCostTier):
		return false
	}
	return f.Match == nil || f.Match(t)
}

// reaches reports whether a plugin may have a tool that the filter selects, without listing the plugin.
func (f *Filter) reaches(plugin string) bool {
	switch {
	case f.isEmpty():
		return false
	case f.Tools != nil && !slices.ContainsFunc(f.Tools, func(g string) bool { return globReaches(g, plugin) }):
		return false
	}
	return !slices.ContainsFunc(f.Exclude, func(g string) bool { return globCovers(g, plugin) })
}

// globReaches reports whether the glob matches any name that a tool of the plugin may have.
func globReaches(glob, plugin string) bool {
	steps, rest := globSteps(glob)
	prefix := plugin + "__"
	if len(steps) < len(prefix) {
		return rest != "" && toolname.Matches(strings.Join(steps, ""), prefix[:len(steps)])
	}
	return toolname.Matches(strings.Join(steps[:len(prefix)], ""), prefix)
}

// globCovers reports whether the glob matches every name that a tool of the plugin may have.
func globCovers(glob, plugin string) bool {
	steps, rest := globSteps(glob)
	prefix := plugin + "__"
	return strings.Trim(rest, "*") == "" && rest != "" && len(steps) <= len(prefix) &&
		toolname.Matches(strings.Join(steps, ""), prefix[:len(steps)])
}

// globSteps splits a glob into parts that match one byte of a name each, up to the first star, and the rest after it.
// Names are ASCII.
func globSteps(glob string) (steps []string, rest string) {
	for glob != "" && glob[0] != '*' {
		n := 1
		switch glob[0] {
		case '\\':
			n = min(2, len(glob))
		case '[':
			for n < len(glob) && glob[n] != ']' {
				if glob[n] == '\\' {
					n++
				}
				n++
			}
			n = min(n+1, len(glob))
		}
		steps, glob = append(steps, glob[:n]), glob[n:]
	}
	return steps, glob
}

// addressAdvice says how the address of a tool is written.
const addressAdvice = "An address is mcp://SERVER/TOOL: the label of the server's plugin and the server's own name " +
	"of the tool, in which all but letters, digits, -, _, . and ~ is percent-encoded, such as %2F for /."

// Resolve returns the full name of the tool with an address, mcp://SERVER/TOOL: SERVER is a plugin's label, and TOOL is
// the tool's name at its source, which for a tool of an MCP server can differ from the last part of its full name. Any
// other name is returned unchanged. Resolve lists the plugin if necessary, and waits for tools that the plugin expects
// soon. It does not check whether the tool may be called: Call does. An error is an *sdk.Error with CodeToolNotFound,
// CodeNotInCatalog or the code of the failure to list the plugin.
func (c *Catalog) Resolve(ctx context.Context, name string) (string, error) {
	scheme, rest, is := strings.Cut(name, "://")
	if !is {
		return name, nil
	}
	wrong := func(kind, format string, a ...any) (string, error) {
		return "", advise(fail(sdk.CodeToolNotFound, kind, format, a...), addressAdvice)
	}
	if !strings.EqualFold(scheme, "mcp") {
		return wrong("UnknownScheme", "%.100q is not the address of a tool: only mcp:// is known, not %.40q", name,
			scheme+"://")
	}
	label, tool, _ := strings.Cut(rest, "/")
	label, err := url.PathUnescape(label)
	original, err2 := url.PathUnescape(tool)
	if errors.Join(err, err2) != nil || label == "" || original == "" || strings.ContainsAny(tool, "/?#") {
		return wrong("InvalidAddress", "%.100q is not the address of a tool", name)
	}
	r := c.host.current.Load().registry
	l := r.plugins[label]
	switch {
	case l == nil:
		return wrong("UnknownServer", "there is no plugin %.50q%s", label, textutil.DidYouMean(label, c.Plugins()))
	case !c.reaches(label):
		return "", fail(sdk.CodeNotInCatalog, "NotInCatalog",
			"the tools of plugin %q are not in this catalog; nothing was run", label)
	}
	call := &Call{catalog: c, callState: &callState{}}
	own, err := r.listFor(ctx, call, l)
	if err == nil {
		own, err = r.await(ctx, call, l, own, func(list toolList) bool { return list.named(original) != "" })
	}
	if err != nil {
		return "", err
	}
	if full := own.named(original); full != "" {
		return full, nil
	}
	tools, _ := c.pick(own)
	var near []string
	for _, t := range tools {
		near = append(near, t.sourceName())
	}
	return wrong("ToolNotFound", "plugin %q has no tool that its source calls %.100q%s", label, original,
		textutil.DidYouMean(original, near))
}

// named returns the full name of the tool with a name at its source, also when that tool was left out; "" when there
// is none. The name at the source is tried before the plugin's own name, which may belong to another tool.
func (l toolList) named(original string) string {
	for full, t := range l.tools {
		if t.sourceName() == original {
			return full
		}
	}
	for _, p := range l.problems {
		if out, ok := errors.AsType[*toolProblem](p); ok && out.original == original {
			return out.name
		}
	}
	for full, t := range l.tools {
		if t.declared.Name == original {
			return full
		}
	}
	return ""
}

func (t *Tool) sourceName() string {
	return cmp.Or(t.declared.OriginalName, t.declared.Name)
}
