package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

func newStatus(g *globals) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Start every plugin and tell how it is",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return g.status(cmd.Context(), format) },
	}
	chooseFormat(cmd, &format, "%s", "table", "json")
	return cmd
}

func (g *globals) status(ctx context.Context, format string) error {
	s, err := g.open(ctx, opening{refresh: true})
	if err != nil {
		return err
	}
	defer s.close(g)
	_, problems := s.host.Tools(ctx)
	if ctx.Err() != nil {
		return errInterrupted
	}
	s.complain(g)
	if len(s.specs)+len(s.problems) == 0 {
		s.tellNoPlugins(g)
	}
	all := s.statuses(ctx)
	if err := g.printStatus(all, format); err != nil {
		return err
	}
	if format == "table" {
		g.printNotices(s, all)
	}
	if len(problems)+len(s.problems) > 0 {
		return &exitError{code: exitUnavailable}
	}
	return nil
}

// A pluginStatus is how a plugin is, and how it stands to the lock file.
type pluginStatus struct {
	supervise.Status
	Lock string `json:"lock,omitempty"`
}

func (s *session) statuses(ctx context.Context) []pluginStatus {
	out := []pluginStatus{}
	for _, p := range s.processes {
		lock, notice := s.lockState(ctx, p)
		status := pluginStatus{p.Status(), lock}
		if notice != "" {
			status.Notices = append(slices.Clone(status.Notices), notice)
		}
		out = append(out, status)
	}
	return out
}

func (g *globals) printStatus(all []pluginStatus, format string) error {
	if format == "json" {
		return g.printJSON(all)
	}
	locks := slices.ContainsFunc(all, func(p pluginStatus) bool { return p.Lock != "" })
	w := tabwriter.NewWriter(g.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PLUGIN\tSTATE\tPID\tGENERATION\tRESTARTS\tTOOLS\tVERSION\tSANDBOX\tCONTAINMENT\t"+column(locks, "LOCK")+"LAST ERROR")
	for _, p := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s%s\n", p.Name, p.State, number(p.PID), p.Generation, p.Restarts, p.Tools,
			cmp.Or(fit(p.Version, 30), "-"), sandboxWords(p.Sandbox), cmp.Or(p.Containment, "-"), column(locks, cmp.Or(p.Lock, "-")), cmp.Or(fit(p.LastError, 300), "-"))
	}
	return w.Flush()
}

// column is a cell of a column that may not be there.
func column(there bool, cell string) string {
	if !there {
		return ""
	}
	return cell + "\t"
}

// printNotices prints a line for each notice.
func (g *globals) printNotices(s *session, all []pluginStatus) {
	notices := s.found.unlocked()
	for _, p := range all {
		for _, n := range p.Notices {
			notices = append(notices, fmt.Errorf("plugin %q: %s", p.Name, n))
		}
		if p.Overdue > 0 {
			notices = append(notices, fmt.Errorf("plugin %q: %s", p.Name, overdueWords(p.Overdue)))
		}
		notices = append(notices, lessThanAsked(p.Name, p.Sandbox)...)
	}
	for _, n := range notices {
		fmt.Fprintln(g.out, fit(n.Error(), 1000))
	}
}

// complainOfLess warns of a plugin that has come up without the level that was asked for it, whatever is logged.
func (g *globals) complainOfLess(status supervise.Status) {
	c := status.Sandbox
	if status.State != supervise.Ready || c == nil || c.Got == c.Asked {
		return
	}
	g.complain(fmt.Errorf("warning: plugin %q asks for the sandbox level %q, and is kept at %q: %s (toolhost doctor tells more)",
		status.Name, c.Asked, c.Got, fit(strings.Join(c.Missing, "; "), 1000)))
}

// lessThanAsked says what a plugin lacks of the level that was asked for it.
func lessThanAsked(name string, c *sandbox.Confinement) (out []error) {
	if c == nil {
		return nil
	}
	level := fmt.Sprintf("%q only", c.Got)
	if c.Got == c.Asked {
		level = fmt.Sprintf("%q, but", c.Got)
	}
	for _, m := range c.Missing {
		out = append(out, fmt.Errorf("plugin %q is kept at the level %s: %s", name, level, m))
	}
	return out
}

func number(n int) string { return cmp.Or(positive(n), "-") }
