package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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
		Long: "List the tools of all plugins. Plugins are started for it. A plugin or a plugin source that cannot be used is\n" +
			"told on standard error, and the exit code is 4 then, and only then; the rest is listed all the same. Notices of\n" +
			"plugins, such as of tools that they had to leave out, are told on standard error too and change no exit code.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.discover(cmd.Context(), format, plugins) },
	}
	cmd.Flags().StringVar(&format, "format", "table", "table or json")
	cmd.Flags().StringArrayVar(&plugins, "plugin", nil, "only this `plugin`; may be given again")
	offer(cmd, "format", "table", "json")
	complete(cmd, "plugin", g.completePlugins)
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
	if ctx.Err() != nil {
		return errInterrupted
	}
	s.complain(g, append(problems, s.notices()...)...)
	if err := g.printTools(tools, format); err != nil {
		return err
	}
	if len(problems)+len(s.problems) > 0 {
		return &exitError{code: exitUnavailable}
	}
	return nil
}

// notices are what plugins want their operator to know; only those of the named ones, if any is named.
func (s *session) notices(only ...string) (out []error) {
	for _, p := range s.processes {
		if len(only) > 0 && !slices.Contains(only, p.Name()) {
			continue
		}
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
	if len(tools) == 0 {
		fmt.Fprintln(g.err, "no tools")
		return nil
	}
	writeTable(g.out, toolRows(tools), width(g.out.w))
	return nil
}

func toolRows(tools []*host.Tool) [][]string {
	rows := [][]string{{"TOOL", "EFFECT", "CATEGORY", "DESCRIPTION"}}
	for _, t := range tools {
		rows = append(rows, []string{t.Name, effect(t.Hints), fit(firstOf(t.Category, "-"), 12), firstLine(t.Description)})
	}
	return rows
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
