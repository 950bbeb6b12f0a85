package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/internal/textutil"
)

type lockFlags struct {
	check, yes bool
	platforms  []string
}

func newPluginLock(g *options) *cobra.Command {
	var f lockFlags
	cmd := &cobra.Command{
		Use:   "lock [NAME]...",
		Short: "Lock the programs and tools of plugins",
		Long: "Lock the programs and tools of plugins: their checksums are written to toolhost.lock.hcl\n" +
			"beside the configuration. From then on a plugin with another program, other arguments or variables\n" +
			"does not start, and a tool that is new or has another definition is disabled, until they are\n" +
			"locked again.\n" +
			"\n" +
			"Without names all plugins are locked, and those that are gone are removed. The plugins are started,\n" +
			"to ask them for their tools, and what has changed is shown before it is written. One that would\n" +
			"run something other than what was locked is shown, and started only when a person at the terminal\n" +
			"approves it, or with --yes. --check starts only what is locked.\n" +
			"\n" +
			"The checksum is that of the program, and for a script also of the interpreter that its first line\n" +
			"names: not of libraries, or of files that it loads. It is kept for each platform, and where there\n" +
			"is none the plugin does not start; --platform adds that of a program for another one.\n" +
			"\n" +
			"Exit codes: 0 all is locked; 1 --check found something that is not; 2 usage, configuration, or\n" +
			"changes without --yes and without a terminal; 3 a person refused; 4 a plugin cannot be used, and\n" +
			"its lock is as before; 130 interrupted.",
		Example: `  toolhost plugin lock
  toolhost plugin lock edit --platform darwin_arm64=dist/darwin/toolhost-plugin-edit
  toolhost plugin lock --check`,
		ValidArgsFunction: g.completePlugins,
		RunE:              func(cmd *cobra.Command, names []string) error { return g.lockPlugins(cmd.Context(), names, f) },
	}
	cmd.Flags().BoolVar(&f.check, "check", false, "only compare; exit with code 1 if the lock file would change")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask before a program that is not the locked one is started, and "+
		"before what is locked is changed")
	cmd.Flags().StringArrayVar(&f.platforms, "platform", nil,
		"also lock a program for another platform, `OS_ARCH=FILE`; may be given again")
	return cmd
}

func (g *options) lockPlugins(ctx context.Context, names []string, f lockFlags) error {
	platforms, err := f.programs(names)
	if err != nil {
		return err
	}
	c, err := g.load()
	if err != nil {
		return err
	}
	if c.Path == "" { // a lock file would be written here, where nothing reads it
		_, err := c.Find(ctx).PlanLock(names, platforms)
		if err == nil {
			fmt.Fprintln(g.err,
				"there is no configuration whose plugins could be locked; those that are installed are locked")
		}
		return err
	}
	if err := c.Admit(ctx); err != nil {
		return err
	}
	found := c.Find(ctx)
	g.printErrors(found.Problems...)
	lock, err := found.PlanLock(names, platforms)
	if err != nil {
		return err
	}
	startChanged, err := g.agreeToStart(ctx, lock, f)
	if err != nil {
		return err
	}
	if err := lock.Inspect(ctx, !f.check, startChanged); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	for _, p := range lock.Plugins {
		g.showLock(p)
	}
	return errors.Join(g.writeLock(ctx, lock, f), lockFailures(lock, f.check))
}

// programs are the files of --platform.
func (f lockFlags) programs(names []string) (map[string]string, error) {
	if len(f.platforms) > 0 && len(names) != 1 {
		return nil, errors.New("--platform goes with the name of one plugin")
	}
	out := map[string]string{}
	for _, p := range f.platforms {
		platform, file, ok := strings.Cut(p, "=")
		if !ok || file == "" {
			return nil, fmt.Errorf("--platform must look like OS_ARCH=FILE, not %q", p)
		}
		out[platform] = file
	}
	return out, nil
}

// agreeToStart asks the person before a program runs that is not the locked one: it could do harm while it is asked
// for its tools. Without a terminal and without --yes it is not started.
func (g *options) agreeToStart(ctx context.Context, lock *bootstrap.LockPlan, f lockFlags) (bool, error) {
	others := slices.DeleteFunc(slices.Clone(lock.Plugins), func(p *bootstrap.LockedPlugin) bool { return !p.RunsOther() })
	person := g.prompterAt(false)
	if f.check || f.yes || len(others) == 0 || person == nil { // without a person, writeLock refuses
		return f.yes && !f.check, nil
	}
	out := &rowWriter{w: g.err}
	for _, p := range others {
		fmt.Fprintf(out, "%s is not what was locked, and was not started yet:\n  program: %s\n", p.Name,
			escapeForTerminal(p.Program))
		for _, d := range p.Differences() {
			fmt.Fprintf(out, "  %s: %s\n    -> %s\n", d.Part, orNone(d.Old), orNone(d.Now))
		}
	}
	them := "it"
	if len(others) > 1 {
		them = fmt.Sprintf("each of the %d", len(others))
	}
	err := g.confirm(ctx, person, "Start "+them+" to see the tools? [y/N] ",
		"no changed program was started, and nothing was written")
	return err == nil, err
}

// showLock prints how a plugin differs from what was locked.
func (g *options) showLock(p *bootstrap.LockedPlugin) {
	out := &rowWriter{w: g.out}
	switch {
	case p.Problem != nil: // lockFailures prints it at the end
		return
	case p.Gone:
		fmt.Fprintf(out, "%s: removed, since there is no such plugin any more\n", p.Name)
		return
	case !p.Differs():
		fmt.Fprintf(out, "%s: unchanged\n", p.Name)
		return
	case p.Added:
		fmt.Fprintf(out, "%s: added\n", p.Name)
	default:
		fmt.Fprintf(out, "%s: changed\n", p.Name)
	}
	for _, d := range p.Differences() {
		if d.Old == "" {
			fmt.Fprintf(out, "  %s: %s\n", d.Part, escapeForTerminal(d.Now))
		} else {
			fmt.Fprintf(out, "  %s: %s -> %s\n", d.Part, escapeForTerminal(d.Old), orNone(d.Now))
		}
	}
	note := func(format string, a ...any) { fmt.Fprintln(out, "  note: "+fmt.Sprintf(format, a...)) }
	if len(p.Kept) > 0 && p.OtherProgram() {
		note("the checksums of other platforms stay as they were: %s", strings.Join(p.Kept, " "))
	}
	if p.Partial != "" {
		note("%s", p.Partial)
	}
	for _, file := range p.Unpinned {
		note("the argument %s names a file, whose content is not locked", escapeForTerminal(file))
	}
	if p.Dynamic() {
		note("it changes its tools while it runs; those that differ from now on are disabled, unless its block says " +
			"pin_tools = false")
	}
	switch {
	case !p.Asked && p.Added:
		note("it is not started to be checked, so its tools are not known")
		return
	case !p.Asked:
		note("another program is not started to be checked, so its tools are not compared")
		return
	case !p.Added:
		if before, now := p.Pinned(); before != now {
			note("its tools are pinned: %t", now)
		}
	}
	for _, d := range p.ToolDifferences() {
		switch {
		case d.Now == nil:
			fmt.Fprintf(out, "  tool %s: removed\n", d.Name)
		case p.Added:
			fmt.Fprintf(out, "  tool %s: %s\n", d.Name, summary(d.Now))
		case d.Old == "":
			fmt.Fprintf(out, "  tool %s: added: %s\n", d.Name, summary(d.Now))
		default:
			fmt.Fprintf(out, "  tool %s: changed\n", d.Name)
			if d.OldDefinition == nil {
				note("the old definition, %s…, was not kept on this machine; this is the new one", d.Old[:12])
			}
			for _, c := range d.Changes() {
				fmt.Fprintf(out, "    %s\n", c.Part)
				for _, line := range c.Lines {
					fmt.Fprintf(out, "      %s\n", line)
				}
			}
		}
	}
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return escapeForTerminal(text)
}

// summary is the first line of a definition's description.
func summary(definition json.RawMessage) string {
	var t struct{ Description string }
	_ = json.Unmarshal(definition, &t) // written by toolhost itself
	return escapeForTerminal(fitLine(firstLine(strings.TrimSpace(t.Description)), 100))
}

// writeLock writes the lock file, after asking about changes.
func (g *options) writeLock(ctx context.Context, lock *bootstrap.LockPlan, f lockFlags) error {
	var differing []*bootstrap.LockedPlugin
	agreed := true
	for _, p := range lock.Plugins {
		if p.Problem == nil && p.Differs() {
			differing = append(differing, p)
			agreed = agreed && (p.Added || f.yes)
		}
	}
	switch {
	case f.check && len(differing) > 0:
		return &exitError{exitDiffers, "toolhost.lock.hcl does not match the plugins; nothing was changed"}
	case f.check || len(differing) == 0:
		return nil
	}
	if err := g.agree(ctx, agreed, "Lock this? [y/N] ", "nothing was written", "what was locked has changed, and there "+
		"is no terminal to ask at; nothing was written. Look at the changes, then lock them with --yes, which also starts "+
		"changed programs"); err != nil {
		return err
	}
	path, err := lock.Write(differing)
	if err == nil {
		fmt.Fprintf(g.out, "%s: %s written\n", path, textutil.Count(len(differing), "plugin"))
	}
	return err
}

// lockFailures lists plugins that could not be inspected, and why.
func lockFailures(lock *bootstrap.LockPlan, check bool) error {
	var all []error
	for _, p := range lock.Plugins {
		if p.Problem == nil {
			continue
		}
		what := "is not locked"
		switch {
		case check:
			what = "cannot be checked"
		case !p.Added:
			what = "keeps its lock"
		}
		why := p.Problem.Error()
		if rest, named := strings.CutPrefix(why, fmt.Sprintf("plugin %q ", p.Name)); named {
			why = "it " + rest
		}
		all = append(all, fmt.Errorf("plugin %q %s: %s", p.Name, what, why))
	}
	if len(all) == 0 {
		return nil
	}
	return &exitError{exitUnavailable, errors.Join(all...).Error()}
}
