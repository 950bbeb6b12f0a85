package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/supervise"
)

func newValidate(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "Check the configuration and the plugins that it names",
		Long: "Check the configuration and the plugins that it names. Only plugins with a config block are started: each\n" +
			"publishes the schema that its block is checked against.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.validate(cmd.Context()) },
	}
}

func (g *globals) validate(ctx context.Context) error {
	c, err := g.load()
	if err != nil {
		return err
	}
	specs, problems := supervise.Find(ctx, sources(c))
	var configured []string
	for _, spec := range specs {
		if err := supervise.Verify(spec); err != nil {
			problems = append(problems, fmt.Errorf("%s: plugin %q: %w", spec.Source, spec.Name, err))
		} else if spec.Config != nil {
			configured = append(configured, spec.Name)
		}
	}
	problems = append(problems, g.tryConfigured(ctx, configured)...)
	if ctx.Err() != nil {
		return errInterrupted
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	fmt.Fprintf(g.out, "%s is valid: %s\n", c.Path, counted(len(specs), "plugin"))
	return nil
}

// tryConfigured starts the plugins that have a config block, since only they know what it may hold.
func (g *globals) tryConfigured(ctx context.Context, names []string) []error {
	if len(names) == 0 {
		return nil
	}
	s, err := g.open(ctx, names...)
	if err != nil {
		return []error{err}
	}
	defer s.close(g)
	tools, problems := s.host.Tools(ctx)
	var out []error
	for _, p := range problems {
		out = append(out, located(s.config, p)...)
	}
	return append(out, s.unknownTools(tools)...)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
