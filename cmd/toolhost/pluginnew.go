package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/internal/pluginnew"
)

const newLong = "Write the repository of a new plugin: a tool, tests of it in memory and under a host, a Makefile,\n" +
	"a CI workflow, a README and a changelog. `make run` starts the plugin under a host and calls its tools as you\n" +
	"type, `make test` tests it, `make install` offers it to every toolhost of yours.\n" +
	"\n" +
	"A plugin in Go gets the sdk as a module: of this program's version or, if that is not released, from the\n" +
	"source code that --sdk names or that is beside this program. The kits for Node and Python are copied into\n" +
	"the repository.\n" +
	"\n" +
	"The folder must not be there, or be empty except for .git. Nothing is started or downloaded; if anything\n" +
	"fails, nothing is written."

func newPluginNew(g *options) *cobra.Command {
	var o pluginnew.Options
	var sdk string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write the repository of a new plugin, in Go, Node or Python",
		Long:  newLong,
		Example: "  toolhost plugin new weather && cd weather && make run\n" +
			"  toolhost plugin new weather --lang node",
		Args:              exactlyOne("name the plugin: toolhost plugin new NAME, such as toolhost plugin new weather"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) (err error) {
			o.Name = args[0]
			o.Taken = append(slices.Clone(config.ShippedPlugins), "toolhost")
			if err := o.Check(); err != nil { // before --sdk is asked for
				return err
			}
			if o.SDK, err = findSDK(sdk); err != nil && (o.Lang == "go" || sdk != "") {
				return err
			}
			written, err := pluginnew.Create(o)
			if err == nil {
				g.printNext(o, written)
			}
			return err
		},
	}
	o.Lang = pluginnew.Languages[0]
	choose(cmd, &o.Lang, "lang", "the `language`: %s", pluginnew.Languages...)
	cmd.Flags().StringVar(&o.Dir, "dir", "", "the `folder` to write to (default: one of the plugin's name)")
	cmd.Flags().StringVar(&o.Module, "module", "",
		"the `path` of the Go module (default example.com/toolhost-plugin-NAME)")
	cmd.Flags().StringVar(&sdk, "sdk", "",
		"a `folder` with toolhost's source code, for a Go module to use in place of a released version")
	return cmd
}

// findSDK returns the sdk that a new plugin uses.
func findSDK(named string) (pluginnew.SDK, error) {
	program, err := os.Executable()
	if err != nil {
		return pluginnew.SDK{}, err
	}
	released := "v" + version
	if version == unreleased {
		released = ""
	}
	return pluginnew.FindSDK(named, released, program)
}

// makeNeeds are the programs that a plugin's Makefile runs.
var makeNeeds = map[string][]string{"go": {"make", "go"}, "node": {"make", "node", "npm"},
	"python": {"make", "python3"}}

// printNext says what was written, and the next commands.
func (g *options) printNext(o pluginnew.Options, written pluginnew.Repository) {
	fmt.Fprintf(g.out, "the plugin %s is in %s\n\n", o.Name, escapeForTerminal(written.Dir))
	fmt.Fprintln(g.out, "Next:")
	if written.Dir != "." {
		fmt.Fprintf(g.out, "  cd %s\n", shellWords([]string{escapeForTerminal(written.Dir)}))
	}
	for _, r := range [][2]string{
		{"make run", `toolhost plugin run --watch: call its tool by typing hello {"name": "Ada"}`},
		{"make test", "its tests, in memory and under a host"},
		{"make install", "for you, from anywhere: toolhost call " + o.Name + "__hello name=Ada"},
	} {
		fmt.Fprintf(g.out, "  %-13s %s\n", r[0], r[1])
	}
	if own, err := os.Executable(); err == nil && filepath.IsAbs(own) {
		if _, err := exec.LookPath("toolhost"); err != nil { // the Makefile would build one, or not find it
			fmt.Fprintf(g.out, "\ntoolhost is not in the PATH, so name it for these commands: export TOOLHOST=%s\n",
				shellWords([]string{escapeForTerminal(own)}))
		}
	}
	if o.Lang == "go" && o.SDK.Dir != "" {
		fmt.Fprintf(g.out, "\nThis toolhost is not a release, so go.mod takes the sdk from %s\n",
			escapeForTerminal(o.SDK.Dir))
	}
	for _, program := range makeNeeds[o.Lang] {
		if _, err := exec.LookPath(program); err != nil {
			g.printError(fmt.Errorf("warning: there is no command %s in the PATH, which the Makefile needs", program))
		}
	}
}
