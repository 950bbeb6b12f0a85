package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/callback"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// Reloaded is the result of a reload.
type Reloaded struct {
	Restarted []string // plugins with a new process
	Failed    []error  // plugins that could not be reloaded; each runs on unchanged
}

// Reload switches to the present configuration, rules, remembered approvals and programs of the plugins. An error means
// that nothing has changed but one thing: approvals that have been revoked no longer hold. The plugins that restart
// names are started again even if they are unchanged; one that is not there is an *UnknownPluginError.
// The new rules apply before any plugin changes, and before a new one can be called.
func (i *Instance) Reload(ctx context.Context, restart ...string) (done Reloaded, err error) {
	i.reloading.Lock()
	defer i.reloading.Unlock()
	i.dropRevoked()
	old := i.current.Load()
	next, err := i.reread(ctx, old)
	if err != nil {
		return done, err
	}
	for _, name := range restart {
		if !slices.ContainsFunc(next.specs, func(s supervise.Spec) bool { return s.Name == name }) {
			return done, next.unknown(name)
		}
	}
	options, shown, err := i.hostOptions(next, true)
	if err != nil {
		return done, err
	}
	if next.catalog, err = i.host.Catalog(shown); err != nil {
		return done, err
	}
	stay := slices.DeleteFunc(slices.Clone(old.processes), func(p *supervise.Process) bool {
		return !slices.ContainsFunc(next.specs, func(s supervise.Spec) bool { return s.Name == p.Name() })
	})
	if err := i.host.Reload(i.plugins(stay), options); err != nil {
		return done, err
	}
	generations := map[string]int{}
	for _, p := range stay {
		generations[p.Name()] = p.Status().Generation
	}
	next.files = next.programs() // before they are started: what changes then is noticed later
	done.Failed = i.supervisor.Reload(ctx, next.specs)
	next.processes = i.supervisor.Processes()
	if err := i.host.Reload(i.plugins(next.processes), options); err != nil {
		return done, err
	}
	i.current.Store(next)
	i.reloadChangedFiles(ctx, old, next, restart, generations, &done)
	i.announce(next)
	return done, nil
}

// reloadChangedFiles reloads the plugins that the supervisor has left unchanged, since it compares the program alone,
// and that were named or run a file, such as a script, that has changed. Generations are those before the reload.
func (i *Instance) reloadChangedFiles(ctx context.Context, old, next *activeConfiguration, restart []string,
	generations map[string]int, done *Reloaded) {
	failed := map[string]bool{}
	for _, err := range done.Failed {
		if e, ok := errors.AsType[*supervise.ReloadError](err); ok {
			failed[e.Plugin] = true
		}
	}
	for _, p := range next.processes {
		name := p.Name()
		if before, stayed := generations[name]; !stayed || p.Status().Generation != before {
			done.Restarted = append(done.Restarted, name)
			continue
		}
		if !slices.Contains(restart, name) && maps.Equal(next.files[name], old.files[name]) {
			continue
		}
		if !failed[name] {
			err := p.Reload(ctx, next.spec(name))
			if err == nil {
				done.Restarted = append(done.Restarted, name)
				continue
			}
			done.Failed = append(done.Failed, err)
		}
		next.files[name] = old.files[name] // so that the next reload tries it again
	}
}

// reread reads the configuration, and finds the plugins.
func (i *Instance) reread(ctx context.Context, old *activeConfiguration) (*activeConfiguration, error) {
	found := old.Plugins
	if !old.builtin {
		c := &Configuration{options: old.options, redactor: i.redactor}
		if err := c.read(old.Path); err != nil {
			return nil, err
		}
		if c.SHA256 != old.SHA256 && !c.Trusted() {
			return nil, fmt.Errorf("%s has changed, and is not trusted any more. Fix: look at it, then run toolhost trust %s",
				c.Path, c.Path)
		}
		if !reflect.DeepEqual(c.Audit, old.Audit) {
			return nil, fmt.Errorf("%s: the audit block has changed, which needs a restart", c.Path)
		}
		found = c.Find(ctx)
	}
	if ctx.Err() != nil { // an interrupted discovery did not find all plugins
		return nil, ctx.Err()
	}
	next := &activeConfiguration{Plugins: found, trusted: found.Trusted(), specs: found.selected(i.options.Plugins)}
	if len(found.Problems) > 0 { // a folder that is temporarily unreadable ends no plugin
		for _, spec := range old.specs {
			if next.spec(spec.Name).Name == "" {
				next.specs = append(next.specs, spec)
			}
		}
	}
	next.noteFiles()
	for _, name := range i.options.Plugins {
		if next.spec(name).Name == "" {
			return nil, fmt.Errorf("%s: there is no plugin %q any more", found.Path, name)
		}
	}
	return next, nil
}

// spec is the spec of a plugin; the zero value if there is none.
func (s *activeConfiguration) spec(name string) supervise.Spec {
	for _, spec := range s.specs {
		if spec.Name == name {
			return spec
		}
	}
	return supervise.Spec{}
}

// Changes returns a channel that receives when a file that a Reload would read has changed and is completely written:
// the configuration, its lock file, the rules beside it, the list of trusted files, remembered approvals, the folders
// of plugins, and programs. A file that has changed since the instance has read it counts. Nothing is sent after
// ctx has ended.
func (i *Instance) Changes(ctx context.Context) <-chan struct{} {
	w := newFileWatch(func() []watchedFile { return i.current.Load().watched() }, i.current.Load().asRead)
	go w.run(ctx)
	return w.changed
}

// Changes returns a channel that receives when what Load would read has changed and is written completely: the
// configuration, or the list of trusted files. A configuration that has changed since it was read counts. Nothing is
// sent after ctx has ended.
func (c *Configuration) Changes(ctx context.Context) <-chan struct{} {
	var files []watchedFile
	if c.Path != "" {
		files = append(files, watchedFile{path: c.Path})
	}
	if path, err := UserFile("trusted"); err == nil {
		files = append(files, watchedFile{path: path})
	}
	w := newFileWatch(func() []watchedFile { return files }, c.asRead)
	go w.run(ctx)
	return w.changed
}

// Watch reloads after each report of Changes until ctx ends, and calls OnToolsChanged for all plugins then. Failures
// are logged, and everything continues unchanged.
func (i *Instance) Watch(ctx context.Context) {
	changes := i.Changes(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-changes:
		}
		done, err := i.Reload(ctx)
		if err := errors.Join(err, errors.Join(done.Failed...)); err != nil && ctx.Err() == nil {
			i.options.Logger.Error("not reloaded", "error", err)
		}
		if changed := i.options.OnToolsChanged; changed != nil {
			callback.Run(i.options.Logger, "bootstrap.Options.OnToolsChanged", func() { changed("") })
		}
	}
}

// watched are the files that a reload reads.
func (s *activeConfiguration) watched() (files []watchedFile) {
	paths := slices.Concat([]string{systemPolicy}, s.PluginDirs)
	if s.Path != "" {
		paths = append(paths, s.Path, filepath.Join(s.Dir, lockfile.Name))
	}
	if folder, err := PluginFolder(); err == nil && s.options.Installed {
		paths = append(paths, folder, filepath.Join(folder, lockfile.Name))
	}
	for _, name := range []string{"policy.hcl", "trusted", "approvals.hcl"} {
		if path, err := UserFile(name); err == nil {
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		files = append(files, watchedFile{path: path})
	}
	for _, spec := range s.specs {
		files = append(files, filesOf(spec, s.options.Workdir)...)
	}
	for i, f := range files { // a plugin may be removed from a folder permanently
		files[i].program = f.program && !slices.Contains(s.PluginDirs, filepath.Dir(f.path))
	}
	return files
}

// noteFiles records the states of the watched files; for the configuration, the state before it was read.
func (s *activeConfiguration) noteFiles() {
	s.asRead = maps.Clone(s.Configuration.asRead)
	if s.asRead == nil {
		s.asRead = map[string]string{}
	}
	for _, f := range s.watched() {
		if _, is := s.asRead[f.path]; !is {
			s.asRead[f.path] = stateOf(f.path)
		}
	}
}

// programs are the states of the files of each plugin.
func (s *activeConfiguration) programs() map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, spec := range s.specs {
		out[spec.Name] = statesOf(filesOf(spec, s.options.Workdir))
	}
	return out
}

// filesOf are the plugin's program and, if that is an interpreter from the PATH, the script that it runs, with the
// files beside the script that it may import. Other arguments may name files that the plugin writes.
func filesOf(spec supervise.Spec, workdir string) []watchedFile {
	here, _ := os.Getwd() // fails only where there is no current folder
	full := func(path string) string { return absolute(here, absolute(cmp.Or(spec.Dir, workdir, "."), path)) }
	program := spec.Command[0]
	if fsutil.HasFolder(program) {
		return append([]watchedFile{{full(program), !spec.Attach}}, siblings(full(program))...)
	}
	var files []watchedFile
	if found, err := exec.LookPath(program); err == nil {
		files = append(files, watchedFile{full(found), true})
	}
	for _, word := range spec.Command[1:] {
		if info, err := os.Stat(full(word)); err == nil && info.Mode().IsRegular() {
			return slices.Concat(files, []watchedFile{{path: full(word)}}, siblings(full(word)))
		}
	}
	return files
}

// maxSiblings is how many files beside a script are watched.
const maxSiblings = 200

// siblings are the other files with the ending of a script, such as .js, in its folder, without hidden ones. A program
// has none.
func siblings(path string) (out []watchedFile) {
	ending := filepath.Ext(path)
	if !slices.Contains(sourceEndings, ending) {
		return nil
	}
	dir, script := filepath.Split(path) // filepath.Dir would lead elsewhere where a .. is behind a link
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		name := e.Name()
		if e.Type().IsRegular() && filepath.Ext(name) == ending && name[0] != '.' && name != script {
			out = append(out, watchedFile{path: dir + name})
		}
	}
	return out[:min(len(out), maxSiblings)]
}

// sourceEndings are those of scripts that import the files beside them.
var sourceEndings = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".rb"}
