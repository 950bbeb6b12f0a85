package main

import (
	"path/filepath"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/supervise"
)

// supervising are the options for the supervisor of what was found.
func (g *globals) supervising(f *found) supervise.Options {
	return supervise.Options{Logger: g.logger(), Workdir: g.workdir, CacheDir: definitionsCache(), Protect: protect(f.config, f.specs)}
}

// protect are the files and folders by which a plugin that could change them would have its way the next time: what is
// run, what is believed, and what was recorded.
func protect(c *config.Config, specs []supervise.Spec) []string {
	out := []string{c.Path, filepath.Join(c.Dir, config.LockName)}
	for _, dir := range c.PluginDirs {
		out = append(out, dir+"/") // what is found in one that it makes would be a plugin
	}
	for _, s := range specs {
		if len(s.Command) > 0 && filepath.IsAbs(s.Command[0]) {
			out = append(out, s.Command[0])
		}
	}
	for _, d := range c.Discovery {
		if filepath.IsAbs(d.Command[0]) {
			out = append(out, d.Command[0])
		}
	}
	if c.Audit != nil && c.Audit.Path != "" {
		out = append(out, c.Audit.Path, c.Audit.Path+".head")
	}
	return append(out, userFolders()...)
}

// userFolders are those that toolhost has in the user's home.
func userFolders() (dirs []string) {
	for _, in := range []func(name string) (string, error){userFile, cacheFolder} {
		if dir, err := in(""); err == nil {
			dirs = append(dirs, dir)
		}
	}
	if log, err := defaultAuditPath(); err == nil {
		dirs = append(dirs, log, log+".head")
	}
	return dirs
}
