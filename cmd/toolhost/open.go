package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/sdk"
)

// options are those of every command. Only at a terminal is a person asked to trust a configuration.
func (g *globals) options() bootstrap.Options {
	return bootstrap.Options{
		Config: g.config, TrustNamed: !g.checkTrust, Workdir: g.workdir, DefaultDir: bootstrap.ShippedFolder(),
		Installed: true,
		AskTrust:  g.askTrust(g.prompterAt(false)),
		Logger:    g.logger(),
		OnConfig:  func(c *config.Config) { g.hidden.Add(c.References) },
		Notice: func(n bootstrap.Notice) {
			switch n.Kind {
			case bootstrap.NoticeAnswers:
				g.printError(n.Err)
			case bootstrap.NoticeSandbox:
				g.printError(fmt.Errorf("warning: %s", fit(n.Err.Error(), 1200)))
			} // commands print the others with their list
		},
	}
}

// asking asks the person at the terminal about calls.
func (g *globals) asking(o bootstrap.Options, person io.Reader) bootstrap.Options {
	if person != nil {
		p := newPrompter(g, person)
		o.Approver, o.Input, o.OneQuestion, o.AskTrust = p, p, true, g.askTrust(person)
	}
	return o
}

// open makes a host from the configuration.
func (g *globals) open(ctx context.Context, o bootstrap.Options) (*bootstrap.Instance, error) {
	i, err := bootstrap.Open(ctx, o)
	if err != nil && ctx.Err() != nil {
		return nil, errInterrupted
	}
	return i, err
}

// load reads the configuration, which must exist.
func (g *globals) load() (*bootstrap.Configuration, error) {
	o := g.options()
	o.DefaultDir = ""
	return bootstrap.Load(o)
}

func (g *globals) close(i *bootstrap.Instance) {
	if err := i.Close(); err != nil {
		g.logger().Error("closing", "error", err)
	}
}

// askTrust asks the person at the terminal; nil if there is none.
func (g *globals) askTrust(person io.Reader) func(context.Context, *bootstrap.TrustRequest) (bool, error) {
	if person == nil {
		return nil
	}
	return func(ctx context.Context, r *bootstrap.TrustRequest) (bool, error) {
		p := newPrompter(g, person)
		answered, err := p.open(ctx, "")
		if err != nil {
			return false, err
		}
		defer answered()
		fmt.Fprintf(p.out, "%s was found here, in %s, and is not trusted.\n", oneLine(visible(filepath.Base(r.Path))),
			oneLine(visible(r.Dir)))
		showWhatRuns(p.out, r)
		return p.yes(ctx, "Trust it until it changes? [y/N] ")
	}
}

const (
	maxRuns    = 20  // lines that are shown of what a file would run, and of what it loosens
	maxRunning = 300 // characters of a line
)

// showWhatRuns prints what the configuration would run and write, and what it loosens.
func showWhatRuns(w io.Writer, r *bootstrap.TrustRequest) {
	if len(r.Runs) == 0 {
		fmt.Fprintln(w, "It would run nothing.")
	}
	showLines(w, "It would run, as you:", r.Runs)
	showLines(w, "It would loosen what protects you:", r.Loosens)
}

func showLines(w io.Writer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(w, title)
	for _, l := range lines[:min(len(lines), maxRuns)] {
		fmt.Fprintln(w, "  "+cutText(visible(l), maxRunning))
	}
	if more := len(lines) - maxRuns; more > 0 {
		fmt.Fprintf(w, "  and %d more, see the file\n", more)
	}
}

// cutText makes a text one line of at most n characters, and says how much is left out.
func cutText(text string, n int) string {
	text = oneLine(text)
	length := utf8.RuneCountInString(text)
	if length <= n {
		return text
	}
	return fmt.Sprintf("%s … and %d more characters, see the file", string([]rune(text)[:n]), length-n)
}

// oneLine shows line breaks and tabs as \n and \t.
func oneLine(text string) string { return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(text) }

// printErrors prints problems on standard error.
func (g *globals) printErrors(problems ...error) {
	for _, p := range problems {
		g.printError(p)
	}
}

// notices are the messages of plugins and about the lock file for the operator; only of the named ones, if any is
// named. Problems are those of them for which the exit code is that of something unavailable.
func notices(i *bootstrap.Instance, only ...string) (out, problems []error) {
	out = i.Plugins().Unlocked(only...)
	for _, p := range i.Processes() {
		if len(only) == 0 || slices.Contains(only, p.Name()) {
			own, failed := statusNotices(p.Status())
			out, problems = append(out, own...), append(problems, failed...)
		}
	}
	return out, problems
}

func statusNotices(s supervise.Status) (out, problems []error) {
	for _, n := range s.Notices {
		err := fmt.Errorf("plugin %q: %s", s.Name, n.Text)
		if out = append(out, err); n.Kind == sdk.Problem {
			problems = append(problems, err)
		}
	}
	return out, problems
}

// reportNoConfiguration says once on standard error that no configuration applies to this folder, if path is "":
// in the wrong folder calls would otherwise run without the project's rules and record, and nothing would tell. The
// plugins are those beside this program if beside is true, and the installed ones.
func (g *globals) reportNoConfiguration(path string, beside bool) {
	if path != "" || g.saidNoConfiguration {
		return
	}
	g.saidNoConfiguration = true
	used := "the installed plugins are used"
	if dir := bootstrap.ShippedFolder(); beside && dir != "" {
		used = fmt.Sprintf("the plugins of %s are used", dir)
		if installed, err := bootstrap.PluginFolder(); err == nil && bootstrap.HasPlugins(installed) {
			used = fmt.Sprintf("the plugins of %s and the installed ones are used", dir)
		}
	}
	place := ""
	if dir, err := os.Getwd(); err == nil {
		place = " in " + dir
	}
	text := fmt.Sprintf("there is no configuration%s, so no project's rules apply; %s", place, used)
	if unused := unusedConfiguration(g.workdir); unused != "" {
		text += fmt.Sprintf(" (%s is not used: name it with --config)", unused)
	}
	fmt.Fprintf(g.err, "toolhost: %s\n", cleanLine(g.hide(text)))
}

// unusedConfiguration is the nearest config.hcl of the work folder or of a folder above it or the current one: those
// places are not searched, but a person may expect it. "" if there is none.
func unusedConfiguration(workdir string) string {
	for _, start := range []string{workdir, ""} {
		dir, err := filepath.Abs(start)
		if err != nil {
			continue
		}
		for last := ""; dir != last; last, dir = dir, filepath.Dir(dir) {
			path := filepath.Join(dir, "config.hcl")
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return path
			}
		}
	}
	return ""
}
