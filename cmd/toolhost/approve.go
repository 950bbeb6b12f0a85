package main

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/bootstrap"
)

// callerName is who makes the calls of this program, for rules that name callers.
const callerName = "cli"

func approveFlag(cmd *cobra.Command, to *string) {
	choose(cmd, to, "approve", "for calls that need a person's yes: %s (default: the mode of the configuration)", "ask", "always", "never")
}

// clientApproveFlag is approveFlag for a program that clients run, who may have asked already.
func clientApproveFlag(cmd *cobra.Command, to *string) {
	choose(cmd, to, "approve", "for calls that need a person's yes: %s; client: the client has asked its user (default: the mode of the configuration)",
		"ask", "always", "never", string(bootstrap.ApproveClient))
}

func sessionFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "session", "", "count the call for the `session` of this name (default: that of the work folder, which ends after an hour without calls)")
	complete(cmd, "session", cobra.NoFileCompletions)
}

// profileFlag lets a command choose a profile.
func (g *globals) profileFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "profile", "", "only the tools of this `profile`, under its rules")
	complete(cmd, "profile", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		c, err := g.load()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return slices.Sorted(maps.Keys(c.Profiles)), cobra.ShellCompDirectiveNoFileComp
	})
}
