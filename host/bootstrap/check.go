package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk"
)

// A Check has the findings about a configuration, the rules beside it, and its plugins.
type Check struct {
	Plugins  []*CheckedPlugin // in the order of the configuration
	Problems []error
	Warnings []error // no mistakes, but probably not meant
	// Unchecked lists what only programs know that were not started, since the configuration is not trusted.
	Unchecked []string
	Locked    int // plugins; -1 if there is no lock file
}

// A CheckedPlugin has the result of the checks of one plugin.
type CheckedPlugin struct {
	Name    string   `json:"name"`
	Source  string   `json:"source,omitempty"`
	Command []string `json:"command"`
	Script  string   `json:"script,omitempty"` // run by an interpreter
	Started bool     `json:"started"`
	Version string   `json:"version,omitempty"`
	Tools   int      `json:"tools"`
	OK      bool     `json:"ok"` // for the checks that were made
}

// Check checks everything. It starts only plugins with a config block, which is checked against the schema that they
// publish, and those with a rule that names arguments of their tools; start starts all. For an untrusted
// configuration nothing is started.
func (c *Configuration) Check(ctx context.Context, start bool) (*Check, error) {
	out := &Check{Locked: -1}
	for _, w := range c.Warnings {
		out.Warnings = append(out.Warnings, errors.New(w.String()))
	}
	rules, err := allRules(c.Config)
	if err != nil {
		return nil, err
	}
	if start && !c.Trusted() {
		return nil, c.Untrusted()
	}
	p := c.Find(ctx)
	out.Problems = slices.Clone(p.Problems)
	out.checkPlaces(c)
	refused := aliasesOfTools(c.Config, p.Names())
	out.Problems = append(out.Problems, refused...)
	out.Warnings = append(out.Warnings, p.Unlocked()...)
	// otherwise a rule may be about a plugin that was not found
	if len(p.Problems) == 0 && (c.Trusted() || len(c.Discovery) == 0) {
		out.Warnings = append(out.Warnings, patternsForUnknownPlugins(c.Config, p.Names())...)
	}
	var asked []string
	for _, spec := range p.Specs {
		if state, _ := p.LockState(spec.Name); state != "" {
			out.Locked = max(out.Locked, 0)
			if state == Locked {
				out.Locked++
			}
		}
		one := &CheckedPlugin{Name: spec.Name, Source: spec.Source, Command: spec.ShownCommand(), Script: spec.Script}
		out.Plugins = append(out.Plugins, one)
		if err := cmp.Or(spec.Verify(), sandbox.Host{Shared: p.shared(p.Specs)}.CheckFolders(spec.Sandbox)); err != nil {
			out.Problems = append(out.Problems, fmt.Errorf("%s: plugin %q: %w", spec.Source, spec.Name, err))
			continue
		}
		if one.OK = true; start || spec.Config != nil || namesToolsOf(c.Config, spec.Name) ||
			slices.ContainsFunc(rules, func(r policy.Rule) bool { return namesArgumentsOf(r, spec.Name) }) {
			asked = append(asked, spec.Name)
		}
	}
	switch {
	case !c.Trusted():
		for _, d := range c.Discovery {
			out.Unchecked = append(out.Unchecked, fmt.Sprintf("the plugins that plugin_discovery %q names", d.Name))
		}
		for _, name := range asked {
			out.Unchecked = append(out.Unchecked, fmt.Sprintf("the settings and rules of plugin %q", name))
		}
	case len(asked) > 0 && len(refused) == 0: // no host would be made
		out.start(ctx, p, asked, rules, start)
	}
	return out, nil
}

// checkPlaces checks the files and folders that are used at the first call only.
func (out *Check) checkPlaces(c *Configuration) {
	if c.Audit != nil && c.Audit.Path != "" {
		at, err := AuditPath(c.Audit.Path, c.Dir)
		if err == nil {
			err = audit.CheckPlace(at)
		}
		if err != nil {
			out.Problems = append(out.Problems, fmt.Errorf("%s: path of the audit block: %w", c.Audit.Where, err))
		}
	}
	for _, r := range c.Host.Roots {
		if info, err := os.Stat(r.Path); err != nil || !info.IsDir() {
			out.Problems = append(out.Problems, fmt.Errorf("%s: path of a root block: %s is not a folder, so nothing can be "+
				"read there", c.RootSources[r.Path], r.Path))
		}
	}
}

// aliasesOfTools finds aliases that a tool of one of the plugins may have as its name: a host refuses them.
func aliasesOfTools(c *config.Config, plugins []string) (problems []error) {
	for _, tool := range slices.Sorted(maps.Keys(c.Host.Tools)) {
		for _, alias := range c.Host.Tools[tool].Aliases {
			plugin, _, full := strings.Cut(strings.ToLower(alias), "__")
			if full && slices.Contains(plugins, plugin) {
				problems = append(problems, fmt.Errorf("%s: the alias %q of %s is the name that a tool of plugin %q may have; "+
					"give %s another one", c.ToolSources[tool], alias, tool, plugin, tool))
			}
		}
	}
	return problems
}

// longestWait is how long a check of all plugins waits for tools that come late, such as those of an MCP server.
const longestWait = time.Minute

// start starts the plugins whose config blocks, or whose tools' arguments in rules, have to be checked. A plugin that
// cannot reach what it needs to find its tools is a problem where all plugins are checked, and otherwise a warning.
func (out *Check) start(ctx context.Context, p *Plugins, asked []string, rules []policy.Rule, all bool) {
	c := *p.Configuration
	c.options.Plugins, c.options.Refresh, c.options.Profile = asked, true, ""
	quiet := *p
	quiet.Configuration, quiet.Problems, quiet.unlocked = &c, nil, nil // the Check has them
	i, err := quiet.open(ctx, false)
	if err != nil {
		out.Problems = append(out.Problems, err)
		return
	}
	tools, problems := i.host.Tools(ctx)
	if all {
		limited, cancel := context.WithTimeout(ctx, longestWait)
		if i.host.AwaitTools(limited, func(string, string) {}) { // what is missing at the end is a notice
			tools, problems = i.host.Tools(ctx)
		}
		cancel()
	}
	missing := map[string]bool{} // plugins that have not found all of their tools
	for _, process := range i.Processes() {
		for _, one := range out.Plugins {
			if status := process.Status(); process.Name() == one.Name {
				one.Started, one.OK = true, status.State == supervise.Ready
				one.Version, one.Tools = status.Version, status.Tools
				usable := 0
				for _, t := range tools {
					if t.Plugin == one.Name {
						usable++
					}
				}
				one.OK = one.OK && usable >= status.Tools
				for _, n := range status.Notices {
					if n.Kind != sdk.Problem {
						continue
					}
					missing[one.Name] = true
					err := fmt.Errorf("%s: plugin %q: %s", one.Source, one.Name, n.Text)
					if all {
						out.Problems, one.OK = append(out.Problems, err), false
					} else {
						out.Warnings = append(out.Warnings, err)
					}
				}
			}
		}
	}
	for _, problem := range problems {
		out.Problems = append(out.Problems, located(c.Config, problem))
	}
	if len(problems)+len(missing) == 0 { // otherwise the argument may belong to a tool that was left out
		wrong, doubtful := misnamed(rules, tools)
		out.Problems = append(out.Problems, wrong...)
		out.Warnings = slices.Concat(out.Warnings, doubtful, unmatched(c.Config, tools))
	}
	out.Problems = append(out.Problems, unknownTools(c.Config, i.Processes(), tools, missing)...)
	if err := i.Close(); err != nil {
		i.options.Logger.Error("closing", "error", err)
	}
}

// located adds the places in the file to the mistakes that a plugin has found in its configuration.
func located(c *config.Config, err error) error {
	plugin, problems, more := supervise.ConfigProblems(err)
	if len(problems) == 0 {
		return err
	}
	out := &config.Error{}
	for i, p := range problems {
		message := fmt.Sprintf("plugin %q cannot be used: %s", plugin, p.Message)
		if more > 0 && i == len(problems)-1 {
			message += fmt.Sprintf("; and %d more problems", more)
		}
		one := c.Mistake(plugin, p.Path, message)
		out.Path, out.Mistakes = one.Path, append(out.Mistakes, one.Mistakes...)
	}
	return out
}

// MisnamedArguments has a warning for each rule that names an argument which none of its tools has. It has none when
// a plugin's tools are not known.
func (i *Instance) MisnamedArguments(ctx context.Context) []error {
	tools, problems := i.host.Tools(ctx)
	rules, err := allRules(i.Config())
	if len(problems) > 0 || err != nil {
		return nil
	}
	wrong, doubtful := misnamed(rules, tools)
	return append(wrong, doubtful...)
}

// allRules are those of the configuration, then those of the machine and the user.
func allRules(c *config.Config) ([]policy.Rule, error) {
	rules := configRules(c)
	standing, err := standingRules()
	for _, l := range standing {
		rules = append(rules, l.Rules...)
	}
	return rules, err
}

// configRules are those of the configuration and of all its profiles. A rule that several profiles include is listed
// once.
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

// namesArgumentsOf reports whether the rule names arguments of tools that may be the plugin's.
func namesArgumentsOf(r policy.Rule, plugin string) bool {
	may := func(glob string) bool { return mayName(glob, plugin) }
	return len(r.Names) > 0 && (len(r.Tools) == 0 || slices.ContainsFunc(r.Tools, may))
}

// mayName reports whether the pattern may match a tool of the plugin.
func mayName(glob, plugin string) bool {
	part, _, whole := strings.Cut(glob, "__")
	return !whole || toolname.Matches(part, plugin)
}

// namesToolsOf reports whether a rule or a profile names single tools of the plugin, which only the plugin knows.
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

// misnamed finds rules that name an argument which none of their tools has. In a rule for all tools that is only a
// warning: it may be meant for a plugin of other configurations.
func misnamed(rules []policy.Rule, tools []*host.Tool) (problems, warnings []error) {
	rules = slices.DeleteFunc(slices.Clone(rules), func(r policy.Rule) bool { return len(r.Names) == 0 })
	if len(rules) == 0 { // what tools declare is read from their schemas
		return nil, nil
	}
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
			known := map[string]bool{}
			for _, t := range tools {
				about := func(glob string) bool { return toolname.Matches(glob, t.Name) }
				if len(r.Tools) == 0 || slices.ContainsFunc(r.Tools, about) {
					maps.Copy(known, t.Arguments())
				}
			}
			*to = append(*to, fmt.Errorf("%s: rule %q looks at args.%s, but no tool%s has an argument of that name%s",
				r.Source, r.Name, name, of, suggestName(name, slices.Sorted(maps.Keys(known)))))
		}
	}
	return problems, warnings
}

// patternsForUnknownPlugins finds rules and profiles of the configuration about a plugin that does not exist. It may be
// added later, so they are no mistakes, but a deny without effect should be known.
func patternsForUnknownPlugins(c *config.Config, plugins []string) (warnings []error) {
	check := func(who string, globs []string) {
		for _, glob := range globs {
			if slices.ContainsFunc(plugins, func(p string) bool { return mayName(glob, p) }) {
				continue
			}
			part, _, _ := strings.Cut(glob, "__")
			warnings = append(warnings, fmt.Errorf("%s is about %q, but there is no such plugin%s", who, glob,
				textutil.DidYouMean(part, plugins)))
		}
	}
	eachPatterns(c, check)
	return warnings
}

// unmatched finds patterns of rules and profiles that name one of the listed plugins and none of its tools: usually
// typing errors.
func unmatched(c *config.Config, tools []*host.Tool) (warnings []error) {
	check := func(who string, globs []string) {
		for _, glob := range globs {
			plugin, tool, _ := strings.Cut(glob, "__")
			own := ownNames(tools, plugin)
			means := func(name string) bool { return toolname.Matches(glob, plugin+"__"+name) }
			if len(own) > 0 && !slices.ContainsFunc(own, means) {
				warnings = append(warnings, fmt.Errorf("%s is about %q, but plugin %q has no such tool%s", who, glob, plugin,
					textutil.DidYouMean(tool, own)))
			}
		}
	}
	eachPatterns(c, check)
	return warnings
}

// eachPatterns calls check with the patterns of each rule and profile, and who has them.
func eachPatterns(c *config.Config, check func(who string, globs []string)) {
	for _, r := range configRules(c) {
		check(fmt.Sprintf("%s: rule %q", r.Source, r.Name), r.Tools)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		p := c.Profiles[name]
		included := func(glob string) bool { // it is checked in that profile
			return slices.ContainsFunc(p.Include, func(name string) bool {
				other := c.Profiles[name]
				return slices.Contains(other.Filter.Tools, glob) || slices.Contains(other.Filter.Exclude, glob)
			})
		}
		check(fmt.Sprintf("%s: profile %q", p.Source, name), slices.DeleteFunc(slices.Concat(p.Filter.Tools,
			p.Filter.Exclude), included))
	}
}

// unknownTools finds settings for tools that their plugin does not have, unless it misses some of its tools.
func unknownTools(c *config.Config, processes []*supervise.Process, tools []*host.Tool, missing map[string]bool) (
	problems []error) {
	for _, name := range slices.Sorted(maps.Keys(c.ToolSources)) {
		plugin, own, _ := strings.Cut(name, "__")
		started := slices.ContainsFunc(processes, func(p *supervise.Process) bool {
			return p.Name() == plugin && p.Status().State == supervise.Ready
		})
		if !started || missing[plugin] ||
			slices.ContainsFunc(tools, func(t *host.Tool) bool { return t.Name == name }) {
			continue
		}
		problems = append(problems, fmt.Errorf("%s: there are settings for %s, but plugin %q has no tool %q%s",
			c.ToolSources[name], name, plugin, own, textutil.DidYouMean(own, ownNames(tools, plugin))))
	}
	return problems
}

// ownNames are the names of a plugin's tools without the plugin's label.
func ownNames(tools []*host.Tool, plugin string) (out []string) {
	for _, t := range tools {
		if own, ok := strings.CutPrefix(t.Name, plugin+"__"); ok {
			out = append(out, own)
		}
	}
	return out
}

// suggestName suggests the nearest of the names, or otherwise lists them all, if they are few.
func suggestName(name string, names []string) string {
	if meant := textutil.DidYouMean(name, names); meant != "" || len(names) == 0 || len(names) > 20 {
		return meant
	}
	if len(names) == 1 {
		return "; there is only " + names[0]
	}
	return "; there are " + strings.Join(names, ", ")
}
