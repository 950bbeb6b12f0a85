package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/mcpclients"
	"github.com/toolhost/toolhost/internal/mcpclients/document"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/toolname"
)

type importFlags struct {
	from       string
	project    bool
	write, yes bool
}

func newMCPImport(g *options) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import [FILE]",
		Short: "Convert the MCP servers in a client's settings to plugin blocks",
		Long: "Convert the MCP servers in a client's settings to plugin blocks, which are printed; nothing is\n" +
			"changed. The settings are those in FILE, on standard input, or with --from those of a client on\n" +
			"this machine. The format is detected: mcpServers, servers (VS Code), context_servers (Zed),\n" +
			"mcp_servers (Codex), mcp (opencode), extensions (goose), as JSON, TOML or YAML.\n" +
			"\n" +
			"Secrets are not copied: what looks like one becomes a reference to a variable. Which variables have to\n" +
			"be set is printed on standard error, and so are servers that cannot be imported, with the reason.\n" +
			"Servers that are disabled become comments. --write adds the blocks to the configuration, after\n" +
			"showing the change, and keeps the file as it was beside it.\n" +
			"\n" +
			"Exit codes: 0 all servers were taken over; 1 some were not; 2 usage, or a file that cannot be used;\n" +
			"3 a person refused --write.",
		Example: "  toolhost mcp import < mcp.json\n" +
			"  toolhost mcp import --from cursor\n" +
			"  toolhost mcp import --from claude-code --write",
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error { return g.importServers(cmd.Context(), args, f) },
	}
	cmd.Flags().StringVar(&f.from, "from", "", "take the settings of this `client`: "+
		strings.Join(mcpclients.Names(), ", "))
	complete(cmd, "from", cobra.FixedCompletions(mcpclients.Names(), cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().BoolVar(&f.project, "project", false, "with --from: the client's file in the current folder")
	cmd.Flags().BoolVar(&f.write, "write", false, "add the blocks to the configuration, after showing the change")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "with --write: do not ask")
	return cmd
}

func (g *options) importServers(ctx context.Context, args []string, f importFlags) error {
	from, data, err := g.clientSettings(ctx, args, f)
	if err != nil {
		return err
	}
	root, syntax, err := document.Detect(data)
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", from, err)
	}
	dir, err := filepath.Abs(g.workdir)
	if err != nil {
		return err
	}
	into, err := g.importInto(f)
	if err != nil {
		return err
	}
	if block := mcpclients.Discovery(root, pluginProgram("discover", filepath.Dir(into.path))); block != "" {
		fmt.Fprintf(g.err, "The tools of its discovery command are those of this block, which is not added:\n%s", block)
	}
	servers, formats, err := mcpclients.Servers(root, dir)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	for i, s := range servers { // such as from add-to
		if s.RunsToolhost() {
			servers[i].Problem = "it is toolhost itself, and each would start the next one"
		}
	}
	o := &mcpclients.Import{Program: pluginProgram("mcp", filepath.Dir(into.path)), Taken: pluginsIn(into.data),
		Reserved: config.ShippedPlugins}
	plugins, variables := o.Plugins(servers)
	var blocks []string
	for _, p := range plugins {
		if p.HCL != "" {
			blocks = append(blocks, p.HCL)
		}
	}
	text := strings.Join(blocks, "\n")
	fmt.Fprintf(g.err, "%s has %s, in %s (%s).\n", from, textutil.Count(len(servers), "MCP server"),
		strings.Join(formats, " and "), syntax)
	if n := mcpclients.Elsewhere(root, dir); n > 0 {
		fmt.Fprintf(g.err, "It also has %s for other folders; --workdir names the one to import.\n",
			textutil.Count(n, "MCP server"))
	}
	if f.write {
		err = g.appendBlocks(ctx, into, text, f.yes)
	} else {
		fmt.Fprint(g.out, text)
	}
	if err != nil {
		return err
	}
	return g.explainImport(plugins, variables)
}

// clientSettings reads the settings to import; from names them.
func (g *options) clientSettings(
	ctx context.Context, args []string, f importFlags,
) (from string, data []byte, err error) {
	switch {
	case f.yes && !f.write, f.project && f.from == "":
		return "", nil, errors.New("--yes goes with --write, and --project with --from")
	case f.from != "" && len(args) > 0:
		return "", nil, errors.New("there are both a file and --from; use one of them")
	case f.from != "":
		client, err := mcpclients.Find(f.from)
		if err != nil {
			return "", nil, err
		}
		path, err := addToFlags{project: f.project}.path(client)
		if err != nil {
			return "", nil, err
		}
		args = []string{path}
	case len(args) == 0 && isTerminal(g.in):
		return "", nil, errors.New("name a file with the settings of a client, or a client with --from: " +
			strings.Join(mcpclients.Names(), ", "))
	}
	if len(args) == 0 || args[0] == "-" {
		data, err = readAll(ctx, g.in, document.MaxSize)
		return "standard input", data, err
	}
	file, err := readSettings(args[0])
	if err == nil && !file.there {
		err = fmt.Errorf("there is no %s; name the file that has the settings", escapeForTerminal(args[0]))
	}
	return escapeForTerminal(args[0]), file.data, err
}

// importInto is the configuration for the blocks. It need not exist.
func (g *options) importInto(f importFlags) (settings, error) {
	path, err := bootstrap.ConfigPath(g.bootstrapOptions())
	if _, none := errors.AsType[*bootstrap.NotFoundError](err); none {
		path, err = "config.hcl", nil
	}
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return settings{}, err
	}
	into, err := readSettings(path)
	if err == nil && len(into.data) > document.MaxSize { // writing it back would cut it
		err = fmt.Errorf("%s is larger than %d MiB, and is not changed", path, document.MaxSize>>20)
	}
	into.mode = cmp.Or(into.mode, 0o600)
	if err != nil && !f.write { // only read for the names in it
		return settings{path: path}, nil
	}
	return into, err
}

var pluginBlock = lazy.Regexp(`(?m)^[ \t]*plugin[ \t]+"?([a-z][a-z0-9-]*)"?[ \t]*\{`)

// pluginsIn are the names of the plugins in a configuration, which may have mistakes.
func pluginsIn(configuration []byte) (names []string) {
	for _, m := range pluginBlock().FindAllSubmatch(configuration, -1) {
		names = append(names, string(m[1]))
	}
	return names
}

// pluginProgram is the program of a plugin of toolhost: the one beside this program, as written in a configuration in
// dir, otherwise one to be looked up in PATH.
func pluginProgram(plugin, dir string) string {
	name := toolname.ProgramPrefix + plugin
	own, err := ownPath()
	if err != nil {
		return name
	}
	path := filepath.Join(filepath.Dir(own), name+filepath.Ext(own)) // .exe on Windows
	if _, err := os.Stat(path); err != nil {
		return name
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return "./" + filepath.ToSlash(rel)
	}
	return path
}

// appendBlocks adds the blocks at the end of the configuration.
func (g *options) appendBlocks(ctx context.Context, into settings, blocks string, yes bool) error {
	if blocks == "" {
		fmt.Fprintln(g.err, "There is nothing to write.")
		return nil
	}
	before := string(into.data)
	if before != "" {
		before = strings.TrimRight(before, "\r\n") + "\n\n"
	}
	return g.writeSettings(ctx, into, []byte(before+blocks), blocks, yes, func() {
		fmt.Fprintln(g.err, "`toolhost validate` checks it; a configuration that was trusted has to be trusted again.")
	})
}

// explainImport prints what is left to do.
func (g *options) explainImport(plugins []mcpclients.Plugin, variables []mcpclients.Variable) error {
	left := 0
	for _, p := range plugins {
		name := fmt.Sprintf("%q", escapeForTerminal(fitLine(p.Server.Name, 60)))
		if p.Server.Problem != "" {
			left++
			where := ""
			if p.Server.Line > 0 {
				where = fmt.Sprintf(" (line %d)", p.Server.Line)
			}
			fmt.Fprintf(g.err, "Not taken over: %s%s: %s.\n", name, where, escapeForTerminal(p.Server.Problem))
			continue
		}
		if p.Server.Disabled {
			fmt.Fprintf(g.err, "%s is disabled, and so its plugin is a comment.\n", name)
		}
		if p.Name != p.Server.Name {
			fmt.Fprintf(g.err, "%s is the plugin %s.\n", name, p.Name)
		}
		for _, n := range p.Server.Notes {
			fmt.Fprintf(g.err, "%s: %s.\n", name, escapeForTerminal(n))
		}
	}
	if len(variables) > 0 {
		fmt.Fprintln(g.err, "Set these variables where toolhost runs; a server whose variable is missing is refused:")
		rows := [][]string{}
		for _, v := range variables {
			where := "as for the client"
			if v.Held != "" {
				where = "the value is in the settings: " + v.Held
			}
			rows = append(rows, []string{"  " + v.Name, where})
		}
		writeTable(g.err, rows, widest)
	}
	if left > 0 {
		return &exitError{exitDiffers, ""}
	}
	return nil
}
