package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/pluginstatus"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/sdk"
)

func newStatus(g *options) *cobra.Command {
	var format, profile string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Start every plugin and show its state",
		Long: "Start every plugin and show its state. With a running host (toolhost serve) nothing is started: the\n" +
			"states are those of its plugins; --profile names the profile that it was started with. With\n" +
			"--verbose, and as JSON, it also shows what memory and processor time they use. The exit code is 4 if\n" +
			"a plugin cannot be used, or cannot reach what it needs to find its tools, such as an MCP server;\n" +
			"tools that come late are waited for, a minute at most.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.status(cmd.Context(), profile, format) },
	}
	g.profileFlag(cmd, &profile)
	cmd.Flag("profile").Usage = "the host of this `profile`"
	chooseFormat(cmd, &format, "%s", "table", "json")
	return cmd
}

func (g *options) status(ctx context.Context, profile, format string) error {
	g.servedBefore = true
	if r := g.runningOr(ctx, profile); r != nil {
		defer r.close()
		return g.statusOf(ctx, r, format)
	}
	o := g.bootstrapOptions()
	o.Refresh, o.Profile = true, profile
	s, err := g.open(ctx, o)
	if err != nil {
		return err
	}
	defer g.close(s)
	g.reportNoConfiguration(s.Config().Path, true)
	_, problems := s.Host().Tools(ctx)
	if g.awaitTools(ctx, s) {
		_, problems = s.Host().Tools(ctx)
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	left := s.Plugins().Problems
	g.printErrors(left...)
	for _, p := range problems {
		if e, failed := errors.AsType[*sdk.Error](p); !failed || e.Code != sdk.CodePluginUnavailable || e.Name == "NoTools" {
			g.printError(p) // otherwise the table has it
		}
	}
	if len(s.Processes())+len(left) == 0 {
		g.explainNoPlugins(s)
	}
	return g.printStatus(statuses(ctx, s), s.Plugins().Unlocked(), len(problems)+len(left) > 0, format)
}

// statusCode is the error of a status with a problem.
func statusCode(all []pluginStatus, failed bool) error {
	for _, p := range all {
		_, problems := statusNotices(p.Status)
		failed = failed || len(problems) > 0
		switch p.State {
		case supervise.Crashed, supervise.Backoff, supervise.Quarantined, supervise.Invalid:
			failed = true
		}
	}
	if failed {
		return &exitError{code: exitUnavailable}
	}
	return nil
}

// A pluginStatus is a plugin's state, how it compares with the lock file, and what a running host knows it to use.
type pluginStatus struct {
	supervise.Status
	Lock   bootstrap.LockState `json:"lock,omitempty"`
	Memory int64               `json:"memory_bytes,omitempty"`
	CPU    float64             `json:"cpu_seconds,omitempty"`
}

func statuses(ctx context.Context, s *bootstrap.Instance) []pluginStatus {
	out := []pluginStatus{}
	for _, p := range s.Processes() {
		lock, notice := s.LockState(ctx, p)
		status := pluginStatus{Status: p.Status(), Lock: lock}
		if notice != "" {
			status.Notices = append(slices.Clone(status.Notices), sdk.Notice{Kind: sdk.Remark, Text: notice})
		}
		out = append(out, status)
	}
	return out
}

// printStatus prints the states, and the notices below a table. It returns the error of a status with a problem.
func (g *options) printStatus(all []pluginStatus, notices []error, failed bool, format string) error {
	if format == "json" {
		return cmp.Or(g.printJSON(all), statusCode(all, failed))
	}
	locks := slices.ContainsFunc(all, func(p pluginStatus) bool { return p.Lock != "" })
	usage := g.verbose && slices.ContainsFunc(all, func(p pluginStatus) bool { return p.Memory > 0 })
	rows := [][]string{{"PLUGIN", "STATE", "PID", "GENERATION", "RESTARTS", "TOOLS", "VERSION", "SANDBOX", "CONTAINMENT",
		"MEMORY", "CPU", "LOCK", "LAST ERROR"}}
	for _, p := range all {
		state, tools := string(p.State), fmt.Sprint(p.Tools)
		if p.State == supervise.Known { // it may have tools that are not known yet
			state, tools = "not started", number(p.Tools)
		}
		memory, cpu := "-", "-"
		if p.Memory > 0 {
			memory, cpu = fmt.Sprintf("%.1f MiB", float64(p.Memory)/(1<<20)), fmt.Sprintf("%.2f s", p.CPU)
		}
		rows = append(rows, []string{p.Name, state, number(p.PID), fmt.Sprint(p.Generation), fmt.Sprint(p.Restarts), tools,
			cmp.Or(fitLine(p.Version, 30), "-"), sandboxWords(p.Sandbox), cmp.Or(p.Containment, "-"), memory, cpu,
			cmp.Or(string(p.Lock), "-"), cmp.Or(fitLine(p.LastError, 300), "-")})
	}
	const memoryAt, lockAt = 9, 11 // columns; that of the processor time is between them
	for i := range rows {
		if !locks {
			rows[i] = slices.Delete(rows[i], lockAt, lockAt+1)
		}
		if !usage {
			rows[i] = slices.Delete(rows[i], memoryAt, lockAt)
		}
	}
	writeTable(g.out, rows, widest)
	g.printNotices(notices, all)
	return statusCode(all, failed)
}

// printNotices prints a line for each notice.
func (g *options) printNotices(notices []error, all []pluginStatus) {
	for _, p := range all {
		own, _ := statusNotices(p.Status)
		notices = append(notices, own...)
		if p.Overdue > 0 {
			notices = append(notices, fmt.Errorf("plugin %q: %s", p.Name, overdueWords(p.Overdue)))
		}
	}
	for _, n := range append(notices, missingProtection(all)...) {
		fmt.Fprintln(g.out, fitLine(n.Error(), 1000))
	}
}

// missingProtection says what plugins lack of their requested levels: each thing once, with the plugins that lack it.
func missingProtection(all []pluginStatus) (out []error) {
	type lack struct{ level, missing string }
	var order []lack
	names := map[lack][]string{}
	for _, p := range all {
		if p.Sandbox == nil {
			continue
		}
		level := fmt.Sprintf("%q only", p.Sandbox.Effective)
		if p.Sandbox.Effective == p.Sandbox.Requested {
			level = fmt.Sprintf("%q, but", p.Sandbox.Effective)
		}
		for _, m := range p.Sandbox.Missing {
			l := lack{level, m}
			if names[l] == nil {
				order = append(order, l)
			}
			names[l] = append(names[l], p.Name)
		}
	}
	for _, l := range order {
		run := "runs"
		if len(names[l]) > 1 {
			run = "run"
		}
		out = append(out, fmt.Errorf("%s %s at the sandbox level %s: %s", supervise.NamePlugins(names[l]), run, l.level,
			l.missing))
	}
	return out
}

func number(n int) string { return cmp.Or(positive(n), "-") }

// statusOf shows the states of a running host's plugins.
func (g *options) statusOf(ctx context.Context, r *runningHost, format string) error {
	reply, err := apiv1.NewPluginServiceClient(r.conn).List(ctx, &apiv1.ListPluginsRequest{})
	if err != nil {
		return remoteError(err)
	}
	for _, p := range reply.Problems {
		g.printError(errors.New(p))
	}
	all := []pluginStatus{}
	for _, p := range reply.Plugins {
		all = append(all, pluginStatus{Status: pluginstatus.Status(p), Lock: bootstrap.LockState(p.Lock),
			Memory: p.MemoryBytes, CPU: p.Cpu.AsDuration().Seconds()})
	}
	return g.printStatus(all, nil, len(reply.Problems) > 0, format)
}

// notices are the messages of plugins and about the lock file for the operator; only of the named ones, if any is
// named. Problems are those of them for which the exit code is that of something unavailable.
func notices(i *bootstrap.Instance, only ...string) (out, problems []error) {
	out = i.Plugins().Unlocked(only...)
	for _, p := range i.Processes() {
		if len(only) == 0 || slices.Contains(only, p.Name()) {
			own, failed := statusNotices(p.Status())
			out, problems = append(out, own...), append(problems, failed...)
		}
	}
	return out, problems
}

func statusNotices(s supervise.Status) (out, problems []error) {
	for _, n := range s.Notices {
		err := fmt.Errorf("plugin %q: %s", s.Name, n.Text)
		if out = append(out, err); n.Kind == sdk.Problem {
			problems = append(problems, err)
		}
	}
	return out, problems
}
