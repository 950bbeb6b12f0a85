// Command toolhost-server serves the host of a configuration to many clients, until it is stopped. `toolhost serve`
// runs it. It is a program of its own since it links what no call needs, and toolhost starts with each call.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/host/api/local"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/internal/wire"
)

// version is set by the Makefile for releases.
var version = "0.1.0-dev"

func main() {
	wire.QuietGRPC()
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Sum != "" && strings.HasSuffix(version, "-dev") {
		version = strings.TrimPrefix(info.Main.Version, "v") // of a module that the go command has downloaded
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2 // also for a configuration with which it cannot serve
	exitDenied = 3 // the configuration is not trusted

	exitUnavailable = 4
)

// A settings has the flags.
type settings struct {
	config, workdir, profile string
	checkTrust               bool
	address                  string
	idleTimeout              time.Duration
	drain                    time.Duration
	logLevel, logFormat      string
	background               bool
	starter                  *starter
	received                 <-chan os.Signal // that ask a running host for something
	endsWithTerminal         bool
}

// run is main without the process; it returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "history" {
		return historyCommand(args[1:], os.Stdin, stdout, stderr)
	}
	ends := endsWithTerminal() // before the signal is received
	o := settings{received: openSignals(), endsWithTerminal: ends, starter: openStarter()}
	f := pflag.NewFlagSet("toolhost-server", pflag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.config, "config", "", "configuration `file`")
	f.BoolVar(&o.checkTrust, "check-trust", false, "use the file of --config only if it is trusted")
	f.StringVar(&o.workdir, "workdir", "", "`folder` that tools work in")
	f.StringVar(&o.profile, "profile", "", "only the tools of this `profile`")
	f.StringVar(&o.address, "address", "", "serve HTTP at this `address`")
	f.DurationVar(&o.idleTimeout, "idle-timeout", 0, "end after this `time` without calls and clients")
	f.DurationVar(&o.drain, "drain", 30*time.Second, "how long running calls may take to end at a stop")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
	f.BoolVar(&o.background, "background", false, "end when idle, and serve no address unless the configuration has one")
	f.Bool("no-color", false, "ignored")
	showVersion := f.Bool("version", false, "print the version")
	switch err := f.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return exitOK
	case err != nil:
		o.starter.failed(err)
		return exitUsage
	case o.drain < 0 || o.idleTimeout < 0:
		fmt.Fprintln(stderr, "toolhost-server: --drain and --idle-timeout must not be negative")
		return exitUsage
	case f.NArg() > 0:
		fmt.Fprintf(stderr, "toolhost-server: takes no arguments, not %q\n", f.Arg(0))
		return exitUsage
	case *showVersion:
		fmt.Fprintln(stdout, "toolhost-server", version)
		return exitOK
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)                            // a second signal ends the process at once
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // who started it, and reads its log, may be gone
	if err := serve(ctx, o, logger(o, stderr), stdout); err != nil {
		fmt.Fprintln(stderr, "toolhost-server:", err)
		o.starter.failed(err)
		return exitCode(err, o.background)
	}
	return exitOK
}

// exitCode is that with which toolhost's commands end for the same error.
func exitCode(err error, background bool) int {
	if _, locked := errors.AsType[*lockedError](err); locked {
		if background {
			return local.ExitLocked
		}
		return exitFailed
	}
	if _, untrusted := errors.AsType[*bootstrap.UntrustedError](err); untrusted {
		return exitDenied
	}
	if _, start := errors.AsType[*startError](err); start {
		return exitUsage
	}
	return exitFailed
}

func logger(o settings, to io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(o.logLevel)) // an unknown word is info
	h := &slog.HandlerOptions{Level: level}
	if o.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(to, h))
	}
	return slog.New(slog.NewTextHandler(to, h))
}
