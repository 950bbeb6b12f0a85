package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/host/supervise"
)

// mcpTokenVar names the variable with the bearer token of `toolhost mcp --http`. A flag would be visible in lists of
// processes.
const mcpTokenVar = "TOOLHOST_MCP_TOKEN" //nolint:gosec // a name

type mcpFlags struct {
	http       string
	stateless  bool
	profile    string
	approve    string
	serverName string
	plainNames bool
	deferred   bool
	list       []string
}

func newMCP(g *options) *cobra.Command {
	var f mcpFlags
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the tools to MCP clients",
		Long: "Serve the tools to an MCP client on standard input and output. The client starts this command, and\n" +
			"ends it by closing its standard input. The log goes to standard error. With --http, serve many\n" +
			"clients over streamable HTTP instead, until interrupted.\n" +
			"\n" +
			"A tool is called PLUGIN__TOOL. With the prefix mcp__SERVER__ that clients put before it, a name has\n" +
			"at most 64 characters: longer ones end in a short hash.\n" +
			"\n" +
			"With --http, clients must send the bearer token that " + mcpTokenVar + " has, if it is set. Without\n" +
			"one, only clients of this machine are served.",
		Args: unknownCommand, SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkServerFlags(cmd); err != nil {
				return err
			}
			return g.serveMCP(cmd.Context(), f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.http, "http", "", "serve streamable HTTP at this `address`, such as 127.0.0.1:8080, under "+
		mcpserver.Path)
	fs.BoolVar(&f.stateless, "stateless", false, "with --http, no sessions, so that any of several servers can answer; "+
		"only clients of revision 2026-07-28 can be asked something then")
	g.profileFlag(cmd, &f.profile)
	clientApproveFlag(cmd, &f.approve)
	fs.StringVar(&f.serverName, "server-name", "toolhost", "the `name` that the client has for this server")
	fs.BoolVar(&f.plainNames, "plain-names", false, "call each tool TOOL instead of PLUGIN__TOOL; of two with one name, "+
		"neither is served")
	fs.BoolVar(&f.deferred, "deferred", false, "list two tools instead of all, one that finds tools and one that calls "+
		"them, for clients that would read too many definitions")
	fs.StringArrayVar(&f.list, "list", nil, "with --deferred, list tools of this `pattern` too, such as readfile__*")
	complete(cmd, "list", cobra.NoFileCompletions)
	complete(cmd, "http", cobra.NoFileCompletions)
	complete(cmd, "server-name", cobra.NoFileCompletions)
	g.withClients(cmd)
	cmd.AddCommand(newMCPLogin(g), newMCPLogout(g))
	return cmd
}

// checkServerFlags refuses flags of the command mcp that do nothing without another one.
func checkServerFlags(mcp *cobra.Command) error {
	flags := mcp.Flags()
	deferred, _ := flags.GetBool("deferred")
	stateless, _ := flags.GetBool("stateless")
	address, _ := flags.GetString("http")
	switch {
	case flags.Changed("list") && !deferred:
		return errors.New("--list goes with --deferred; without that, all tools are listed")
	case stateless && address == "":
		return errors.New("--stateless goes with --http")
	}
	return nil
}

func (g *options) serveMCP(ctx context.Context, f mcpFlags) error {
	c, err := bootstrap.Load(g.bootstrapOptions())
	if err != nil {
		return err
	}
	g.reportNoConfiguration(c.Path, true)
	o := g.mcpOptions(f)
	if o.Identities, err = f.identities(c); err != nil {
		return err
	}
	if o.StateKey, err = bootstrap.MCPStateKey(); err != nil { // then only this server accepts its own states
		g.logger().Warn("the key for questions to MCP clients cannot be kept", "error", err)
	}
	s, err := mcpserver.New(o)
	if err != nil {
		return err
	}
	if f.http == "" {
		err = s.Run(ctx, g.in, g.out.w)
		if write, is := errors.AsType[*fs.PathError](err); is && write.Op == "write" {
			return &exitError{exitLost, "the client does not read anymore: " + write.Err.Error()}
		}
		switch {
		case errors.Is(err, mcpserver.ErrNotRead):
			return &exitError{exitLost, err.Error()}
		case errors.Is(err, io.EOF):
			return nil
		}
		return err
	}
	l, err := s.Listen(f.http)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	go g.reloadIdentities(ctx, f, c, s)
	fmt.Fprintf(g.err, "toolhost: serving MCP at http://%s%s\n", l.Addr(), mcpserver.Path)
	return s.Serve(ctx, l)
}

// identities are who may use the server over HTTP: one for the token of the environment, or those of the configuration.
func (f *mcpFlags) identities(c *bootstrap.Configuration) (out []mcpserver.Identity, err error) {
	token := os.Getenv(mcpTokenVar)
	switch {
	case f.http == "":
		return nil, nil
	case len(c.Identities) > 0 && (token != "" || f.profile != ""):
		return nil, fmt.Errorf("%s has identities in its mcp block, with tokens and profiles: unset %s, and leave out "+
			"--profile", c.Path, mcpTokenVar)
	case token != "":
		out = []mcpserver.Identity{{Token: token}}
	}
	for _, i := range c.Identities {
		out = append(out, mcpserver.Identity{Name: i.Name, Token: i.Token, Rights: i.Profile})
	}
	return out, nil
}

// reloadIdentities continues with the identities of the configuration when that has changed, until ctx ends.
func (g *options) reloadIdentities(ctx context.Context, f mcpFlags, c *bootstrap.Configuration, s *mcpserver.Server) {
	for changes := c.Changes(ctx); ; {
		select {
		case <-ctx.Done():
			return
		case <-changes:
		}
		if err := g.rereadIdentities(f, s); err != nil && ctx.Err() == nil {
			g.logger().Error("the old identities of the mcp block stay in use", "error", err)
		}
	}
}

func (g *options) rereadIdentities(f mcpFlags, s *mcpserver.Server) error {
	c, err := bootstrap.Load(g.bootstrapOptions())
	if err != nil {
		return err
	}
	if !c.Trusted() {
		return c.Untrusted()
	}
	all, err := f.identities(c)
	if err != nil {
		return err
	}
	return s.SetIdentities(all)
}

func (g *options) mcpOptions(f mcpFlags) mcpserver.Options {
	return mcpserver.Options{
		Version: version, ServerName: f.serverName, PlainNames: f.plainNames, Stateless: f.stateless,
		Deferred: f.deferred, List: f.list, Logger: g.logger(),
		Open: func(ctx context.Context, who mcpserver.Identity, hooks mcpserver.Hooks) (mcpserver.Backend, error) {
			o := g.bootstrapOptions()
			o.AskTrust = nil // standard input is the client's
			o.Profile, o.Approve, o.Remote = cmp.Or(who.Rights, f.profile), bootstrap.Approve(f.approve), who.Name != ""
			o.OnToolsChanged, o.Approver, o.Input = hooks.ToolsChanged, hooks.Approver, hooks.Input
			i, err := g.open(ctx, o)
			if err != nil {
				return nil, err
			}
			go i.Watch(ctx)
			return i, nil
		},
	}
}

func newMCPLogin(g *options) *cobra.Command {
	return g.mcpAccount(&cobra.Command{
		Use:   "login PLUGIN",
		Short: "Log in at the MCP server of a plugin",
		Long: "Log in at the MCP server of a plugin that is configured with a url, where the server asks for OAuth. It\n" +
			"prints an address to open in a browser of this machine, and waits for ten minutes at most. The tokens\n" +
			"are kept in a file that only you can read, renewed when they expire, and never shown. Logging in\n" +
			"again replaces the tokens and changes no configuration.",
	})
}

func newMCPLogout(g *options) *cobra.Command {
	return g.mcpAccount(&cobra.Command{
		Use:   "logout PLUGIN",
		Short: "Forget the tokens for the MCP server of a plugin",
		Long: "Forget the tokens for the MCP server of a plugin, and the client that was registered there, on this\n" +
			"machine. The page of your account at the server may revoke them there.",
	})
}

// mcpAccount completes a command that the plugin's own program implements: it knows the server, and keeps the tokens.
func (g *options) mcpAccount(cmd *cobra.Command) *cobra.Command {
	verb := cmd.Name()
	cmd.Args = exactlyOne(fmt.Sprintf("`toolhost mcp %s` takes the name of one plugin", verb))
	cmd.ValidArgsFunction = g.completePlugins
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return g.runAccount(cmd.Context(), verb, args[0]) }
	return cmd
}

func (g *options) runAccount(ctx context.Context, verb, name string) error {
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
	err = spec.RunOnce(ctx, []string{verb}, replacingWriter{g.out}, replacingWriter{g.err})
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return &exitError{code: max(ended.ExitCode(), exitTool)} // the program has printed the reason
	}
	return err
}

// admitted is the spec of a plugin of a configuration that is trusted.
func (g *options) admitted(ctx context.Context, name string) (supervise.Spec, error) {
	c, err := bootstrap.Load(g.bootstrapOptions())
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
