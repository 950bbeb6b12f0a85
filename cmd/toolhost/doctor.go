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

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/sdk"
)

func newDoctor(g *globals) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what this machine offers: sandbox levels, versions, folders",
		Long: "Tell what this machine offers to keep plugins in, which versions and folders are used, and for each plugin of the\n" +
			"configuration the sandbox level that is asked for and the one that can be reached. No plugin is started, and no\n" +
			"discovery command is run. The exit code is 4 if a plugin requires more than this machine can do, else 0.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.doctor(cmd.Context(), format) },
	}
	cmd.Flags().StringVar(&format, "format", "table", "table or json")
	offer(cmd, "format", "table", "json")
	return cmd
}

// A diagnosis is all that doctor tells.
type diagnosis struct {
	Versions map[string]string `json:"versions"`
	Machine  []finding         `json:"machine"`
	Folders  []folderFinding   `json:"folders"`
	Plugins  []pluginFinding   `json:"plugins"`
	Problems []string          `json:"problems,omitempty"`
}

// A pluginFinding is what keeps one plugin in, if it were started now.
type pluginFinding struct {
	Name string `json:"name"`
	supervise.Confinement
	Refused string `json:"refused,omitempty"` // why it would not be started
	Source  string `json:"source,omitempty"`
}

func (g *globals) doctor(ctx context.Context, format string) error {
	if format != "table" && format != "json" {
		return fmt.Errorf("--format must be table or json, not %q", format)
	}
	c, err := g.load()
	d := diagnosis{Versions: versions(), Machine: examine(supervise.Machine()), Folders: g.folders(c), Plugins: []pluginFinding{}}
	if err != nil {
		d.Problems = append(d.Problems, err.Error())
	} else {
		d.plugins(findOffline(ctx, c), supervise.Machine())
	}
	if err := d.print(g, format); err != nil {
		return err
	}
	return d.verdict()
}

// verdict is an error when a plugin cannot have what it requires.
func (d *diagnosis) verdict() error {
	if slices.ContainsFunc(d.Plugins, func(p pluginFinding) bool { return p.Refused != "" }) {
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
		"kernel": strings.TrimSpace(string(kernel)), "plugin_protocol": fmt.Sprint(sdk.Handshake.ProtocolVersion)}
}

func (d *diagnosis) plugins(there *found, m supervise.Means) {
	for _, p := range there.problems {
		d.Problems = append(d.Problems, p.Error())
	}
	for _, s := range there.specs {
		got, err := s.Sandbox.On(m)
		p := pluginFinding{Name: s.Name, Confinement: got, Source: s.Source}
		if err != nil {
			p.Refused = err.Error()
		}
		d.Plugins = append(d.Plugins, p)
	}
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
		network := "yes"
		if !p.Network {
			network = "no"
		}
		rows = append(rows, []string{p.Name, sandboxWords(&p.Confinement), network, cmp.Or(p.Refused, strings.Join(p.Missing, "; "))})
	}
	if len(d.Plugins) > 0 {
		fmt.Fprintln(g.out)
		writeTable(g.out, rows, widest)
	}
	for _, p := range d.Problems {
		fmt.Fprintf(g.out, "\n%s\n", clean(p))
	}
}

// sandboxWords is a level in a table: what was asked for and what was got, if that is less.
func sandboxWords(c *supervise.Confinement) string {
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
