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
	cmd.AddCommand(newPluginNew(g), newPluginRun(g), newPluginCheck(g), newPluginInstall(g), newPluginUpgrade(g),
		newPluginRemove(g), newPluginList(g), newPluginLock(g), newPluginLogs(g))
	return cmd
}
