package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/mcpserver"
)

type mcpFlags struct {
	profile    string
	approve    string
	serverName string
	plainNames bool
}

func newMCP(g *globals) *cobra.Command {
	var f mcpFlags
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the tools to MCP clients",
		Long: "Serve the tools to an MCP client on standard input and output. The client starts this command, and\n" +
			"ends it by closing its standard input. The log goes to standard error.\n" +
			"\n" +
			"A tool is called PLUGIN__TOOL. With the prefix mcp__SERVER__ that clients put before it, a name has\n" +
			"at most 64 characters: longer ones end in a short hash.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.serveMCP(cmd.Context(), f) },
	}
	g.profileFlag(cmd, &f.profile)
	clientApproveFlag(cmd, &f.approve)
	cmd.Flags().StringVar(&f.serverName, "server-name", "toolhost", "the `name` that the client has for this server")
	cmd.Flags().BoolVar(&f.plainNames, "plain-names", false, "call each tool TOOL instead of PLUGIN__TOOL; of two with "+
		"one name, neither is served")
	complete(cmd, "server-name", cobra.NoFileCompletions)
	return cmd
}

func (g *globals) serveMCP(ctx context.Context, f mcpFlags) error {
	s, err := mcpserver.New(mcpserver.Options{
		Version: version, ServerName: f.serverName, PlainNames: f.plainNames, Logger: g.logger(),
		Open: func(ctx context.Context, _ string, hooks mcpserver.Hooks) (mcpserver.Backend, error) {
			o := g.options()
			o.AskTrust = nil // standard input is the client's
			o.Profile, o.Approve = f.profile, bootstrap.Approve(f.approve)
			o.OnToolsChanged = hooks.ToolsChanged
			return g.open(ctx, o)
		},
	})
	if err != nil {
		return err
	}
	err = s.Run(ctx, g.in, g.out.w)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}
