package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
			"no tool may turn out to have an argument of that name.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.validate(cmd.Context()) },
	}
}

func (g *globals) validate(ctx context.Context) error {
	c, rules, err := g.loadRules()
	if err != nil {
		return err
	}
	there := find(ctx, c)
	specs, problems := there.specs, slices.Clone(there.problems)
	if len(problems) == 0 { // else the plugin may be one of those that could not be found
		g.warn(rulesForNobody(c, specs))
	}
	var asked []string
	for _, spec := range specs {
		if err := supervise.Verify(spec); err != nil {
			problems = append(problems, fmt.Errorf("%s: plugin %q: %w", spec.Source, spec.Name, err))
		} else if spec.Config != nil || isSpokenOf(spec.Name, c, rules) {
			asked = append(asked, spec.Name)
		}
	}
	problems = append(problems, g.try(ctx, there, asked, rules)...)
	if ctx.Err() != nil {
		return errInterrupted
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	fmt.Fprintf(g.out, "%s is valid: %s\n", c.Path, counted(len(specs), "plugin"))
	return nil
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
	s, err := g.open(ctx, opening{only: names, lawless: true, found: there})
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
