package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/sdk"
)

type runFlags struct {
	watch   bool
	format  string
	approve string
}

const runLong = "Run one plugin under the host with everything that a call goes through, and call its tools by lines on standard\n" +
	"input. The plugin is a program, by its path (with a slash), or one of the configuration, by its name; a program needs\n" +
	"no configuration, and takes the words after -- as its arguments.\n\n" +
	runHelp + "\n\n" +
	"Answers go to standard output; what the plugin prints, how it is, and what has changed go to standard error.\n\n" +
	"With --watch the plugin is started anew when its program changes, or the script that it runs, and with a NAME\n" +
	"when the configuration does; SIGHUP and the line reload do so at any time. The new process takes over once it is ready; calls that run\n" +
	"end on the old one. If it does not come up, the old one goes on, and it is told why.\n\n" +
	"Exit codes: 0 the input has ended; 2 usage or configuration; 4 the plugin cannot be used, and is not watched; 130\n" +
	"interrupted. How the calls end changes nothing."

func newPluginRun(g *globals) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run BIN|NAME [-- ARGS]",
		Short: "Run one plugin, and call its tools by lines on standard input",
		Long:  runLong,
		Example: "  toolhost plugin run --watch ./bin/toolhost-plugin-greet\n" +
			"  echo 'list {\"path\": \".\"}' | toolhost plugin run readfile --format json",
		Args: runArgs,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			names, _ := g.completePlugins(cmd, args, word)
			return names, cobra.ShellCompDirectiveDefault // a program, by its path
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("log-level") {
				g.logLevel = "info"
			}
			return g.runPlugin(cmd.Context(), args, f)
		},
	}
	cmd.Flags().BoolVar(&f.watch, "watch", false, "start the plugin anew when its program changes")
	chooseFormat(cmd, &f.format, "%s: one object a line", "text", "json")
	approveFlag(cmd, &f.approve)
	return cmd
}

func runArgs(cmd *cobra.Command, args []string) error {
	before := cmd.ArgsLenAtDash()
	if before < 0 {
		before = len(args)
	}
	switch {
	case before != 1:
		return errors.New("name one plugin: toolhost plugin run BIN|NAME; its own arguments come after --")
	case len(args) > 1 && !isPath(args[0]):
		return fmt.Errorf("the arguments of plugin %q stand in the configuration; those after -- are for a program, such as ./%s", args[0], args[0])
	}
	return nil
}

// isPath says whether a word is the path of a program rather than the name of a plugin.
func isPath(word string) bool { return strings.ContainsRune(filepath.ToSlash(word), '/') }

// A pluginRun is one plugin that is being tried.
type pluginRun struct {
	g        *globals
	f        runFlags
	name     string
	instance *bootstrap.Instance
	changed  chan struct{}  // the host was told that the tools may be others
	lines    sync.Mutex     // held to write an answer
	calls    sync.WaitGroup // in the background
	aside    sync.Map       // their ids

	reloading sync.Mutex // held for the two below
	known     []sdk.Tool // what the plugin last said, once it has
}

func (g *globals) runPlugin(ctx context.Context, args []string, f runFlags) error {
	r := &pluginRun{g: g, f: f, name: args[0], changed: make(chan struct{}, 1)}
	wishes := reloadWishes(ctx)
	s, err := r.open(ctx, args)
	if err != nil {
		return err
	}
	defer g.close(s)
	r.instance = s
	ctx, cancel := context.WithCancel(ctx)
	var besides sync.WaitGroup
	defer besides.Wait()
	defer cancel()
	var changes <-chan struct{}
	if f.watch {
		changes = s.Changes(ctx)
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	besides.Go(func() { r.follow(ctx, wishes, changes) })
	err = r.read(ctx)
	r.calls.Wait()
	return err
}

// process is the plugin under supervision.
func (r *pluginRun) process() *supervise.Process { return r.instance.Processes()[0] }

// begin starts the plugin. One that does not come up may be mended, if it is watched.
func (r *pluginRun) begin(ctx context.Context) error {
	if err := r.instance.Verify(r.name); err != nil && !r.f.watch { // nothing needs to be tried for it
		return &exitError{exitUnavailable, fmt.Sprintf("plugin %q: %v", r.name, err)}
	}
	tools, err := r.process().Tools(ctx)
	r.g.complainAll(append(r.instance.Plugins().Problems, notices(r.instance)...)...)
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil && !r.f.watch:
		return &exitError{exitUnavailable, err.Error()}
	case err != nil:
		r.say("%v; waiting for a change", err)
	default:
		r.known = tools
		r.say("%s with %s; `help` tells what can be typed", r.process().Status().State, counted(len(tools), "tool"))
	}
	return nil
}

// say tells on standard error.
func (r *pluginRun) say(format string, a ...any) {
	fmt.Fprintf(cleaner{r.g.err}, "%s: %s\n", r.name, fmt.Sprintf(format, a...))
}

// tellState tells what becomes of the plugin.
func (r *pluginRun) tellState(s supervise.Status) {
	text := fmt.Sprintf("%s (generation %d", s.State, s.Generation)
	if s.PID != 0 {
		text += fmt.Sprintf(", pid %d", s.PID)
	}
	if text += ")"; s.Reason != "" {
		text += ": " + s.Reason
	}
	if ended := s.State == supervise.Draining || s.State == supervise.Stopped; s.State != supervise.Known && (s.Generation > 0 || !ended) {
		r.say("%s", text)
	}
}
