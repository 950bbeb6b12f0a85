package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/supervise"
)

// allRules are all the rules that can ever hold with this configuration, whatever the profile.
func allRules(standing []policy.Layer, c *config.Config) (out []policy.Rule) {
	for _, l := range standing {
		out = append(out, l.Rules...)
	}
	return append(out, configRules(c)...)
}

// configRules are those of the configuration and of all its profiles. A rule that several profiles include is there once.
func configRules(c *config.Config) (out []policy.Rule) {
	for _, l := range c.Policies {
		out = append(out, l.Rules...)
	}
	there := map[[2]string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		for _, r := range c.Profiles[name].Rules.Rules {
			if id := [2]string{r.Source, r.Name}; !there[id] {
				there[id], out = true, append(out, r)
			}
		}
	}
	return out
}

// looksInto says whether the rule looks at arguments of tools that may be the plugin's.
func looksInto(r policy.Rule, plugin string) bool {
	may := func(glob string) bool { return mayName(glob, plugin) }
	return len(r.Names) > 0 && (len(r.Tools) == 0 || slices.ContainsFunc(r.Tools, may))
}

// mayName says whether the pattern can be that of a tool of the plugin.
func mayName(glob, plugin string) bool {
	part, _, whole := strings.Cut(glob, "__")
	return !whole || matches(part, plugin)
}

// misnamed finds rules that look at an argument which none of the tools has that they are about. In a rule for all tools
// that is only a warning: it may be meant for a plugin that other configurations have.
func misnamed(rules []policy.Rule, tools []*host.Tool) (problems, warnings []error) {
	declared := map[string]map[string]bool{}
	for _, t := range tools {
		declared[t.Name] = t.Arguments()
	}
	for _, r := range rules {
		for _, name := range r.Misnamed(declared) {
			of, to := "", &warnings
			if len(r.Tools) > 0 {
				of, to = " of "+strings.Join(r.Tools, ", "), &problems
			}
			*to = append(*to, fmt.Errorf("%s: rule %q looks at args.%s, but no tool%s has an argument of that name%s",
				r.Source, r.Name, name, of, meantOf(name, argumentsOf(r, tools))))
		}
	}
	return problems, warnings
}

// complainOfNames tells of such rules when all plugins are running anyway. validate is who makes mistakes of them.
func (s *session) complainOfNames(ctx context.Context, g *globals) {
	tools, problems := s.host.Tools(ctx)
	if len(problems) > 0 {
		return
	}
	wrong, doubtful := misnamed(allRules(s.standing, s.config), tools)
	g.warn(append(wrong, doubtful...))
}

// argumentsOf are the names that the tools declare which the rule is about.
func argumentsOf(r policy.Rule, tools []*host.Tool) []string {
	names := map[string]bool{}
	for _, t := range tools {
		about := func(glob string) bool { return matches(glob, t.Name) }
		if len(r.Tools) == 0 || slices.ContainsFunc(r.Tools, about) {
			maps.Copy(names, t.Arguments())
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// meantOf suggests the nearest of the names, or else tells them all, if they are few.
func meantOf(name string, names []string) string {
	if meant := didYouMean(name, names); meant != "" || len(names) == 0 || len(names) > 20 {
		return meant
	}
	if len(names) == 1 {
		return "; there is only " + names[0]
	}
	return "; there are " + strings.Join(names, ", ")
}

// rulesForNobody finds rules of the configuration for a plugin that is not there. It may come later, so they are no
// mistakes, but a deny that nobody hears should be known.
func rulesForNobody(c *config.Config, specs []supervise.Spec) (warnings []error) {
	plugins := names(specs)
	for _, r := range configRules(c) {
		for _, glob := range r.Tools {
			if slices.ContainsFunc(plugins, func(p string) bool { return mayName(glob, p) }) {
				continue
			}
			part, _, _ := strings.Cut(glob, "__")
			warnings = append(warnings, fmt.Errorf("%s: rule %q is about %q, but there is no such plugin%s", r.Source, r.Name, glob, didYouMean(part, plugins)))
		}
	}
	return warnings
}

// names are the labels of plugins.
func names(specs []supervise.Spec) (out []string) {
	for _, spec := range specs {
		out = append(out, spec.Name)
	}
	return out
}
