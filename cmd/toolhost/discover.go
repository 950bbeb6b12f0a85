package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

func newDiscover(g *globals) *cobra.Command {
	var format string
	var plugins []string
	cmd := &cobra.Command{
		Use:   "discover",
		Short: "List the tools of all plugins",
		Long: "List the tools of all plugins. Plugins are started for it. What cannot be listed is told on standard error,\n" +
			"and the exit code is 4 then; the rest is listed all the same.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.discover(cmd.Context(), format, plugins) },
	}
	cmd.Flags().StringVar(&format, "format", "table", "table or json")
	cmd.Flags().StringArrayVar(&plugins, "plugin", nil, "only this `plugin`; may be given again")
	return cmd
}

func (g *globals) discover(ctx context.Context, format string, plugins []string) error {
	if format != "table" && format != "json" {
		return fmt.Errorf("--format must be table or json, not %q", format)
	}
	s, err := g.open(ctx, plugins...)
	if err != nil {
		return err
	}
	defer s.close(g)
	tools, problems := s.host.Tools(ctx)
	s.complain(g, append(problems, s.notices()...)...)
	if err := g.printTools(tools, format); err != nil {
		return err
	}
	if len(problems)+len(s.problems) > 0 {
		return &exitError{code: exitUnavailable}
	}
	return nil
}

// notices are what plugins want their operator to know.
func (s *session) notices() (out []error) {
	for _, p := range s.processes {
		for _, n := range p.Status().Notices {
			out = append(out, fmt.Errorf("plugin %q: %s", p.Name(), n))
		}
	}
	return out
}

func (g *globals) printTools(tools []*host.Tool, format string) error {
	if format == "json" {
		e := json.NewEncoder(g.out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(append([]*host.Tool{}, tools...))
	}
	room := width(g.out) - longest(tools) - 22
	w := tabwriter.NewWriter(g.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TOOL\tEFFECT\tCATEGORY\tDESCRIPTION")
	for _, t := range tools {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Name, effect(t.Hints), fit(firstOf(t.Category, "-"), 12), fit(firstLine(t.Description), max(room, 30)))
	}
	return w.Flush()
}

func longest(tools []*host.Tool) (n int) {
	for _, t := range tools {
		n = max(n, len(t.Name))
	}
	return n
}

// effect says in a word what the plugin hints at.
func effect(h sdk.Hints) string {
	var words []string
	switch {
	case h.ReadOnly != nil && *h.ReadOnly:
		words = append(words, "reads")
	case h.Destructive != nil && *h.Destructive:
		words = append(words, "changes")
	}
	return firstOf(strings.Join(words, " "), "-")
}
