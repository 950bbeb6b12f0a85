package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/mcpclients"
	"github.com/toolhost/toolhost/internal/mcpclients/document"
)

// A reachFlags says how a client connects to this toolhost, if it does not start it.
type reachFlags struct{ url, tokenVar string }

func (f *reachFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "url", "", "the client reaches a toolhost that serves at this `address`, such as "+
		"http://127.0.0.1:8080/mcp, instead of starting one")
	cmd.Flags().StringVar(&f.tokenVar, "token-env", "", "the `variable` that has the bearer token for --url; the "+
		"client's file refers to it")
}

// withClients adds the sub-commands about clients' settings to the command mcp.
func (g *options) withClients(cmd *cobra.Command) {
	var client string
	var reach reachFlags
	cmd.Flags().StringVar(&client, "print-config", "", "print what to put into the settings of `client`, and serve "+
		"nothing: "+strings.Join(mcpclients.Names(), ", "))
	complete(cmd, "print-config", cobra.FixedCompletions(mcpclients.Names(), cobra.ShellCompDirectiveNoFileComp))
	reach.add(cmd)
	serve := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed("print-config") {
			if reach != (reachFlags{}) {
				return errors.New("--url and --token-env go with --print-config")
			}
			return serve(cmd, args)
		}
		return g.printClientConfig(cmd, client, reach)
	}
	cmd.AddCommand(newMCPAddTo(g, cmd), newMCPRemoveFrom(g), newMCPImport(g))
}

// printClientConfig prints the block on standard output, and where it goes on standard error.
func (g *options) printClientConfig(mcp *cobra.Command, name string, reach reachFlags) error {
	client, entry, err := g.clientEntry(mcp, name, reach)
	if err != nil {
		return err
	}
	block, err := client.Block(entry)
	if err != nil {
		return err
	}
	fmt.Fprint(g.out, block)
	fmt.Fprintf(g.err, "\nThis goes into the settings of %s, beside what is there:\n", client.Title)
	for _, place := range client.Places() {
		fmt.Fprintf(g.err, "  %s\n", place)
	}
	if file := client.ProjectFile(); file != "" {
		fmt.Fprintf(g.err, "  for one project: %s in its folder\n", file)
	}
	fmt.Fprintf(g.err, "`%s` puts it there, after showing the change. See %s\n",
		shellWords(g.addToWords(mcp, client, entry)), client.Docs)
	g.clientNotes(client, entry)
	return nil
}

// addToWords are the command that puts the same entry there.
func (g *options) addToWords(mcp *cobra.Command, client *mcpclients.Client, e mcpclients.Entry) []string {
	words := []string{"toolhost", "mcp", "add-to", client.Name}
	for _, f := range [][2]string{{"--config", g.config}, {"--workdir", g.workdir}, {"--url", e.URL},
		{"--token-env", e.TokenVar}} {
		if f[1] != "" {
			words = append(words, f[:]...)
		}
	}
	if g.checkTrust {
		words = append(words, "--check-trust")
	}
	flags := serverFlags(mcp)
	if e.URL != "" { // the client starts nothing
		flags = nil
		if name := mcp.Flags().Lookup("server-name"); name != nil && name.Changed {
			flags = []string{"--server-name", name.Value.String()}
		}
	}
	if len(flags) > 0 {
		words = append(append(words, "--"), flags...)
	}
	return words
}

// clientNotes are notes for the person about an entry.
func (g *options) clientNotes(client *mcpclients.Client, e mcpclients.Entry) {
	if client.Note != "" {
		fmt.Fprintf(g.err, "%s.\n", client.Note)
	}
	if slices.Contains(e.Args, "--check-trust") {
		// toolhost validate reports mistakes in it
		if c, err := bootstrap.Load(g.bootstrapOptions()); err == nil && !c.Trusted() {
			fmt.Fprintf(g.err, "%s is not trusted, and the server does not start with it. Look at it, then run `%s`.\n",
				escapeForTerminal(c.Path), shellWords([]string{"toolhost", "trust", c.Path}))
		}
	}
	if e.TokenVar != "" {
		fmt.Fprintf(g.err, "Set %s to the token where %s starts.\n", e.TokenVar, client.Title)
	}
	if e.URL == "" && !slices.Contains(e.Args, "--workdir") {
		fmt.Fprintf(g.err, "Tools work in the folder in which %s starts toolhost; --workdir DIR names another.\n",
			client.Title)
	}
}

// clientEntry is the client's entry, from the flags of the command mcp.
func (g *options) clientEntry(mcp *cobra.Command, name string, reach reachFlags) (*mcpclients.Client, mcpclients.Entry,
	error) {
	client, err := mcpclients.Find(name)
	if err != nil {
		return nil, mcpclients.Entry{}, err
	}
	e := mcpclients.Entry{Name: "toolhost"}
	if f := mcp.Flags().Lookup("server-name"); f != nil {
		e.Name = f.Value.String()
	}
	if address := mcp.Flags().Lookup("http"); address != nil && address.Changed && reach.url == "" {
		reach.url = addressURL(address.Value.String())
	}
	if err := reach.check(); err != nil {
		return nil, e, err
	}
	e.URL, e.TokenVar = reach.url, reach.tokenVar
	if e.URL == "" {
		if err := checkServerFlags(mcp); err != nil { // the server would not start
			return nil, e, err
		}
		if e.Command, err = ownPath(); err == nil {
			e.Args, err = g.serveArgs(mcp)
		}
	}
	return client, e, err
}

// addressURL is the URL of a server at an address.
func addressURL(address string) string {
	if strings.Contains(address, "://") {
		return address
	}
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	return "http://" + address + "/mcp"
}

var variableName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (f reachFlags) check() error {
	switch {
	case f.url == "" && f.tokenVar != "":
		return errors.New("--token-env goes with --url")
	case f.url == "":
		return nil
	case f.tokenVar != "" && !variableName().MatchString(f.tokenVar):
		return errors.New("--token-env must be the name of a variable, not the token itself")
	}
	u, err := url.Parse(f.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return errors.New("--url must be an address such as http://127.0.0.1:8080/mcp, without a password")
	}
	return nil
}

// ownPath is the absolute path of this program as it was named, so that a link to it that follows updates is kept.
func ownPath() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("the path of this program is not known: %w", err)
	}
	named, _ := exec.LookPath(os.Args[0])
	if abs, err := filepath.Abs(named); named != "" && err == nil && fsutil.SameFile(own, abs) {
		return abs, nil
	}
	return own, nil
}

// serveArgs are the arguments to serve what the flags of the command mcp select. A configuration that was found, and
// is neither named nor the user's own, must still be trusted when the client starts it.
func (g *options) serveArgs(mcp *cobra.Command) ([]string, error) {
	args := []string{"mcp"}
	path, err := bootstrap.ConfigPath(g.bootstrapOptions())
	if missing, none := errors.AsType[*bootstrap.NotFoundError](err); err != nil && (!none || missing.Named) {
		return nil, err
	}
	if err == nil {
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("the configuration cannot be used: %w", err)
		}
		args = append(args, "--config", path)
		user, _ := bootstrap.UserFile("config.hcl")
		if g.checkTrust || g.config == "" && os.Getenv("TOOLHOST_CONFIG") == "" && path != user {
			args = append(args, "--check-trust")
		}
	}
	if g.workdir != "" {
		dir, err := filepath.Abs(g.workdir)
		if err != nil {
			return nil, err
		}
		args = append(args, "--workdir", dir)
	}
	return append(args, serverFlags(mcp)...), nil
}

// serverFlags are the given flags of the command mcp that are meant for the server, as arguments.
func serverFlags(mcp *cobra.Command) (args []string) {
	own := []string{"config", "check-trust", "workdir", "print-config", "url", "token-env", "no-color", "help"}
	mcp.Flags().VisitAll(func(f *pflag.Flag) {
		list, isList := f.Value.(pflag.SliceValue)
		switch {
		case !f.Changed || slices.Contains(own, f.Name):
		case isList:
			for _, item := range list.GetSlice() {
				args = append(args, "--"+f.Name, item)
			}
		case f.Value.Type() == "bool":
			args = append(args, "--"+f.Name+"="+f.Value.String())
		default:
			args = append(args, "--"+f.Name, f.Value.String())
		}
	})
	return args
}

type addToFlags struct {
	yes, project bool
	file         string
	reach        reachFlags
}

func newMCPAddTo(g *options, mcp *cobra.Command) *cobra.Command {
	var f addToFlags
	cmd := &cobra.Command{
		Use:   "add-to CLIENT [-- FLAG...]",
		Short: "Add this toolhost to the settings of an MCP client",
		Long: "Add this toolhost to the settings of an MCP client: " + strings.Join(mcpclients.Names(), ", ") + ".\n" +
			"The change is shown before it is written. Comments, order and everything else in the file stay as\n" +
			"they are, and the file as it was is kept beside it. A file that cannot be read is not changed.\n" +
			"Doing it again changes nothing, or updates the entry. Flags of `toolhost mcp` after -- are what the\n" +
			"client starts it with.\n" +
			"\n" +
			"Exit codes: 0 it is there; 2 usage, a file that cannot be changed, or neither --yes nor a terminal;\n" +
			"3 a person refused; 130 interrupted.",
		Example: "  toolhost mcp add-to cursor\n" +
			"  toolhost mcp add-to claude-code --project -- --profile readonly\n" +
			"  toolhost mcp add-to codex --url http://127.0.0.1:8080/mcp --token-env TOOLHOST_TOKEN",
		Args: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); len(args) == 0 || n == 0 || n < 0 && len(args) > 1 || n > 1 {
				return fmt.Errorf("name one client: %s", strings.Join(mcpclients.Names(), ", "))
			}
			return nil
		},
		ValidArgsFunction: cobra.FixedCompletions(mcpclients.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := mcp.ParseFlags(args[1:]); err != nil {
				return flagMistake(mcp, err)
			}
			if rest := mcp.Flags().Args(); len(rest) > 0 {
				return fmt.Errorf("%q is not a flag of `toolhost mcp`; only such flags may follow --", rest[0])
			}
			return g.addToClient(cmd.Context(), mcp, args[0], f)
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if m := unknownFlag().FindStringSubmatch(err.Error()); m != nil && mcp.Flags().Lookup(m[1]) != nil {
			return fmt.Errorf("--%s is a flag of the server that the client starts: such flags come after --, as in `%s CLIENT "+
				"-- --%s …`", m[1], cmd.CommandPath(), m[1])
		}
		return flagMistake(cmd, err)
	})
	f.add(cmd)
	f.reach.add(cmd)
	return cmd
}

// add adds the flags of both commands that change a client's file.
func (f *addToFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask before the file is changed")
	cmd.Flags().BoolVar(&f.project, "project", false, "change the file in the current folder, for this project alone")
	cmd.Flags().StringVar(&f.file, "file", "", "change this `file` instead of the usual one")
}

func newMCPRemoveFrom(g *options) *cobra.Command {
	var f addToFlags
	var name string
	cmd := &cobra.Command{
		Use:   "remove-from CLIENT",
		Short: "Take this toolhost out of the settings of an MCP client",
		Long: "Take out of the settings of an MCP client what `toolhost mcp add-to` has put there. The change is shown\n" +
			"before it is written. Everything else in the file stays as it is, and the file as it was is kept\n" +
			"beside it. An entry that does not run toolhost is not taken out.\n" +
			"\n" +
			"Exit codes: 0 it is not there; 2 usage, a file that cannot be changed, or neither --yes nor a terminal;\n" +
			"3 a person refused; 130 interrupted.",
		Args:              exactlyOne("name one client: " + strings.Join(mcpclients.Names(), ", ")),
		ValidArgsFunction: cobra.FixedCompletions(mcpclients.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.removeFromClient(cmd.Context(), args[0], name, f)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&name, "server-name", "toolhost", "the `name` that the entry has, if add-to was given one")
	return cmd
}

func (g *options) removeFromClient(ctx context.Context, clientName, name string, f addToFlags) error {
	client, err := mcpclients.Find(clientName)
	if err != nil {
		return err
	}
	file, err := f.read(client)
	if err != nil {
		return err
	}
	after, err := client.Remove(file.data, name)
	if err != nil {
		return fmt.Errorf("%s is not changed: %w", file.path, err)
	}
	if bytes.Equal(after, file.data) {
		fmt.Fprintf(g.out, "%s: there is no %s; nothing was changed\n", escapeForTerminal(file.path),
			escapeForTerminal(name))
		return nil
	}
	return g.writeSettings(ctx, file, after, "", f.yes, func() {})
}

func (g *options) addToClient(ctx context.Context, mcp *cobra.Command, name string, f addToFlags) error {
	client, entry, err := g.clientEntry(mcp, name, f.reach)
	if err != nil {
		return err
	}
	file, err := f.read(client)
	if err != nil {
		return err
	}
	after, err := client.Add(file.data, entry)
	if err != nil {
		return g.byHand(client, entry, file.path, err)
	}
	if bytes.Equal(after, file.data) && file.there {
		fmt.Fprintf(g.out, "%s: toolhost is there already; nothing was changed\n", escapeForTerminal(file.path))
		return nil
	}
	block, err := client.Block(entry)
	if err != nil {
		return err
	}
	return g.writeSettings(ctx, file, after, block, f.yes, func() { g.clientNotes(client, entry) })
}

func (f addToFlags) read(client *mcpclients.Client) (settings, error) {
	path, err := f.path(client)
	if err != nil {
		return settings{}, err
	}
	return readSettings(path)
}

// path is the file to change.
func (f addToFlags) path(client *mcpclients.Client) (string, error) {
	switch {
	case f.file != "" && f.project:
		return "", errors.New("--file and --project both name a file; use one of them")
	case f.file != "":
		return filepath.Abs(f.file)
	case !f.project:
		return client.File(os.Getenv)
	case client.ProjectFile() == "":
		return "", fmt.Errorf("%s has no file for one project; without --project the user's is changed", client.Title)
	}
	return filepath.Abs(filepath.FromSlash(client.ProjectFile()))
}

// byHand explains why a file is not changed, and what to add to it.
func (g *options) byHand(client *mcpclients.Client, e mcpclients.Entry, path string, err error) error {
	_, cannot := errors.AsType[*document.ByHandError](err)
	if _, broken := errors.AsType[*document.SyntaxError](err); !cannot && !broken {
		return err
	}
	err = fmt.Errorf("%s is not changed: %w", path, err)
	if block, failed := client.Block(e); cannot && failed == nil {
		fmt.Fprint(g.err, "To add by hand:\n"+block)
	}
	return err
}

// settings are a file that is to be changed.
type settings struct {
	path  string // with links resolved
	data  []byte
	mode  fs.FileMode
	there bool
}

// readSettings reads a file that need not exist, and follows links to it.
func readSettings(path string) (settings, error) {
	s := settings{path: path, mode: 0o600}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return s, fmt.Errorf("%s is a link to a file that is not there", path)
		}
		return s, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		return s, fmt.Errorf("%s is not a regular file", path)
	}
	if err == nil {
		s.path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return s, err
	}
	f, err := os.Open(s.path)
	if err != nil {
		return s, err
	}
	defer f.Close()
	s.data, err = io.ReadAll(io.LimitReader(f, document.MaxSize+1))
	s.there, s.mode = true, info.Mode().Perm()
	return s, err
}

// writeSettings shows a change, asks, backs up the file, and replaces it. The added text contains no secrets.
func (g *options) writeSettings(ctx context.Context, s settings, after []byte, added string, yes bool,
	done func()) error {
	g.showDiff(s, after, added)
	if err := g.agree(ctx, yes, "Write this? [y/N] ", "nothing was written",
		"there is no terminal to ask at, so nothing was written; --yes writes it"); err != nil {
		return err
	}
	now, err := readSettings(s.path)
	if err != nil {
		return err
	}
	if now.there != s.there || !bytes.Equal(now.data, s.data) {
		return fmt.Errorf("%s has changed in the meantime; nothing was written. Run the command again", s.path)
	}
	backup, err := s.replace(after)
	if err != nil {
		err = fsutil.FolderError(err, filepath.Dir(s.path), "make the change by hand")
		return fmt.Errorf("%s cannot be written: %w", escapeForTerminal(s.path), err)
	}
	fmt.Fprintf(g.out, "%s is written\n", escapeForTerminal(s.path))
	if backup != "" {
		fmt.Fprintf(g.err, "The previous file is in %s\n", escapeForTerminal(backup))
	}
	done()
	return nil
}

// showDiff prints a change without the secrets in the file.
func (g *options) showDiff(s settings, after []byte, added string) {
	old := s.path
	if !s.there {
		old = os.DevNull
	}
	plain := func(line string) string { return strings.Trim(line, " \t\r\n,") }
	ours := map[string]bool{}
	for line := range strings.Lines(added) {
		ours[plain(line)] = true
	}
	diff := strings.TrimRight(udiff.Unified(old, s.path, string(s.data), string(after)), "\n")
	for i, line := range strings.Split(diff, "\n") {
		if text, is := strings.CutPrefix(line, "+"); i > 1 && (!is || !ours[plain(text)]) { // the first lines are the names
			line = mcpclients.HideSecrets(line)
		}
		fmt.Fprintln(g.out, escapeForTerminal(strings.TrimSuffix(line, "\r")))
	}
}

// replace backs up the file, and replaces it. After an error it is as before, without a backup.
func (s settings) replace(after []byte) (backup string, err error) {
	if !s.there {
		err = os.MkdirAll(filepath.Dir(s.path), 0o700)
	} else {
		backup, err = s.backUp()
	}
	if err == nil {
		err = fsutil.WriteFile(s.path, after, s.mode)
	}
	if err != nil {
		if backup != "" {
			_ = os.Remove(backup)
		}
		return "", err
	}
	return backup, os.Chmod(s.path, s.mode)
}

// backUp copies the file to a new one beside it. With an error it returns the path of one that is incomplete.
func (s settings) backUp() (path string, err error) {
	for i := range 1000 {
		path = s.path + ".before-toolhost"
		if i > 0 {
			path += fmt.Sprintf("-%d", i+1)
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, s.mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(s.data)
		return path, cmp.Or(err, f.Chmod(s.mode), f.Close())
	}
	return "", fmt.Errorf("cannot back up %s: too many backups exist; remove old ones", path)
}
