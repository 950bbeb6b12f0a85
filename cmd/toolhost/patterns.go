package main

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
)

// namesToolsOf says whether a rule or a profile is about single tools of the plugin, which only the plugin knows.
func namesToolsOf(c *config.Config, plugin string) bool {
	var globs []string
	for _, r := range configRules(c) {
		globs = append(globs, r.Tools...)
	}
	for _, p := range c.Profiles {
		globs = slices.Concat(globs, p.Filter.Tools, p.Filter.Exclude)
	}
	return slices.ContainsFunc(globs, func(g string) bool {
		tool, own := strings.CutPrefix(g, plugin+"__")
		return own && tool != "*"
	})
}

// unmatched finds patterns of rules and profiles that name one of the listed plugins and none of its tools: as a rule
// typing errors.
func unmatched(c *config.Config, tools []*host.Tool) (warnings []error) {
	for _, r := range configRules(c) {
		warnings = append(warnings, unmatchedBy(fmt.Sprintf("%s: rule %q", r.Source, r.Name), r.Tools, tools)...)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		p := c.Profiles[name]
		warnings = append(warnings, unmatchedBy(fmt.Sprintf("%s: profile %q", p.Source, name), ownPatterns(c, p), tools)...)
	}
	return warnings
}

// ownPatterns are those of a profile that it does not have from the profiles it includes.
func ownPatterns(c *config.Config, p config.Profile) []string {
	return slices.DeleteFunc(slices.Concat(p.Filter.Tools, p.Filter.Exclude), func(glob string) bool {
		return slices.ContainsFunc(p.Include, func(name string) bool {
			other := c.Profiles[name]
			return slices.Contains(other.Filter.Tools, glob) || slices.Contains(other.Filter.Exclude, glob)
		})
	})
}

// matches takes patterns that have been checked.
func matches(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return ok && err == nil
}

func unmatchedBy(who string, globs []string, tools []*host.Tool) (warnings []error) {
	for _, glob := range globs {
		plugin, _, _ := strings.Cut(glob, "__")
		own := ownNames(tools, plugin)
		means := func(name string) bool { return matches(glob, plugin+"__"+name) }
		if len(own) > 0 && !slices.ContainsFunc(own, means) {
			_, tool, _ := strings.Cut(glob, "__")
			warnings = append(warnings, fmt.Errorf("%s is about %q, but plugin %q has no such tool%s", who, glob, plugin, didYouMean(tool, own)))
		}
	}
	return warnings
}
