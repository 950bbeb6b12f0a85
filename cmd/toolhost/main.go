// Command toolhost runs tools as supervised plugin processes: it lists them, calls them, and reports their state.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/sdk"
)

func main() {
	wire.QuietGRPC()
	if info, ok := debug.ReadBuildInfo(); ok {
		version = installedVersion(version, info)
	}
	os.Exit(named(os.Args[0])(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main without the process; it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := interruptible(context.Background())
	defer stop()
	t := newTerminal(stdin, stdout, stderr)
	cmd := newRoot(t)
	cmd.SetArgs(args)
	ran, err := cmd.ExecuteContextC(ctx)
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))) {
		err = errInterrupted
	}
	if err != nil {
		if m := exclusive().FindStringSubmatch(err.Error()); m != nil {
			err = fmt.Errorf("--%s exclude each other; give one of them", strings.ReplaceAll(m[1], " ", " and --"))
		}
	}
	err = cmp.Or(err, *t.late)
	if e, ok := errors.AsType[*os.SyscallError](err); ok && e.Syscall == "getwd" &&
		!errors.Is(err, bootstrap.ErrNoWorkdir) {
		err = fmt.Errorf("%w: %w", bootstrap.ErrNoWorkdir, err)
	}
	t.out.screen.settle()
	t.printError(err)
	t.printJSONError(ran, args, err)
	writeErr := t.out.failed()
	t.printError(writeErr)
	return exitCode(errors.Join(err, writeErr))
}

// printError prints an error on standard error. Only its first line begins at the margin.
func (t *terminal) printError(err error) {
	if err != nil && err.Error() != "" {
		text := replaceForTerminal(t.hide(err.Error() + adviceFor(err)))
		fmt.Fprintf(t.err, "%s %s\n", t.paint(red, "toolhost:"), indentRest(text))
	}
}

// options are the command-line options that every sub-command takes.
type options struct {
	*terminal
	config, workdir     string
	logLevel, logFormat string
	checkTrust          bool
	standalone, verbose bool
	servedBefore        bool // a host whose configuration was deleted is meant, too
	saidNoConfiguration bool // see reportNoConfiguration
	saidNoRecord        bool // see onLog
}

// rootName is the name of the command whose flags all others have.
const rootName = "toolhost"

func newRoot(t *terminal) *cobra.Command {
	g := &options{terminal: t}
	root := &cobra.Command{
		Use:   rootName,
		Short: "Run an agent's tools as supervised plugin processes",
		Long: "toolhost runs every tool of an agent as a plugin process of its own: found, started, checked,\n" +
			"called, supervised and stopped by one host, which always returns data that a model can act on.",
		SilenceErrors: true, SilenceUsage: true, SuggestionsMinimumDistance: 2,
		Args:              unknownCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return g.check(cmd) },
	}
	g.flags(root)
	root.Version = version // the flag is cobra's, without its -v
	root.Flags().Bool("version", false, "print the version")
	root.SetVersionTemplate(versionLine())
	root.AddCommand(newDiscover(g), newCall(g), newApprovals(g), newTrust(g), newValidate(g), newStatus(g), newDoctor(g),
		newMCP(g), newServe(g), newAudit(g), newHistory(g), newVersion(g),
		newGroup("policy", "Explain what the rules decide", "", newExplain(g)),
		newGroup("plugin", "Work on plugins", "", newPluginNew(g), newPluginRun(g), newPluginCheck(g), newPluginInstall(g),
			newPluginUpgrade(g), newPluginRemove(g), newPluginList(g), newPluginLock(g), newPluginLogs(g)))
	root.SetIn(t.in)
	root.SetOut(t.out)
	root.SetErr(replacingWriter{t.err})
	explainUsage(root)
	extend(root)
	return root
}

// newGroup makes a command that has only sub-commands.
func newGroup(name, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short, Long: long, Args: unknownCommand, SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

// flags are those of every sub-command.
func (g *options) flags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&g.config, "config", "", "configuration `file` (default: $TOOLHOST_CONFIG, ./config.hcl, then the user's)")
	f.BoolVar(&g.checkTrust, "check-trust", false, "use the file of --config only if it is trusted (toolhost trust)")
	f.StringVar(&g.workdir, "workdir", "", "`folder` that tools work in (default: the current one)")
	f.BoolVar(&g.standalone, "standalone", false, "do not use a running host (toolhost serve)")
	f.BoolVar(&g.verbose, "verbose", false, "report which host is used, and why")
	f.BoolVar(&g.noColor, "no-color", false, "no colours, also on a terminal")
	g.logLevel, g.logFormat = "error", "text"
	choose(root, &g.logLevel, "log-level", "%s; the log goes to standard error", "debug", "info", "warn", "error")
	choose(root, &g.logFormat, "log-format", "%s", "text", "json")
}

// unknownCommand refuses an unknown sub-command, and suggests near names.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("there is no command %q", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("%s; did you mean %s?", text, strings.Join(near, " or "))
	}
	return fmt.Errorf("%s; `%s --help` lists them", text, cmd.CommandPath())
}

// noArguments refuses words after a command that takes only flags.
func noArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case strings.HasSuffix(args[0], ".hcl") && cmd.Flag("config") != nil:
		return fmt.Errorf("%s takes no arguments; write --config %s", cmd.Name(), shellWords(args[:1]))
	}
	return fmt.Errorf("%s takes no arguments; remove %q", cmd.Name(), args[0])
}

// extend adds commands that only some builds have.
var extend = func(*cobra.Command) {}

// check is the last check of the command line: cobra has checked flags and arguments.
func (g *options) check(cmd *cobra.Command) error {
	var empty error // such as of a variable that is not set: other rules would apply, or none
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if what, _ := pflag.UnquoteUsage(f); f.Value.Type() == "string" && f.Value.String() == "" && f.Name != "reason" {
			empty = fmt.Errorf("--%s is empty; write --%[1]s %s, or leave it out", f.Name, strings.ToUpper(what))
		}
	})
	if empty != nil {
		return empty
	}
	args := cmd.Flags().Args()
	if end := cmd.ArgsLenAtDash(); end >= 0 { // a plugin's own follow
		args = args[:end]
	}
	if slices.Contains(args, "") && !slices.Contains([]string{"call", "explain", callProgram}, cmd.Name()) {
		return fmt.Errorf("an argument is empty, perhaps because a variable is not set; use it as: %s", cmd.UseLine())
	}
	if info, err := os.Stat(g.workdir); g.workdir != "" && (err != nil || !info.IsDir()) {
		return fmt.Errorf("--workdir %s is not a folder", g.workdir)
	}
	g.began = true
	return nil
}

// logger writes to standard error.
func (g *options) logger() *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(g.logLevel)) // one of four words
	o := &slog.HandlerOptions{Level: level}
	if g.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(replacingWriter{g.err}, o))
	}
	return slog.New(slog.NewTextHandler(replacingWriter{g.err}, o))
}

// The exit codes of the contract.
const (
	exitOK          = 0
	exitTool        = 1 // the tool returned an error
	exitLost        = 1 // the result could not be written
	exitDiffers     = 1 // a check found a difference
	exitUsage       = 2 // usage, configuration, unknown tool
	exitDenied      = 3 // by policy or a person
	exitUnavailable = 4 // a plugin crashed or is not available
	exitTimeout     = 5
	exitInterrupted = 130 // by Ctrl-C, SIGTERM or the end of the terminal
)

// An exitError ends the command with a code. Its text is shown unless it is empty.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return e.text }

// A refusal is an exitError of a call that no host has answered, with the error that programs read.
type refusal struct {
	*exitError
	is   *sdk.Error
	call string // the id under which a host has it, if one does
}

func newRefusal(e *sdk.Error, text string) error {
	return &refusal{exitError: &exitError{codeFor(e), text}, is: e}
}

// Unwrap returns both errors.
func (r *refusal) Unwrap() []error { return []error{r.exitError, r.is} }

// exitCode: an error without a code of its own is one of usage or configuration.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	if _, untrusted := errors.AsType[*bootstrap.UntrustedError](err); untrusted {
		return exitDenied
	}
	return exitUsage
}

// codeFor returns the exit code for a failed call.
func codeFor(e *sdk.Error) int {
	switch e.Code {
	case sdk.CodeToolNotFound, sdk.CodeInvalidArgs, codeUsage:
		return exitUsage
	case sdk.CodeDenied, sdk.CodeRejected, sdk.CodeApprovalTimeout, sdk.CodeApprovalUnavailable, sdk.CodeNotInCatalog:
		return exitDenied
	case sdk.CodePluginCrashed, sdk.CodePluginUnavailable, sdk.CodeProtocol:
		return exitUnavailable
	case sdk.CodeTimeout:
		return exitTimeout
	case sdk.CodeCanceled:
		return exitInterrupted
	}
	return exitTool
}

// explainUsage rewords cobra's own usage errors like the others, and ignores none.
func explainUsage(root *cobra.Command) {
	root.SetFlagErrorFunc(flagMistake)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = helpTopic
		case "completion":
			cmd.Args, cmd.SuggestionsMinimumDistance = unknownCommand, 2
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// helpTopic refuses help for an unknown command.
func helpTopic(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0 && !found.HasSubCommands():
		return fmt.Errorf("%s has no commands of its own, and so no %q", found.CommandPath(), rest[0])
	}
	return unknownCommand(found, rest)
}

var (
	wrongDuration = lazy.Regexp(`^invalid argument "(.*)" for "--([\w-]+)" flag: time: `)
	unknownFlag   = lazy.Regexp(`^unknown flag: --([^\s=]+)`)
	exclusive     = lazy.Regexp(`^if any flags in the group .* \[(.*)\] were all set$`)
	flagInUsage   = lazy.Regexp(`(?m)^ +(?:-\w, )?--([\w-]+)`)
)

// flagMistake suggests the nearest flag, or where all are listed.
func flagMistake(cmd *cobra.Command, err error) error {
	if wrong, is := errors.AsType[choiceError](err); is {
		return wrong
	}
	text, _, _ := strings.Cut(err.Error(), ": strconv.") // the rest is the name of a Go function
	if m := wrongDuration().FindStringSubmatch(text); m != nil {
		return fmt.Errorf("--%s must be a duration such as 30s, not %q", m[2], m[1])
	}
	if m := unknownFlag().FindStringSubmatch(text); m != nil {
		if m[1] == "version" {
			return errors.New(text + "; `toolhost version` shows the versions")
		}
		if meant := textutil.DidYouMean(m[1], flagsOf(cmd)); meant != "" {
			return errors.New(text + strings.Replace(meant, `mean "`, `mean "--`, 1))
		}
	}
	return fmt.Errorf("%s; `%s --help` lists the flags", text, cmd.CommandPath())
}

func flagsOf(cmd *cobra.Command) (names []string) {
	for _, m := range flagInUsage().FindAllStringSubmatch(cmd.Flags().FlagUsages(), -1) {
		names = append(names, m[1])
	}
	return names
}

// anyNumber of arguments: no limit.
const anyNumber = math.MaxInt

// oneTo requires one argument to that many, and says otherwise what is wrong.
func oneTo(most int, wrong string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < 1 || len(args) > most {
			return errors.New(wrong)
		}
		return nil
	}
}

// exactlyOne requires one argument.
func exactlyOne(wrong string) cobra.PositionalArgs { return oneTo(1, wrong) }

// atMostOne refuses more than one argument.
func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("use it as: %s", cmd.UseLine())
	}
	return nil
}

// version is set by the Makefile for releases.
var version = unreleased

// unreleased is the version of a program that was built from sources of any state.
const unreleased = "0.1.0-dev"

// installedVersion is version, or that of the module where the go command has downloaded and built this program.
func installedVersion(version string, info *debug.BuildInfo) string {
	if version == unreleased && info != nil && info.Main.Sum != "" {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return version
}

func versionLine() string {
	return fmt.Sprintf("toolhost %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func newVersion(g *options) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			if format == "json" {
				return g.printJSON(struct {
					Version  string `json:"version"`
					Go       string `json:"go"`
					OS       string `json:"os"`
					Arch     string `json:"arch"`
					Protocol uint   `json:"plugin_protocol"`
				}{version, runtime.Version(), runtime.GOOS, runtime.GOARCH, wire.ProtocolVersion})
			}
			fmt.Fprint(g.out, versionLine())
			return nil
		},
	}
	chooseFormat(cmd, &format, "%s", "text", "json")
	return cmd
}

// printErrors prints problems on standard error, and how many there are more than a person reads.
func (g *options) printErrors(problems ...error) {
	const most = 100
	for _, p := range problems[:min(len(problems), most)] {
		g.printError(p)
	}
	if more := len(problems) - most; more > 0 {
		g.printError(fmt.Errorf("and %d more problems", more))
	}
}
