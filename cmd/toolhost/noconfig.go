package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/host/bootstrap"
)

// reportNoConfiguration says once on standard error that no configuration applies to this folder: in the wrong folder
// calls would otherwise run without the project's rules and record, and nothing would tell. The plugins are those
// beside this program if beside is true, and the installed ones.
func (g *globals) reportNoConfiguration(beside bool) {
	if g.saidNoConfiguration {
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
	starts := []string{""}
	if workdir != "" {
		starts = []string{workdir, ""}
	}
	for _, start := range starts {
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
