package host

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/toolhost/toolhost/sdk"
)

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
