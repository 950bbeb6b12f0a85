package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/lockfile"
)

type lockFlags struct {
	check, yes bool
	platforms  []string
}

func newPluginLock(g *globals) *cobra.Command {
	var f lockFlags
	cmd := &cobra.Command{
		Use:   "lock [NAME]...",
		Short: "Agree to plugins and their tools as they are now",
		Long: "Agree to plugins and their tools as they are now: what they are is written to " + lockfile.Name + " beside the\n" +
			"configuration. From then on a plugin whose program, arguments or variables are others is not started, and a tool\n" +
			"whose definition is another, or that is new, is disabled, until they are locked again.\n\n" +
			"Without names all plugins are locked, and those that are gone are removed. The plugins are started, to ask them for\n" +
			"their tools, and what has changed is shown before it is written. One that would run something else than was locked is\n" +
			"shown, and started only when a person at the terminal says so, or --yes does. --check starts only what is locked.\n\n" +
			"The checksum is that of the program, and for a script of the interpreter that its first line names too: not of libraries,\n" +
			"or of files that it loads. It is kept for each platform, and where there is none the plugin is not started; --platform\n" +
			"adds that of a program for another one.\n\n" +
			"Exit codes: 0 all is locked; 1 --check found something that is not; 2 usage, configuration, or changes without --yes\n" +
			"and nobody to ask; 3 a person said no; 4 a plugin cannot be used, and its lock is as before; 130 interrupted.",
		Example: `  toolhost plugin lock
  toolhost plugin lock edit --platform darwin_arm64=dist/darwin/toolhost-plugin-edit
  toolhost plugin lock --check`,
		ValidArgsFunction: g.completePlugins,
		RunE:              func(cmd *cobra.Command, names []string) error { return g.lockPlugins(cmd.Context(), names, f) },
	}
	cmd.Flags().BoolVar(&f.check, "check", false, "change nothing; the exit code is 1 if there would be changes")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask before a program that is not the locked one is started, and before what is locked is changed")
	cmd.Flags().StringArrayVar(&f.platforms, "platform", nil, "also lock a program for another platform, `OS_ARCH=FILE`; may be given again")
	return cmd
}

func (g *globals) lockPlugins(ctx context.Context, names []string, f lockFlags) error {
	sums, err := f.sums(names)
	if err != nil {
		return err
	}
	c, err := g.load()
	if err != nil {
		return err
	}
	l := &locker{globals: g, config: c, flags: f, sums: sums, all: len(names) == 0}
	if err := l.look(ctx, names); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	for _, p := range l.plugins {
		l.show(p)
	}
	return errors.Join(l.finish(ctx), l.failure())
}

// sums are the checksums of the programs for other platforms.
func (f lockFlags) sums(names []string) (map[string]string, error) {
	if len(f.platforms) > 0 && len(names) != 1 {
		return nil, errors.New("--platform goes with the name of one plugin")
	}
	out := map[string]string{}
	for _, p := range f.platforms {
		platform, file, ok := strings.Cut(p, "=")
		switch {
		case !ok || !lockfile.IsPlatform(platform) || file == "":
			return nil, fmt.Errorf("--platform must look like %s=FILE, not %q", lockfile.Platform(), p)
		case platform == lockfile.Platform():
			return nil, fmt.Errorf("%s is this machine, where the program is the one that runs; leave --platform out", platform)
		}
		sum, err := fingerprint(file)
		if err != nil {
			return nil, err
		}
		out[platform] = sum
	}
	return out, nil
}

// A locker is one run of the command.
type locker struct {
	*globals
	config  *config.Config
	flags   lockFlags
	sums    map[string]string // of programs for other platforms
	all     bool              // plugins are looked at
	plugins []*lockable

	startOthers bool // than were locked: a person, or --yes, says so
}

// failure tells which plugins could not be looked at.
func (l *locker) failure() error {
	var all []error
	for _, p := range l.plugins {
		if p.problem != nil {
			all = append(all, p.failure(l.flags.check))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &exitError{exitUnavailable, errors.Join(all...).Error()}
}

// failure says what became of the plugin, and why. The reason may begin with its name, too.
func (p *lockable) failure(check bool) error {
	what := "is not locked"
	switch {
	case check:
		what = "cannot be checked"
	case p.old != nil:
		what = "stays locked as it was"
	}
	why := p.problem.Error()
	if rest, named := strings.CutPrefix(why, fmt.Sprintf("plugin %q ", p.name)); named {
		why = "it " + rest
	}
	return fmt.Errorf("plugin %q %s: %s", p.name, what, why)
}

// interesting are the plugins to look at: the named ones, or all.
func interesting(names, known []string) ([]string, error) {
	if len(names) == 0 {
		return known, nil
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("there is no plugin %q%s", n, meantOf(n, known))
		}
	}
	return names, nil
}
