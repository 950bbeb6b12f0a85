package main

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/local"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/lazy"
)

// serverProgram serves a configuration: it links what only a long-lived host needs.
const serverProgram = "toolhost-server"

type serveFlags struct {
	profile   string
	address   string
	drain     time.Duration
	showToken bool
	stop      bool
	upgrade   bool
	unit      string
}

func newServe(g *options) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a long-lived host for commands, programs and the browser",
		Long: "Run a host until it is stopped, for the configuration, the work folder and the profile.\n" +
			"Commands such as `toolhost call` use it, so that jobs, undo, limits and remembered answers last\n" +
			"as long as it does. Other programs use its API (gRPC, gRPC-Web, or JSON with curl), and people its\n" +
			"console in the browser.\n" +
			"\n" +
			"It serves on a socket that only you can reach, and over HTTP on this machine, where requests need\n" +
			"a token: the address that it prints has it. On SIGTERM or Ctrl-C it takes no new calls, waits for\n" +
			"the running ones, and ends. See docs/serve.md.",
		Example: `  toolhost serve
  toolhost serve --address 127.0.0.1:7500
  toolhost serve --print-unit systemd   # its first lines say where to save it`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.serve(cmd, f) },
	}
	fs := cmd.Flags()
	g.profileFlag(cmd, &f.profile)
	fs.StringVar(&f.address, "address", "", "serve HTTP at this `address` (default: that of the configuration, else "+
		"127.0.0.1:7411)")
	fs.DurationVar(&f.drain, "drain", 30*time.Second, "how long running calls may take to end at a stop")
	fs.BoolVar(&f.showToken, "show-token", false, "print the token of the host and exit")
	fs.BoolVar(&f.stop, "stop", false, "stop the running host: wait for its calls, and end it")
	fs.BoolVar(&f.upgrade, "upgrade", false, "replace the running host by the program that is installed now, without "+
		"losing a call")
	choose(cmd, &f.unit, "print-unit", "print a unit for %s, and end", "systemd", "launchd")
	cmd.MarkFlagsMutuallyExclusive("show-token", "stop", "upgrade", "print-unit")
	complete(cmd, "address", cobra.NoFileCompletions)
	complete(cmd, "drain", cobra.NoFileCompletions)
	return cmd
}

func (g *options) serve(cmd *cobra.Command, f serveFlags) error {
	ctx := cmd.Context()
	g.servedBefore = f.showToken || f.stop || f.upgrade
	switch {
	case f.drain < 0:
		return fmt.Errorf("--drain is %s: give a time that is not negative", f.drain)
	case f.showToken:
		return g.showToken(f)
	case f.stop:
		return g.stopRunning(ctx, f)
	case f.upgrade:
		return g.upgradeRunning(ctx, f)
	}
	program, err := serverPath()
	if err != nil {
		return err
	}
	args := passedOn(cmd.Flags())
	if f.unit != "" {
		return g.printUnit(f.unit, f.profile, program, args)
	}
	c, err := bootstrap.Load(g.bootstrapOptions())
	if err != nil {
		return err
	}
	g.reportNoConfiguration(c.Path, true)
	if err := c.Admit(ctx); err != nil { // here a person can be asked to trust it
		return err
	}
	return replaceProcess(program, args)
}

// serverPath is the program beside this one.
func serverPath() (string, error) {
	name := serverProgram
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path := filepath.Join(bootstrap.ProgramFolder(), name)
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return "", fmt.Errorf("%s was not found beside this program, in %s; toolhost serve needs it. Install both from one "+
			"release, or build both: make build", name, bootstrap.ProgramFolder())
	}
	return path, nil
}

// clientFlags are flags of serve that are not the server's.
var clientFlags = []string{"show-token", "stop", "upgrade", "print-unit", "standalone", "verbose"}

// passedOn are the flags that were given, as arguments.
func passedOn(flags *pflag.FlagSet) (args []string) {
	flags.Visit(func(f *pflag.Flag) {
		if slices.Contains(clientFlags, f.Name) {
			return
		}
		value := f.Value.String()
		if f.Name == "config" || f.Name == "workdir" { // in a unit they are read in another folder
			value, _ = filepath.Abs(value) // fails only where there is no current folder
		}
		args = append(args, "--"+f.Name+"="+value)
	})
	if named := os.Getenv("TOOLHOST_CONFIG"); named != "" && !flags.Changed("config") { // a unit has another environment
		named, _ = filepath.Abs(named)
		args = append(args, "--config="+named)
	}
	return args
}

func (g *options) showToken(f serveFlags) error {
	place, err := g.place(f.profile)
	if err != nil {
		return err
	}
	if err := place.Check(); err != nil {
		return err
	}
	text, err := fsutil.ReadRegular(place.Token(), 1<<10)
	if errors.Is(err, os.ErrNotExist) {
		return errors.New("no host has been served for this configuration, work folder and profile, so there is no token; " +
			"start one: toolhost serve")
	} else if err != nil {
		return err
	}
	fmt.Fprintln(g.out, strings.TrimSpace(string(text)))
	return nil
}

// errNoneRunning is the error of what needs a running host.
var errNoneRunning = &exitError{exitUnavailable, "no host is running for this configuration, work folder and profile"}

// mustRun connects to the running host.
func (g *options) mustRun(ctx context.Context, profile string) (*runningHost, error) {
	r, err := g.connect(ctx, profile)
	if errors.Is(err, local.ErrNotRunning) {
		return nil, errNoneRunning
	}
	return r, err
}

const (
	// stopGrace is how long a host may take to end after its calls: canceled ones, and plugins, have seconds each.
	stopGrace = 30 * time.Second
	// stopPoll is how often a host that stops is looked for.
	stopPoll = 50 * time.Millisecond
)

// stopRunning stops the running host, and waits for its end.
func (g *options) stopRunning(ctx context.Context, f serveFlags) error {
	place, err := g.place(f.profile)
	if err != nil {
		return err
	}
	r, err := g.mustRun(ctx, f.profile)
	if stopping, is := errors.AsType[*stoppingError](err); is { // by another command
		fmt.Fprintf(g.out, "%s\n", stopping)
		return awaitEnd(ctx, place, stopping.PID, f.drain)
	}
	if err != nil {
		return err
	}
	defer r.close()
	reply, err := r.host.Stop(ctx, &apiv1.StopRequest{Drain: durationpb.New(f.drain)})
	if err != nil {
		return remoteError(err)
	}
	calls := fmt.Sprintf("%d calls run", reply.RunningCalls)
	if reply.RunningCalls == 1 {
		calls = "1 call runs"
	}
	fmt.Fprintf(g.out, "process %d stops; %s\n", r.info.Pid, calls)
	return awaitEnd(ctx, place, int(r.info.Pid), f.drain)
}

// awaitEnd waits until a process that stops has ended, and those that had handed over to it: they keep other hosts from
// starting. It fails if they take longer than they may.
func awaitEnd(ctx context.Context, place local.Place, pid int, drain time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, drain+stopGrace)
	defer cancel()
	tick := time.NewTicker(stopPoll)
	defer tick.Stop()
	for {
		h := place.Holder()
		if h == nil || h.PID != pid && h.PID != 0 { // another host has started since
			return nil
		}
		select {
		case <-tick.C:
		case <-limited.Done():
			if ctx.Err() != nil {
				return errInterrupted // the host stops all the same
			}
			if h.PID == 0 {
				return &stoppingError{*h}
			}
			return &exitError{exitUnavailable, fmt.Sprintf("process %d has not ended within %s; end it: kill %d", pid,
				drain+stopGrace, pid)}
		}
	}
}

func (g *options) upgradeRunning(ctx context.Context, f serveFlags) error {
	r, err := g.mustRun(ctx, f.profile)
	if err != nil {
		return err
	}
	defer r.close()
	reply, err := r.host.Upgrade(ctx, &apiv1.UpgradeRequest{})
	if disconnected(err) {
		return errDisconnected // such as of one that another upgrade has replaced
	}
	if err != nil {
		err = remoteError(err)
		if e, is := errors.AsType[*exitError](err); is && e.code == exitUsage { // nothing is wrong with the command
			e.code = exitUnavailable
		}
		return err
	}
	fmt.Fprintf(g.out, "process %d serves in place of %d, which ends after its last call\n", reply.Pid, r.info.Pid)
	return nil
}

// A serviceUnit is a host for the user's own service manager.
type serviceUnit struct {
	name        string // differs for each configuration, work folder and profile
	description string
	command     []string
	workdir     string
}

// printUnit prints a unit of the user's own service manager that serves the configuration in this folder.
func (g *options) printUnit(manager, profile, program string, args []string) error {
	workdir, err := filepath.Abs(g.workdir)
	if err != nil {
		return err
	}
	config, err := g.configKey()
	if err == nil {
		config, err = filepath.Abs(config)
	}
	if err != nil {
		return err
	}
	place, err := local.Find(config, workdir, profile)
	if err != nil {
		return err
	}
	u := serviceUnit{unitName(workdir, place), fmt.Sprintf("toolhost for %s (%s)", workdir, config),
		append([]string{program}, args...), workdir}
	if profile != "" {
		u.description = fmt.Sprintf("toolhost for %s (%s, profile %s)", workdir, config, profile)
	}
	for _, text := range append([]string{u.description}, u.command...) { // a line break would begin another setting
		if strings.ContainsFunc(text, unicode.IsControl) {
			return fmt.Errorf("a unit cannot name %q, which has a control character; rename the file or folder", text)
		}
	}
	if manager == "launchd" {
		return g.printLaunchd(u)
	}
	g.printSystemd(u)
	return nil
}

var notInUnitName = lazy.Regexp(`[^A-Za-z0-9_]+`)

// unitName has the name of the work folder, as far as it fits a unit's name, for people, and the ID of the place.
func unitName(workdir string, place local.Place) string {
	folder := notInUnitName().ReplaceAllString(filepath.Base(workdir), "-")
	folder = strings.Trim(folder[:min(len(folder), maxFolderName)], "-")
	return strings.ReplaceAll("toolhost-"+folder+"-"+place.ID(), "--", "-")
}

const maxFolderName = 32

func (g *options) printSystemd(u serviceUnit) {
	quoted := make([]string, len(u.command))
	for i, word := range u.command {
		quoted[i] = systemdQuoted(word)
	}
	fmt.Fprintf(g.out, `# A unit of the user: save it as ~/.config/systemd/user/%[1]s.service, then
#   systemctl --user daemon-reload
#   systemctl --user enable --now %[1]s
[Unit]
Description=%[2]s

[Service]
Type=notify
NotifyAccess=all
ExecStart=%[3]s
ExecReload=/bin/kill -USR2 $MAINPID
WorkingDirectory=%[4]s
Restart=on-failure
KillMode=mixed
TimeoutStopSec=60

[Install]
WantedBy=default.target
`, u.name, strings.ReplaceAll(u.description, "%", "%%"), strings.Join(quoted, " "),
		strings.ReplaceAll(u.workdir, "%", "%%"))
}

// systemdQuoted is a word of a command line of systemd, which expands % and $ also in quotes.
func systemdQuoted(word string) string {
	word = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$").Replace(word)
	if strings.ContainsAny(word, " \t'\"\\;") || word == "" {
		return `"` + word + `"`
	}
	return word
}

func (g *options) printLaunchd(u serviceUnit) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	var words strings.Builder
	for _, word := range u.command {
		fmt.Fprintf(&words, "\n    <string>%s</string>", xmlText(word))
	}
	fmt.Fprintf(g.out, `<?xml version="1.0" encoding="UTF-8"?>
<!-- Save it as ~/Library/LaunchAgents/%[1]s.plist, then:
     launchctl load -w ~/Library/LaunchAgents/%[1]s.plist -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>%[1]s</string>
  <key>ProgramArguments</key>
  <array>%[2]s
  </array>
  <key>WorkingDirectory</key>
  <string>%[3]s</string>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>AbandonProcessGroup</key>
  <true/>
  <key>ExitTimeOut</key>
  <integer>60</integer>
  <key>StandardErrorPath</key>
  <string>%[4]s</string>
</dict>
</plist>
`, u.name, words.String(), xmlText(u.workdir), xmlText(filepath.Join(home, "Library", "Logs", u.name+".log")))
	return nil
}

func xmlText(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a strings.Builder takes everything
	return out.String()
}
