package main

import "github.com/spf13/cobra"

func newPlugin(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:                        "plugin",
		Short:                      "Work on plugins",
		SuggestionsMinimumDistance: 2,
		Args:                       unknownCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPluginRun(g), newPluginLock(g))
	return cmd
}
