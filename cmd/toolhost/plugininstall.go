package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/plugininstall"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

type installFlags struct {
	name         string
	yes, noStart bool
}

func (f *installFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask before the program is started and installed")
	cmd.Flags().BoolVar(&f.noStart, "no-start", false, "do not start it for its tools, which are then not locked")
}

const installLong = "Install a plugin for this user: a program, the program in an archive (.tar.gz, .tgz, .zip), or a Go\n" +
	"module, which is built with the go command. It goes to toolhost/plugins in the user's data folder, and every\n" +
	"configuration offers its tools unless it has a plugin of that name.\n" +
	"\n" +
	"The following is shown before you are asked, and then locked: the checksum of the program, where it came\n" +
	"from, and the sandbox level that it runs at. Then it is started once, in its sandbox and an empty folder, so\n" +
	"that its tools are locked too. A program that differs later is not started. If anything fails, nothing has\n" +
	"changed. Hosts that run keep the program that they have started.\n\n" +
	"Exit codes: 0 installed; 2 usage, or there is no terminal and no --yes; 3 a person refused; 4 it does not start."

func newPluginInstall(g *options) *cobra.Command {
	var f installFlags
	cmd := &cobra.Command{
		Use:   "install PATH|ARCHIVE|MODULE@VERSION",
		Short: "Install a plugin for this user",
		Long:  installLong,
		Example: "  toolhost plugin install ./bin/toolhost-plugin-greet\n" +
			"  toolhost plugin install weather_linux_amd64.tar.gz --yes\n" +
			"  toolhost plugin install example.com/toolhost-plugin-weather@v1.2.0",
		Args: exactlyOne("name one program, archive or MODULE@VERSION: toolhost plugin install SOURCE"),
		RunE: func(cmd *cobra.Command, args []string) error { return g.installPlugin(cmd.Context(), args[0], f) },
	}
	cmd.Flags().StringVar(&f.name, "name", "",
		"the plugin's `name`; by default that of the program without toolhost-plugin-")
	f.add(cmd)
	return cmd
}

func newPluginUpgrade(g *options) *cobra.Command {
	var f installFlags
	cmd := &cobra.Command{
		Use:   "upgrade NAME [PATH|ARCHIVE|MODULE@VERSION]",
		Short: "Replace an installed plugin by a newer one",
		Long: "Replace an installed plugin by what is now where it came from, for a Go module by its latest version, or\n" +
			"by what is named. It is like toolhost plugin install in all else.",
		Args:              oneTo(2, "name one plugin: toolhost plugin upgrade NAME [SOURCE]"),
		ValidArgsFunction: g.completeInstalled,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.name = args[0]
			if len(args) == 2 {
				return g.installPlugin(cmd.Context(), args[1], f)
			}
			source, err := g.sourceOf(args[0])
			if err != nil {
				return err
			}
			return g.installPlugin(cmd.Context(), source, f)
		},
	}
	f.add(cmd)
	return cmd
}

func newPluginRemove(g *options) *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use:   "remove NAME...",
		Short: "Remove installed plugins",
		Long: "Remove installed plugins and what is locked of them. Hosts that run them go on until they end.\n\n" +
			"Exit codes: 0 removed; 2 usage, or there is no terminal and no --yes; 3 a person refused.",
		Args:              oneTo(anyNumber, "name the plugins to remove; `toolhost plugin list` lists them"),
		ValidArgsFunction: g.completeInstalled,
		RunE:              func(cmd *cobra.Command, args []string) error { return g.removePlugins(cmd.Context(), args, yes) },
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask before they are removed")
	return cmd
}

// removePlugins removes all of the named plugins or, if one is not installed or a person refuses, none.
func (g *options) removePlugins(ctx context.Context, names []string, yes bool) error {
	there, err := bootstrap.OpenPluginFolder(g.bootstrapOptions())
	if err != nil {
		return err
	}
	for _, name := range names {
		if !there.HasInstalled(name) {
			return there.NotInstalled(name)
		}
		text := "plugin " + name
		if p := there.Locked.Plugin(name); p != nil {
			text = strings.TrimSpace(text+" "+escapeForTerminal(p.Version)) + ", from " + escapeForTerminal(p.Source)
		}
		fmt.Fprintln(g.err, text)
	}
	question := fmt.Sprintf("Remove %s? [y/N] ", textutil.Count(len(names), "plugin"))
	if err := g.agree(ctx, yes, question, "nothing was removed", lookFirst("removed")); err != nil {
		return err
	}
	for _, name := range names {
		if err := there.Uninstall(name); err != nil {
			return err
		}
		fmt.Fprintf(g.out, "%s is removed\n", name)
	}
	return nil
}

// lookFirst is the error of what a person has to agree to, without a terminal; done is the word for what was not done.
func lookFirst(done string) string {
	return "there is no terminal to ask at, and nothing was " + done + ". Look at what is shown, then repeat it with --yes"
}

func (g *options) completeInstalled(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	g.silence()
	if there, err := bootstrap.OpenPluginFolder(g.bootstrapOptions()); err == nil {
		names = there.Locked.Names()
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// sourceOf is where the newest version of an installed plugin comes from.
func (g *options) sourceOf(name string) (string, error) {
	there, err := bootstrap.OpenPluginFolder(g.bootstrapOptions())
	if err != nil {
		return "", err
	}
	p := there.Locked.Plugin(name)
	if p == nil {
		return "", there.NotInstalled(name)
	}
	if plugininstall.IsModule(p.Source) {
		module, _, _ := strings.Cut(p.Source, "@")
		return module + "@latest", nil
	}
	return p.Source, nil
}

func (g *options) installPlugin(ctx context.Context, source string, f installFlags) error {
	work, remove, err := fsutil.TempDir("", "toolhost-install-") // the program is not known: no folder of the user's
	if err != nil {
		return temporaryFolderError(err)
	}
	defer remove()
	o := g.bootstrapOptions()
	o.Workdir = work
	there, err := bootstrap.OpenPluginFolder(o)
	if err != nil {
		return err
	}
	from := plugininstall.Options{Source: source, Name: f.name, Dir: there.Dir, Output: g.programErr()}
	staged, err := plugininstall.Stage(ctx, from)
	if err == nil { // also of an interrupt that came too late for it
		defer staged.Discard()
	}
	if ctx.Err() != nil {
		return errInterrupted
	} else if err != nil {
		return err
	}
	i, err := there.PlanInstall(staged.Name, staged.Path, staged.Source, staged.Version)
	if err != nil {
		return err
	}
	other := g.otherPlugin(ctx, staged.Name, i.Path())
	if i.Unchanged() {
		fmt.Fprintf(g.out, "%s is installed already, with this program%s\n", staged.Name, other)
		return nil
	}
	if err := g.agreeToInstall(ctx, there, i, staged, other, f); err != nil {
		return err
	}
	if !f.noStart {
		if err := i.Inspect(ctx, true, true); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return errInterrupted
		}
		if problem := i.Plugin.Problem; problem != nil {
			return &exitError{exitUnavailable, "nothing was installed: " + notInstalled(problem)}
		}
		g.showLock(i.Plugin)
	}
	if err := i.Install(); err != nil {
		return fmt.Errorf("nothing was installed: %w", err)
	}
	if other != "" {
		fmt.Fprintf(g.out, "%s is installed%s\n", staged.Name, other)
		return nil
	}
	fmt.Fprintf(g.out, "%s is installed; `toolhost discover` lists its tools\n", staged.Name)
	return nil
}

// otherPlugin says that a plugin of the same name comes before the installed program here, "" if none does.
func (g *options) otherPlugin(ctx context.Context, name, program string) string {
	c, err := bootstrap.Load(g.bootstrapOptions())
	if err != nil {
		return ""
	}
	for _, s := range c.FindOffline(ctx).Specs {
		if s.Name != name || len(s.Command) == 0 || s.Command[0] == program {
			continue
		}
		where := cmp.Or(c.Path, bootstrap.ShippedFolder(), "the configuration")
		return fmt.Sprintf(", but not used here: %s has a plugin %q; --name installs it under another name", where, name)
	}
	return ""
}

// notInstalled says why a program does not start, and what to do.
func notInstalled(problem error) string {
	e, ok := errors.AsType[*sdk.Error](problem)
	if ok && e.Name == "Invalid" && len(e.Details) > 0 {
		return problem.Error() + "\n  If it only lacks its configuration, install it with --no-start."
	}
	return problem.Error() + "\n  toolhost plugin check BIN tests what makes a program a plugin."
}

// agreeToInstall shows what is going to be installed and locked, and asks.
func (g *options) agreeToInstall(ctx context.Context, there *bootstrap.Plugins, i *bootstrap.Installation,
	staged *plugininstall.Staged, other string, f installFlags) error {
	info, err := os.Stat(staged.Path)
	if err != nil {
		return err
	}
	now := i.Entry()
	out := &rowWriter{w: g.err}
	show := func(what, text string) {
		fmt.Fprintf(out, "  %-9s %s\n", what+":", escapeForTerminal(blanks.Replace(text)))
	}
	fmt.Fprintf(out, "plugin %s\n", strings.TrimSpace(staged.Name+" "+escapeForTerminal(staged.Version)))
	show("source", staged.Source)
	show("program", fmt.Sprintf("%s, goes to %s", sizeOf(info.Size()), fsutil.Shortened(i.Path())))
	for platform, sum := range now.SHA256 {
		show("sha256", fmt.Sprintf("%s of %s", sum, platform))
	}
	if before := i.Before(); before != nil {
		show("replaces", strings.TrimSpace(before.Version+" from "+before.Source))
	}
	spec := supervise.Spec{Name: staged.Name, Command: []string{i.Path()}}
	got, err := there.Confinement(spec, proctree.DetectCapabilities())
	if err != nil {
		return err
	}
	if other != "" {
		show("note", strings.TrimPrefix(other, ", but "))
	}
	if f.noStart {
		show("note", "it is not started, so nothing shows that it is a plugin")
	}
	show("sandbox", strings.TrimSuffix(sandboxWords(&got)+"; "+strings.Join(got.Missing, "; "), "; "))
	if i.Plugin.Partial != "" {
		show("note", i.Plugin.Partial)
	}
	question := "Install it? It is started once, for its tools. [y/N] "
	if f.noStart {
		question = "Install it? [y/N] "
	}
	return g.agree(ctx, f.yes, question, "nothing was installed", lookFirst("installed"))
}

// sizeOf is a size for people.
func sizeOf(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}
