package main

import (
	"path/filepath"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/supervise"
)

// supervising are the options for the supervisor of what was found.
func (g *globals) supervising(f *found) supervise.Options {
	return supervise.Options{Logger: g.logger(), Workdir: g.workdir, CacheDir: definitionsCache(), Protect: protect(f.config), Hide: hide(f.config),
		Reserve: reserve(f.config, f.specs)}
}

// protect are the files and folders by which a plugin that could change them would have its way the next time: what is
// run, what is believed, and what was recorded.
func protect(c *config.Config) []string {
	out := []string{c.Path}
	for _, dir := range c.PluginDirs {
		out = append(out, dir+"/") // what is found in one that it makes would be a plugin
	}
	if c.Audit != nil && c.Audit.Path != "" {
		out = append(out, audit.Files(c.Audit.Path)...)
	}
	return append(out, userFolders()...)
}

// reserve are those files that may not be there yet: the lock, and programs.
func reserve(c *config.Config, specs []supervise.Spec) []string {
	out := []string{filepath.Join(c.Dir, lockfile.Name)}
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
	return out
}

// hide is the record, if there is one: who may read it may lock it, and so hold up every call that is to be recorded.
func hide(c *config.Config) []string {
	if c.Audit == nil {
		return nil
	}
	path, err := auditPath(c.Audit.Path)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil // nothing can be recorded, which calls are told
	}
	return []string{path}
}

// userFolders are those that toolhost has in the user's home.
func userFolders() (dirs []string) {
	for _, in := range []func(name string) (string, error){userFile, cacheFolder} {
		if dir, err := in(""); err == nil {
			dirs = append(dirs, dir)
		}
	}
	for _, name := range []string{"counts", "gemini"} {
		if dir, err := stateFolder(name); err == nil {
			dirs = append(dirs, dir)
		}
	}
	if log, err := defaultAuditPath(); err == nil {
		dirs = append(dirs, audit.Files(log)...)
	}
	return dirs
}
