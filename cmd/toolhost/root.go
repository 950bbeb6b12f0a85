package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// globals are the flags that every sub-command takes.
type globals struct {
	terminal
	config, workdir     string
	logLevel, logFormat string
	checkTrust          bool
	late                *error // what went wrong in a help text, which cobra has no errors for
}

func newRoot(t *terminal) *cobra.Command {
	g := &globals{late: t.late}
	root := &cobra.Command{
		Use:   "toolhost",
		Short: "Run an agent's tools as supervised plugin processes",
		Long: "toolhost runs every tool of an agent as a plugin process of its own: found, started, checked, called, watched\n" +
			"and ended by one host, which always answers with data that a model can act on.",
		SilenceErrors: true, SilenceUsage: true, SuggestionsMinimumDistance: 2,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(*cobra.Command, []string) error {
			g.terminal = *t
			return g.check()
		},
	}
	g.flags(root, t)
	root.AddCommand(newDiscover(g), newCall(g), newPolicy(g), newApprovals(g), newTrust(g), newValidate(g), newStatus(g), newDoctor(g), newAudit(g), newPlugin(g), newVersion(g))
	root.SetIn(t.in)
	root.SetOut(t.out)
	root.SetErr(cleaner{t.err})
	explainUsage(root)
	extend(root)
	return root
}

// flags are those of every sub-command. The colours are t's, who complains of commands that never came to run.
func (g *globals) flags(root *cobra.Command, t *terminal) {
	f := root.PersistentFlags()
	f.StringVar(&g.config, "config", "", "configuration `file` (default: $TOOLHOST_CONFIG, ./config.hcl, then the user's)")
	f.BoolVar(&g.checkTrust, "check-trust", false, "use the file of --config only as it was trusted (toolhost trust)")
	f.StringVar(&g.workdir, "workdir", "", "`folder` that tools work in (default: the current one)")
	f.BoolVar(&t.noColor, "no-color", false, "no colours, also on a terminal")
	g.logLevel, g.logFormat = "error", "text"
	choose(root, &g.logLevel, "log-level", "%s; the log goes to standard error", "debug", "info", "warn", "error")
	choose(root, &g.logFormat, "log-format", "%s", "text", "json")
}

// unknownCommand refuses what is no sub-command, and names those with near names.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("there is no command %q", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("%s; did you mean %s?", text, strings.Join(near, " or "))
	}
	return fmt.Errorf("%s; `%s --help` lists them", text, cmd.CommandPath())
}

// noArguments refuses words after a command that takes only flags.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments", cmd.Name())
	}
	return nil
}

// extend adds commands that only some builds have.
var extend = func(*cobra.Command) {}

func (g *globals) check() error {
	if info, err := os.Stat(g.workdir); g.workdir != "" && (err != nil || !info.IsDir()) {
		return fmt.Errorf("--workdir %s is not a folder", g.workdir)
	}
	return nil
}

// logger writes to standard error.
func (g *globals) logger() *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(g.logLevel)) // one of four words
	o := &slog.HandlerOptions{Level: level}
	if g.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(cleaner{g.err}, o))
	}
	return slog.New(slog.NewTextHandler(cleaner{g.err}, o))
}
