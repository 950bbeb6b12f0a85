package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/supervise"
)

func newValidate(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "Check the configuration and the plugins that it names",
		Long: "Check the configuration, the rules beside it, and the plugins. Only those plugins are started that have a config\n" +
			"block, which is checked against the schema that they publish, or that a rule is about which looks at arguments:\n" +
			"no tool may turn out to have an argument of that name. Of a file that was found and is not trusted (toolhost trust)\n" +
			"nothing is started; what could not be checked without is told.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.validate(cmd.Context()) },
	}
}

func (g *globals) validate(ctx context.Context) error {
	c, rules, err := g.loadRules()
	if err != nil {
		return err
	}
	trusted := g.trusts(c)
	there := findToCheck(ctx, c, trusted)
	specs, problems := there.specs, slices.Clone(there.problems)
	g.warn(there.unlocked())
	if len(problems) == 0 && (trusted || len(c.Discovery) == 0) { // else the plugin may be one of those that could not be found
		g.warn(rulesForNobody(c, specs))
	}
	asked, wrong := verify(there, rules)
	problems = append(problems, wrong...)
	if trusted {
		problems = append(problems, g.try(ctx, there, asked, rules)...)
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	if !trusted {
		g.tellUnchecked(c, asked)
	}
	g.tellValid(there, trusted)
	return nil
}

func (g *globals) tellValid(there *found, trusted bool) {
	word := "is valid"
	if !trusted {
		word = "is valid, as far as it was checked"
	}
	fmt.Fprintf(g.out, "%s %s: %s%s\n", there.config.Path, word, counted(len(there.specs), "plugin"), there.lockedOf())
}

// verify looks at the programs, and gives the plugins that must be asked for more, and what is wrong with others.
func verify(there *found, rules []policy.Rule) (asked []string, problems []error) {
	for _, spec := range there.specs {
		if err := supervise.Verify(spec); err != nil {
			problems = append(problems, fmt.Errorf("%s: plugin %q: %w", spec.Source, spec.Name, err))
		} else if spec.Config != nil || isSpokenOf(spec.Name, there.config, rules) {
			asked = append(asked, spec.Name)
		}
	}
	return asked, problems
}

// tellUnchecked says what only programs know that were not started.
func (g *globals) tellUnchecked(c *config.Config, asked []string) {
	var left []string
	for _, d := range c.Discovery {
		left = append(left, fmt.Sprintf("the plugins that plugin_discovery %q names", d.Name))
	}
	for _, name := range asked {
		left = append(left, fmt.Sprintf("the settings and rules of plugin %q", name))
	}
	text := filepath.Base(c.Path) + " was found here and is not trusted as it is now, so nothing of it was started"
	if len(left) > 0 {
		text += "; not checked: " + strings.Join(left, ", ")
	}
	g.complain(errors.New(text))
}

// loadRules gives the configuration, tells its warnings, and gives all rules that can hold with it.
func (g *globals) loadRules() (*config.Config, []policy.Rule, error) {
	c, err := g.load()
	if err != nil {
		return nil, nil, err
	}
	for _, w := range c.Warnings {
		g.complain(errors.New(w.String()))
	}
	standing, err := standingRules()
	return c, allRules(standing, c), err
}

// isSpokenOf says whether the configuration says things of the plugin's tools that only the plugin can tell to be right.
func isSpokenOf(plugin string, c *config.Config, rules []policy.Rule) bool {
	return namesToolsOf(c, plugin) || slices.ContainsFunc(rules, func(r policy.Rule) bool { return looksInto(r, plugin) })
}

// try starts the plugins that know what their config blocks may hold, or what the arguments are that rules look at.
func (g *globals) try(ctx context.Context, there *found, names []string, rules []policy.Rule) []error {
	if len(names) == 0 {
		return nil
	}
	s, err := g.open(ctx, opening{only: names, lawless: true, found: there, refresh: true})
	if err != nil {
		return []error{err}
	}
	defer s.close(g)
	tools, problems := s.host.Tools(ctx)
	var out []error
	for _, p := range problems {
		out = append(out, located(s.config, p)...)
	}
	if len(problems) == 0 { // else the argument may be one of a tool that is left out
		wrong, doubtful := misnamed(rules, tools)
		g.warn(append(doubtful, unmatched(s.config, tools)...))
		out = append(out, wrong...)
	}
	return append(out, s.unknownTools(tools)...)
}

// warn tells what is not wrong, but probably not meant either.
func (g *globals) warn(warnings []error) {
	for _, w := range warnings {
		g.complain(w)
	}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
