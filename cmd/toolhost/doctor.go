package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/wire"
)

func newDoctor(g *globals) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what this machine offers: sandbox levels, versions, folders",
		Long: "Tell what this machine offers to keep plugins in, which versions and folders are used, and for each plugin of the\n" +
			"configuration the sandbox level that is asked for and the one that can be reached, or why it could not be started.\n" +
			"No plugin is started, and no discovery command is run. The exit code is 4 if a plugin could not be started, as one\n" +
			"that requires more than this machine can do, or whose program is not there; else 0.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.doctor(cmd.Context(), format) },
	}
	chooseFormat(cmd, &format, "%s", "table", "json")
	return cmd
}

// A diagnosis is all that doctor tells.
type diagnosis struct {
	Versions map[string]string `json:"versions"`
	Machine  []finding         `json:"machine"`
	Folders  []folderFinding   `json:"folders"`
	Plugins  []pluginFinding   `json:"plugins"`
	// Discovery are the commands that find plugins.
	Discovery []pluginFinding `json:"discovery,omitempty"`
	Problems  []string        `json:"problems,omitempty"`
}

// A pluginFinding is what keeps one plugin in, or one discovery command, if it were started now.
type pluginFinding struct {
	Name string `json:"name"`
	sandbox.Confinement
	Refused string `json:"refused,omitempty"` // why it would not be started
	Source  string `json:"source,omitempty"`
}

func (g *globals) doctor(ctx context.Context, format string) error {
	c, err := g.load()
	m := sandbox.Machine()
	d := diagnosis{Versions: versions(), Machine: examine(m), Folders: g.folders(c), Plugins: []pluginFinding{}}
	if err != nil {
		d.Problems = append(d.Problems, err.Error())
	} else {
		d.plugins(c.FindOffline(ctx), m)
	}
	d.conceal(g)
	if err := d.print(g, format); err != nil {
		return err
	}
	return d.verdict()
}

// conceal takes the values by reference out of what went wrong.
func (d *diagnosis) conceal(g *globals) {
	for i, p := range d.Problems {
		d.Problems[i] = g.hide(p)
	}
	for _, findings := range [][]pluginFinding{d.Plugins, d.Discovery} {
		for i, p := range findings {
			findings[i].Refused = g.hide(p.Refused)
		}
	}
}

// verdict is an error when a plugin could not be started.
func (d *diagnosis) verdict() error {
	if slices.ContainsFunc(slices.Concat(d.Plugins, d.Discovery), func(p pluginFinding) bool { return p.Refused != "" }) {
		return &exitError{code: exitUnavailable}
	}
	return nil
}

func versions() map[string]string {
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		kernel = []byte("-")
	}
	return map[string]string{"toolhost": version, "go": runtime.Version(), "system": runtime.GOOS + "/" + runtime.GOARCH,
		"kernel": strings.TrimSpace(string(kernel)), "plugin_protocol": fmt.Sprint(wire.Handshake.ProtocolVersion)}
}

func (d *diagnosis) plugins(there *bootstrap.Plugins, m sandbox.Means) {
	for _, p := range there.Problems {
		d.Problems = append(d.Problems, p.Error())
	}
	for _, s := range there.Specs {
		got, err := there.Confinement(s, m)
		d.Plugins = append(d.Plugins, findingOf(s, got, err))
	}
	for _, c := range there.Discoveries() {
		got, err := c.Confine(m)
		d.Discovery = append(d.Discovery, findingOf(supervise.Spec{Name: c.Name, Source: c.Source, Command: c.Command, Dir: c.Dir}, got, err))
	}
}

// findingOf tells first what is wrong with the sandbox.
func findingOf(spec supervise.Spec, got sandbox.Confinement, err error) pluginFinding {
	p := pluginFinding{Name: spec.Name, Confinement: got, Source: spec.Source}
	if err = cmp.Or(err, spec.Verify()); err != nil {
		p.Refused = err.Error()
	}
	return p
}

// widest is where lines are cut. What is missing is worth a line that a terminal breaks.
const widest = 1000

func (d *diagnosis) print(g *globals, format string) error {
	if format == "json" {
		return g.printJSON(d)
	}
	d.printTables(g)
	return nil
}

func (d *diagnosis) printTables(g *globals) {
	v := d.Versions
	fmt.Fprintf(g.out, "toolhost %s, %s, %s, kernel %s, plugin protocol %s\n\n", v["toolhost"], v["go"], v["system"], v["kernel"], v["plugin_protocol"])
	rows := [][]string{{"MACHINE", "STATE", ""}}
	for _, f := range d.Machine {
		rows = append(rows, []string{f.Name, f.state(), f.text()})
	}
	writeTable(g.out, rows, widest)
	rows = [][]string{{"FOLDER", "STATE", ""}}
	for _, f := range d.Folders {
		rows = append(rows, []string{f.Name, f.State, f.Path})
	}
	fmt.Fprintln(g.out)
	writeTable(g.out, rows, widest)
	d.printPlugins(g)
}

func (d *diagnosis) printPlugins(g *globals) {
	rows := [][]string{{"PLUGIN", "SANDBOX", "NETWORK", ""}}
	for _, p := range d.Plugins {
		rows = append(rows, p.row(p.Name))
	}
	for _, p := range d.Discovery {
		rows = append(rows, p.row("discovery "+p.Name))
	}
	if len(rows) > 1 {
		fmt.Fprintln(g.out)
		writeTable(g.out, rows, widest)
	}
	for _, p := range d.Problems {
		fmt.Fprintf(g.out, "\n%s\n", clean(p))
	}
}

func readOnlyWords(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	short := make([]string, len(paths))
	for i, path := range paths {
		short[i] = bootstrap.Shortened(path)
	}
	return "cannot change " + strings.Join(short, ", ")
}

func (p pluginFinding) row(name string) []string {
	network := "yes"
	if !p.Network {
		network = "no"
	}
	return []string{name, sandboxWords(&p.Confinement), network, cmp.Or(p.Refused, strings.Join(p.Missing, "; "), readOnlyWords(p.ReadOnly))}
}

// sandboxWords is a level in a table: what was asked for and what was got, if that is less.
func sandboxWords(c *sandbox.Confinement) string {
	switch {
	case c == nil:
		return "-"
	case c.Asked != c.Got:
		return fmt.Sprintf("%s→%s", c.Asked, c.Got)
	case c.Wrapper != "":
		return fmt.Sprintf("%s (%s)", c.Got, c.Wrapper)
	}
	return string(c.Got)
}
