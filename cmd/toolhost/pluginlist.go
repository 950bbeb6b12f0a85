package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/sdk/proctree"
)

func newPluginList(g *options) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List plugins: versions, programs, checksums, locks, sandbox levels, where they came from",
		Long: "List the plugins of the configuration and those that are installed. Nothing is started: versions are those\n" +
			"that were locked.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.listPlugins(cmd.Context(), format) },
	}
	chooseFormat(cmd, &format, "%s", "table", "json")
	return cmd
}

// A listedPlugin is one plugin of the list.
type listedPlugin struct {
	Name      string `json:"name"`
	Version   string `json:"version,omitempty"`
	Path      string `json:"path,omitempty"`
	SHA256    string `json:"sha256,omitempty"`
	Lock      string `json:"lock,omitempty"` // "locked", "not locked", "differs", or "" without a lock file
	Installed bool   `json:"installed"`
	Sandbox   string `json:"sandbox,omitempty"`
	Source    string `json:"source,omitempty"`
	Problem   string `json:"problem,omitempty"`
}

func (g *options) listPlugins(ctx context.Context, format string) error {
	c, err := bootstrap.Load(g.bootstrapOptions())
	if none, is := errors.AsType[*bootstrap.NotFoundError](err); is && !none.Named {
		if format == "json" {
			return g.printJSON([]listedPlugin{})
		}
		fmt.Fprintln(g.err, "no plugins: none is installed, and there is no configuration"+adviceFor(err))
		return nil
	} else if err != nil {
		return err
	}
	there := c.FindOffline(ctx)
	list := []listedPlugin{}
	machine := proctree.DetectCapabilities()
	for _, s := range there.Specs {
		list = append(list, g.inspected(there, s, machine))
	}
	if format == "json" {
		return g.printJSON(list)
	}
	g.printErrors(there.Problems...)
	rows := [][]string{{"PLUGIN", "VERSION", "SHA256", "LOCK", "SANDBOX", "PROGRAM", "SOURCE"}}
	for _, p := range list {
		rows = append(rows, []string{p.Name, cmp.Or(p.Version, "-"), cmp.Or(p.SHA256[:min(12, len(p.SHA256))], "-"),
			cmp.Or(p.Lock, "-"), cmp.Or(p.Sandbox, "-"), cmp.Or(fsutil.Shortened(p.Path), "-"),
			cmp.Or(p.Problem, fsutil.Shortened(p.Source))})
	}
	writeTable(g.out, rows, widest)
	return nil
}

func (g *options) inspected(there *bootstrap.Plugins, s supervise.Spec, machine proctree.Capabilities) listedPlugin {
	p := listedPlugin{Name: s.Name, Source: s.Source, Installed: there.Installed(s.Name)}
	if entry := there.LockEntry(s.Name); entry != nil {
		p.Version = entry.Version
		if p.Installed {
			p.Source = entry.Source
		}
	}
	state, _ := there.LockState(s.Name)
	p.Lock = string(state)
	if program, err := s.Inspect(); err != nil {
		p.Problem = g.hide(err.Error())
	} else {
		p.Path, p.SHA256 = program.Path, program.SHA256
	}
	if got, err := there.Confinement(s, machine); err != nil {
		p.Problem = cmp.Or(p.Problem, g.hide(err.Error()))
	} else {
		p.Sandbox = sandboxWords(&got)
	}
	return p
}
