package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/supervise"
)

// reload has the host go on with what the configuration, the rules and the plugins' programs are now, and gives the
// session of it. An error means that nothing has changed, and that this session goes on. What went wrong with single
// plugins is in the failures of the new session; each goes on as it was.
//
// The new rules hold before any plugin changes, and before one that is new can be called.
func (s *session) reload(ctx context.Context, g *globals) (*session, error) {
	next, err := s.readAgain(ctx, g)
	if err != nil {
		return nil, err
	}
	options, shown, err := next.settings(g)
	if err != nil {
		return nil, err
	}
	if next.catalog, err = s.host.Catalog(shown); err != nil {
		return nil, err
	}
	stay := slices.DeleteFunc(slices.Clone(s.processes), func(p *supervise.Process) bool { return !slices.Contains(names(next.specs), p.Name()) })
	if err := s.host.Reload(plugins(stay), options); err != nil {
		return nil, err
	}
	next.failures = s.supervisor.Reload(ctx, next.specs)
	next.processes = s.supervisor.Processes()
	if err := s.host.Reload(plugins(next.processes), options); err != nil {
		return nil, err
	}
	return next, nil
}

// readAgain reads the configuration, and looks for the plugins.
func (s *session) readAgain(ctx context.Context, g *globals) (*session, error) {
	c, err := s.configured(g)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(c.Audit, s.config.Audit) {
		return nil, fmt.Errorf("%s: what is kept as a record has changed, which cannot be while it is written; start again for it", c.Path)
	}
	there := s.opening.found
	if c.Path != "" {
		there = find(ctx, c)
	}
	if ctx.Err() != nil { // what was not found may well be there
		return nil, errInterrupted
	}
	next := &session{opening: s.opening, config: c, found: there, trusted: g.trusts(c), supervisor: s.supervisor, host: s.host, record: s.record}
	next.problems = slices.Clone(there.problems)
	next.specs = s.withLost(wanted(there.specs, s.opening.only), there.problems)
	for _, name := range s.opening.only {
		if !slices.Contains(names(next.specs), name) {
			return nil, fmt.Errorf("%s: there is no plugin %q any more", c.Path, name)
		}
	}
	return next, nil
}

// configured gives the configuration as it is now, if it may be followed.
func (s *session) configured(g *globals) (*config.Config, error) {
	if s.config.Path == "" { // there is none
		return s.config, nil
	}
	c, err := g.loadFile(s.config.Path)
	if err != nil {
		return nil, err
	}
	if c.SHA256 != s.config.SHA256 && !g.trusts(c) {
		return nil, fmt.Errorf("%s has changed, and is not trusted as it is: look at it, and then run `toolhost trust %s`", c.Path, c.Path)
	}
	return c, nil
}

// withLost adds plugins that were there and are not found, if some could not be looked for: a folder that cannot be read
// at the moment ends none.
func (s *session) withLost(specs []supervise.Spec, problems []error) []supervise.Spec {
	if len(problems) == 0 {
		return specs
	}
	for _, old := range s.specs {
		if !slices.Contains(names(specs), old.Name) {
			specs = append(specs, old)
		}
	}
	return specs
}

// watched are the files of which a change calls for a reload: the configuration and its lock file, the rules beside it,
// whether it is trusted, the folders of plugins, and programs.
func (s *session) watched(workdir string) (files []watchedFile) {
	paths := slices.Concat([]string{systemPolicy}, s.config.PluginDirs)
	if s.config.Path != "" {
		paths = append(paths, s.config.Path, filepath.Join(s.config.Dir, lockfile.Name))
	}
	for _, name := range []string{"policy.hcl", "trusted"} {
		if path, err := userFile(name); err == nil {
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		files = append(files, watchedFile{path: path})
	}
	for _, spec := range s.specs {
		files = append(files, filesOf(spec, workdir)...)
	}
	for i, f := range files { // a plugin may be taken out of a folder for good
		files[i].program = f.program && !slices.Contains(s.config.PluginDirs, filepath.Dir(f.path))
	}
	return files
}

// filesOf are the plugin's program and, if that is an interpreter from the PATH, the script that it runs. Other arguments
// may name files that the plugin writes.
func filesOf(spec supervise.Spec, workdir string) []watchedFile {
	absolute := func(path string) string {
		if !filepath.IsAbs(path) {
			path = filepath.Join(cmp.Or(spec.Dir, workdir, "."), path)
		}
		path, _ = filepath.Abs(path) // fails only where there is no current folder
		return path
	}
	program := spec.Command[0]
	if strings.ContainsRune(filepath.ToSlash(program), '/') {
		return []watchedFile{{absolute(program), true}}
	}
	var files []watchedFile
	if found, err := exec.LookPath(program); err == nil {
		files = append(files, watchedFile{absolute(found), true})
	}
	for _, word := range spec.Command[1:] {
		if info, err := os.Stat(absolute(word)); err == nil && info.Mode().IsRegular() {
			return append(files, watchedFile{path: absolute(word)})
		}
	}
	return files
}
