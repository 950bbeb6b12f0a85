package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk"
)

type runFlags struct {
	watch   bool
	name    string
	attach  string
	format  string
	approve string
}

const runLong = "Run one plugin under the host with everything that a call goes through, and call its tools by\n" +
	"lines on standard input. The plugin is a program, by its path (with a slash), or one of the\n" +
	"configuration, by its name; a program needs no configuration, and takes the words after -- as its\n" +
	"arguments.\n" +
	"\n" +
	runHelp + "\n\n" +
	"Answers go to standard output; output of the plugin, its state and changes of its files go to standard error.\n\n" +
	"With --watch the plugin is restarted when its program changes, or the script that it runs or one with the\n" +
	"same ending beside it, and with a NAME when the configuration does; SIGHUP and the line reload do so at any\n" +
	"time. The new process takes over once it is ready; calls that run end on the old one. If it does not start,\n" +
	"the old one stays in use, and the reason is printed.\n\n" +
	"With --attach it joins a plugin that was started by hand, such as under a debugger, with TOOLHOST_ATTACH=1: the\n" +
	"plugin prints the file to name. Calls may take an hour, and the plugin runs on when this command ends.\n\n" +
	"Exit codes: 0 the input has ended; 2 usage or configuration; 4 the plugin cannot be used, and is not watched; 130\n" +
	"interrupted. How the calls end changes nothing."

func newPluginRun(g *options) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run BIN|NAME|--attach FILE [-- ARGS]",
		Short: "Run one plugin, and call its tools by lines on standard input",
		Long:  runLong,
		Example: "  toolhost plugin run --watch ./bin/toolhost-plugin-greet\n" +
			"  echo 'list {\"path\": \".\"}' | toolhost plugin run readfile --format json",
		Args: func(cmd *cobra.Command, args []string) error {
			if f.name != "" && !toolname.IsPlugin(f.name) {
				return fmt.Errorf("--name %.40q is not a plugin name: %s", f.name, toolname.PluginRule)
			} else if f.name != "" && (f.attach != "" || len(args) > 0 && !fsutil.HasFolder(args[0])) {
				return errors.New("--name goes with a program, by its path; other plugins have their names")
			}
			if f.attach != "" && len(args) > 0 {
				return errors.New("--attach names the plugin by its file; leave out " + args[0])
			} else if f.attach != "" {
				return nil
			}
			return runArgs(cmd, args)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			names, _ := g.completePlugins(cmd, args, word)
			return names, cobra.ShellCompDirectiveDefault // a program, by its path
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("log-level") {
				// What the plugin says is printed at any level; lines below this one would only repeat the answers.
				g.logLevel = "warn"
			}
			return g.runPlugin(cmd.Context(), args, f)
		},
	}
	cmd.Flags().BoolVar(&f.watch, "watch", false, "restart the plugin when its program changes")
	cmd.Flags().StringVar(&f.name, "name", "", "the plugin's `name`; by default that of the program, without "+
		"toolhost-plugin- and its ending")
	cmd.Flags().StringVar(&f.attach, "attach", "", "join the plugin that wrote this `file`, instead of starting one")
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
	case len(args) > 1 && !fsutil.HasFolder(args[0]):
		return fmt.Errorf("the arguments of plugin %q stand in the configuration; those after -- are for a program, such "+
			"as ./%s", args[0], args[0])
	}
	return nil
}

// A pluginRun is one plugin under trial.
type pluginRun struct {
	g          *options
	f          runFlags
	name       string
	program    bool // which is no plugin of a configuration
	instance   *bootstrap.Instance
	changed    chan struct{}  // the tools may have changed
	lines      sync.Mutex     // held to write a result
	calls      sync.WaitGroup // in the background
	background sync.Map       // their ids
	ran        bool           // the process that printState has printed last was ready

	reloading sync.Mutex // held for the two below
	known     []sdk.Tool // the last known tools of the plugin
}

func (g *options) runPlugin(ctx context.Context, args []string, f runFlags) error {
	r := &pluginRun{g: g, f: f, changed: make(chan struct{}, 1)}
	requests := reloadRequests(ctx)
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
	besides.Go(func() { r.follow(ctx, requests, changes) })
	err = r.read(ctx)
	r.calls.Wait()
	return err
}

// process is the plugin under supervision.
func (r *pluginRun) process() *supervise.Process { return r.instance.Processes()[0] }

// begin starts the plugin. One that fails to start may be fixed, if it is watched.
func (r *pluginRun) begin(ctx context.Context) error {
	if err := r.instance.Verify(r.name); err != nil && !r.f.watch { // a start is not necessary to know it
		return &exitError{exitUnavailable, fmt.Sprintf("plugin %q: %v", r.name, err)}
	}
	tools, err := r.process().Tools(ctx)
	err = r.unconfigured(err)
	messages, _ := notices(r.instance)
	r.g.printErrors(append(r.instance.Plugins().Problems, messages...)...)
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil && !r.f.watch:
		return &exitError{exitUnavailable, err.Error()}
	case err != nil:
		r.say("%v; waiting for a change", err)
	default:
		r.known = tools
		r.say("%s with %s; `help` lists the commands", r.process().Status().State, textutil.Count(len(tools), "tool"))
	}
	return nil
}

// unconfigured adds to an error about the configuration of a program, which is run with none, how to give it one.
func (r *pluginRun) unconfigured(err error) error {
	if _, problems, _ := supervise.ConfigProblems(err); len(problems) == 0 || !r.program {
		return err
	}
	return fmt.Errorf("%w\n  A program is run without configuration: write a block plugin %q with its command and config "+
		"to config.hcl,\n  and run it by its name: toolhost plugin run %s", err, r.name, r.name)
}

// say prints a line on standard error.
func (r *pluginRun) say(format string, a ...any) {
	fmt.Fprintf(replacingWriter{r.g.err}, "%s: %s\n", r.name, indentRest(fmt.Sprintf(format, a...)))
}

// printState prints a new state of the plugin.
func (r *pluginRun) printState(s supervise.Status) {
	text := fmt.Sprintf("%s (generation %d", s.State, s.Generation)
	if s.PID != 0 {
		text += fmt.Sprintf(", pid %d", s.PID)
	}
	if text += ")"; s.Reason != "" && s.State != supervise.Crashed {
		text += ": " + s.Reason
	}
	if s.State == supervise.Ready {
		r.ran = true
	} else if s.LastError != "" && s.State != supervise.Draining && r.ran { // who waits for a start prints why it failed
		text += ": " + s.LastError
		r.ran = false
	}
	if ended := s.State == supervise.Draining || s.State == supervise.Stopped; s.State != supervise.Known &&
		(s.Generation > 0 || !ended) {
		r.say("%s", text)
	}
}

// open makes the session of the one plugin.
func (r *pluginRun) open(ctx context.Context, args []string) (*bootstrap.Instance, error) {
	o := r.g.bootstrapOptions()
	o.Logger = r.g.authorLogger()
	o.Refresh, o.Approve, o.OnState = true, bootstrap.Approve(r.f.approve), r.printState
	o.OnToolsChanged = func(string) {
		select {
		case r.changed <- struct{}{}:
		default: // one is pending
		}
	}
	typed := isTerminal(r.g.in)
	if person := r.g.prompterAt(!typed); person != nil {
		o = r.g.asking(o, person)
		if typed {
			o.Approver, o.OneQuestion = &foregroundApprover{o.Approver, &r.background}, false
		}
	}
	if r.f.attach != "" {
		spec, err := supervise.Attached(r.f.attach)
		if err != nil {
			return nil, err
		}
		r.name = spec.Name
		return bootstrap.OpenProgram(ctx, spec, o)
	}
	r.name = args[0]
	if !fsutil.HasFolder(args[0]) {
		o.Plugins = args[:1]
		s, err := r.g.open(ctx, o)
		return s, orFile(args[0], err)
	}
	program, err := filepath.Abs(args[0])
	if err != nil {
		return nil, err
	}
	r.name, r.program = cmp.Or(r.f.name, labelOf(program)), true
	spec := supervise.Spec{Name: r.name, Command: append([]string{program}, args[1:]...), Source: program}
	return bootstrap.OpenProgram(ctx, spec, o)
}

// orFile adds how to name a program in this folder, where a plugin's name was expected.
func orFile(word string, err error) error {
	if info, e := os.Stat(word); err == nil || e != nil || !info.Mode().IsRegular() {
		return err
	}
	return fmt.Errorf("%w\nfor the program %s in this folder write ./%s", err, word, word)
}

// labelOf derives the name of a plugin from that of its program.
func labelOf(program string) string {
	return cmp.Or(toolname.PluginOf(filepath.Base(program)), "plugin")
}

// A foregroundApprover refuses background calls that need approval: the terminal is read for the next line meanwhile.
type foregroundApprover struct {
	host.Approver
	background *sync.Map
}

// Approve asks about calls that are waited for.
func (a *foregroundApprover) Approve(ctx context.Context, r *host.ApprovalRequest) (host.Answer, error) {
	if _, background := a.background.Load(r.CallID); background {
		return host.Answer{}, errors.New("it runs in the background; call it without the &")
	}
	return a.Approver.Approve(ctx, r)
}

// follow reloads the plugin when a file has changed or on request, until ctx ends.
func (r *pluginRun) follow(ctx context.Context, requests, changes <-chan struct{}) {
	for {
		requested := false
		select {
		case <-ctx.Done():
			return
		case <-requests:
			requested = true
		case <-changes:
		}
		r.reloadAndReport(ctx, requested)
	}
}

// reloadAndReport reloads, and prints why that failed. It is called for changed files and for typed lines, one at a
// time.
func (r *pluginRun) reloadAndReport(ctx context.Context, requested bool) {
	r.reloading.Lock()
	defer r.reloading.Unlock()
	err := r.reload(ctx, requested)
	if err == nil || ctx.Err() != nil {
		return
	}
	if e, ok := errors.AsType[*sdk.Error](err); ok && e.Name == "NotReloaded" { // its message includes the details
		r.say("%s", e.Message)
		return
	}
	r.say("not reloaded: %v", err)
}

// reload continues with the present program and settings, and prints the changes.
func (r *pluginRun) reload(ctx context.Context, requested bool) error {
	select {
	case <-r.changed: // from before
	default:
	}
	var restart []string
	if requested {
		restart = append(restart, r.name)
	}
	done, err := r.instance.Reload(ctx, restart...)
	if err != nil {
		return err
	}
	r.g.printErrors(r.instance.Plugins().Problems...)
	switch {
	case len(done.Failed) > 0:
		return errors.Join(done.Failed...)
	case len(done.Restarted) == 0:
		r.say("the configuration was read again; the plugin is unchanged")
		return nil
	}
	return r.printTools(ctx)
}

// changeTimeout is how long the host may take to notice that tools have changed.
const changeTimeout = time.Second

// printTools prints the changes of the plugin's tools, once calls use them.
func (r *pluginRun) printTools(ctx context.Context) error {
	after, err := r.process().Tools(ctx)
	if err != nil {
		return err
	}
	before := r.known
	r.known = after
	lines := changesOf(before, after)
	switch {
	case before == nil:
		r.say("%s with %s", r.process().Status().State, textutil.Count(len(after), "tool"))
		return nil
	case len(lines) == 0:
		r.say("reloaded; its tools are the same")
		return nil
	}
	select {
	case <-r.changed:
	case <-time.After(changeTimeout):
	case <-ctx.Done():
	}
	r.say("reloaded: %s", strings.Join(lines, " "))
	return nil
}

// changesOf lists new tools with a +, removed ones with a -, and changed ones with a ~.
func changesOf(before, after []sdk.Tool) (out []string) {
	for _, t := range after {
		i := slices.IndexFunc(before, func(b sdk.Tool) bool { return b.Name == t.Name })
		switch {
		case i < 0:
			out = append(out, "+"+t.Name)
		case !reflect.DeepEqual(before[i], t):
			out = append(out, "~"+t.Name)
		}
	}
	for _, t := range before {
		if !slices.ContainsFunc(after, func(a sdk.Tool) bool { return a.Name == t.Name }) {
			out = append(out, "-"+t.Name)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(a[1:], b[1:]) })
	return out
}
