package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/supervise"
)

func newMCPLogin(g *globals) *cobra.Command {
	return g.mcpAccount(&cobra.Command{
		Use:   "login PLUGIN",
		Short: "Log in at the MCP server of a plugin",
		Long: "Log in at the MCP server of a plugin that is configured with a url, where the server asks for OAuth. It\n" +
			"prints an address to open in a browser of this machine, and waits for ten minutes at most. The tokens\n" +
			"are kept in a file that only you can read, renewed when they expire, and never shown. Logging in\n" +
			"again replaces the tokens and changes no configuration.",
	})
}

func newMCPLogout(g *globals) *cobra.Command {
	return g.mcpAccount(&cobra.Command{
		Use:   "logout PLUGIN",
		Short: "Forget the tokens for the MCP server of a plugin",
		Long: "Forget the tokens for the MCP server of a plugin, and the client that was registered there, on this\n" +
			"machine. The page of your account at the server may revoke them there.",
	})
}

// mcpAccount completes a command that the plugin's own program implements: it knows the server, and keeps the tokens.
func (g *globals) mcpAccount(cmd *cobra.Command) *cobra.Command {
	verb := cmd.Name()
	cmd.Args = exactlyOne(fmt.Sprintf("`toolhost mcp %s` takes the name of one plugin", verb))
	cmd.ValidArgsFunction = g.completePlugins
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return g.runAccount(cmd.Context(), verb, args[0]) }
	return cmd
}

func (g *globals) runAccount(ctx context.Context, verb, name string) error {
	spec, err := g.admitted(ctx, name)
	if err != nil {
		return err
	}
	var config struct {
		URL string `json:"url"`
	}
	if json.Unmarshal([]byte(cmp.Or(string(spec.Config), "{}")), &config) != nil || config.URL == "" {
		return fmt.Errorf("plugin %q has no url in its config block, so there is nothing to log in at", name)
	}
	err = spec.RunOnce(ctx, []string{verb}, g.out.w, g.programErr())
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return &exitError{code: max(ended.ExitCode(), exitTool)} // the program has printed the reason
	}
	return err
}

// admitted is the spec of a plugin of a configuration that is trusted.
func (g *globals) admitted(ctx context.Context, name string) (supervise.Spec, error) {
	c, err := bootstrap.Load(g.options())
	if err != nil {
		return supervise.Spec{}, err
	}
	if err := c.Admit(ctx); err != nil {
		return supervise.Spec{}, err
	}
	specs := c.Find(ctx).Specs
	i := slices.IndexFunc(specs, func(s supervise.Spec) bool { return s.Name == name })
	if i < 0 {
		return supervise.Spec{}, fmt.Errorf("%w; `toolhost status` lists them", &bootstrap.UnknownPluginError{Name: name})
	}
	return specs[i], nil
}
