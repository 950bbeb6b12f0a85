package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/supervise"
)

func newStatus(g *globals) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Start every plugin and tell how it is",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return g.status(cmd.Context(), format) },
	}
	cmd.Flags().StringVar(&format, "format", "table", "table or json")
	offer(cmd, "format", "table", "json")
	return cmd
}

func (g *globals) status(ctx context.Context, format string) error {
	if format != "table" && format != "json" {
		return fmt.Errorf("--format must be table or json, not %q", format)
	}
	s, err := g.open(ctx, opening{})
	if err != nil {
		return err
	}
	defer s.close(g)
	_, problems := s.host.Tools(ctx)
	if ctx.Err() != nil {
		return errInterrupted
	}
	s.complain(g)
	if err := g.printStatus(s.statuses(), format); err != nil {
		return err
	}
	if format == "table" {
		g.printNotices(s)
	}
	if len(problems)+len(s.problems) > 0 {
		return &exitError{code: exitUnavailable}
	}
	return nil
}

func (s *session) statuses() []supervise.Status {
	out := []supervise.Status{}
	for _, p := range s.processes {
		out = append(out, p.Status())
	}
	return out
}

func (g *globals) printStatus(all []supervise.Status, format string) error {
	if format == "json" {
		e := json.NewEncoder(g.out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(all)
	}
	w := tabwriter.NewWriter(g.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PLUGIN\tSTATE\tPID\tGENERATION\tRESTARTS\tTOOLS\tVERSION\tLAST ERROR")
	for _, p := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n", p.Name, p.State, number(p.PID), p.Generation, p.Restarts, p.Tools,
			firstOf(fit(p.Version, 30), "-"), firstOf(fit(p.LastError, 300), "-"))
	}
	return w.Flush()
}

// printNotices prints a line for each notice.
func (g *globals) printNotices(s *session) {
	for _, n := range s.notices() {
		fmt.Fprintln(g.out, fit(n.Error(), 1000))
	}
}

func number(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
