package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/config"
)

// bootstrapOptions are those of every command. Only at a terminal is a person asked to trust a configuration.
func (g *options) bootstrapOptions() bootstrap.Options {
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
				g.printError(fmt.Errorf("warning: %s", fitLine(n.Err.Error(), 1200)))
			} // commands print the others with their list
		},
	}
}

// asking asks the person at the terminal about calls.
func (g *options) asking(o bootstrap.Options, person io.Reader) bootstrap.Options {
	if person != nil {
		p := newPrompter(g, person)
		o.Approver, o.Input, o.OneQuestion, o.AskTrust = p, p, true, g.askTrust(person)
	}
	return o
}

// open makes a host from the configuration.
func (g *options) open(ctx context.Context, o bootstrap.Options) (*bootstrap.Instance, error) {
	i, err := bootstrap.Open(ctx, o)
	if err != nil && ctx.Err() != nil {
		return nil, errInterrupted
	}
	return i, err
}

// load reads the configuration, which must exist.
func (g *options) load() (*bootstrap.Configuration, error) {
	o := g.bootstrapOptions()
	o.DefaultDir = ""
	return bootstrap.Load(o)
}

func (g *options) close(i *bootstrap.Instance) {
	if err := i.Close(); err != nil {
		g.logger().Error("closing", "error", err)
	}
}

// reportNoConfiguration says once on standard error that no configuration applies to this folder, if path is "":
// in the wrong folder calls would otherwise run without the project's rules and record, and nothing would say so. The
// plugins are those beside this program if beside is true, and the installed ones.
func (g *options) reportNoConfiguration(path string, beside bool) {
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
	fmt.Fprintf(g.err, "toolhost: %s\n", replaceLine(g.hide(text)))
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
