package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/toolname"
)

// Plugins that the user has installed are in a folder of their own, under a lock file of that folder: a program that
// differs from what was installed is not started, and a tool that differs is disabled. Where each came from is its
// Source in the lock.

// installedPlugins returns the folder and its lock; "" and nil if they are not used.
func (c *Configuration) installedPlugins() (folder string, lock *lockfile.File, err error) {
	if !c.options.Installed {
		return "", nil, nil
	}
	if folder, err = PluginFolder(); err != nil {
		return "", nil, nil //nolint:nilerr // without a home folder there are none
	}
	if lock, err = lockfile.Load(filepath.Join(folder, lockfile.Name)); err != nil {
		return "", nil, fmt.Errorf("the installed plugins are left out: %w", fsutil.FolderError(err, folder, otherPlugins))
	}
	return folder, lock, nil
}

// hasInstalled reports whether the options use installed plugins, and there are some: in the lock of their folder, or
// as programs that someone has put there.
func hasInstalled(o Options) bool {
	folder, lock, err := (&Configuration{options: o}).installedPlugins()
	return err != nil || len(lock.Names()) > 0 || folder != "" && HasPlugins(folder)
}

// areInstalled are the plugins whose programs are in the folder and which the configuration's own lock does not have.
func (c *Configuration) areInstalled(specs []supervise.Spec, folder string) map[string]bool {
	out := map[string]bool{}
	for _, s := range specs {
		if folder != "" && len(s.Command) > 0 && filepath.Dir(s.Command[0]) == folder && c.Locked.Plugin(s.Name) == nil {
			out[s.Name] = true
		}
	}
	return out
}

// lockInstalled gives installed plugins the lock of their folder.
func (p *Plugins) lockInstalled(lock *lockfile.File) {
	pins := lock.Pins(lockfile.Require)
	for i, s := range p.Specs {
		if !p.installed[s.Name] {
			continue
		}
		approve := "toolhost plugin upgrade " + s.Name
		if lock.Plugin(s.Name) == nil {
			approve = "toolhost plugin install " + s.Command[0]
		}
		p.Specs[i].Lock, p.Specs[i].Renamed = lock.Program(s.Name, approve), true
		delete(p.unlocked, s.Name)
		if tools := pins[s.Name]; tools != nil && !p.FreeTools[s.Name] {
			if p.pins == nil {
				p.pins = map[string]map[string]string{}
			}
			p.pins[s.Name] = tools
		}
	}
}

// Installed reports whether a plugin is one that the user has installed.
func (p *Plugins) Installed(name string) bool { return p.installed[name] }

// LockEntry is the entry of a plugin in the lock that holds for it; nil if there is none.
func (p *Plugins) LockEntry(name string) *lockfile.Plugin {
	if !p.installed[name] {
		return p.Locked.Plugin(name)
	}
	_, lock, _ := p.installedPlugins()
	return lock.Plugin(name)
}

// An Installation is a program that is going to be installed. Its steps, in order: PlanInstall starts nothing;
// Inspect starts the plugin, in its sandbox, for its tools; Install puts it in place.
type Installation struct {
	*LockPlan
	Plugin *LockedPlugin
	folder string
	file   string // the program, in a folder that is private
}

// OpenPluginFolder returns the installed plugins as those of a configuration, and makes their folder.
func OpenPluginFolder(o Options) (*Plugins, error) {
	folder, err := PluginFolder()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fsutil.FolderError(err, folder, otherPlugins)
	}
	if err := fsutil.CheckOwnership(folder); err != nil {
		return nil, err
	}
	lock, err := lockfile.Load(filepath.Join(folder, lockfile.Name))
	if err != nil {
		return nil, err
	}
	o.Installed, o.Plugins, o.Profile = false, nil, ""
	c := &Configuration{Config: &config.Config{Dir: folder, Locked: lock}, options: o, redactor: &redactor{},
		builtin: true}
	return c.find(context.Background(), nil), nil
}

// PlanInstall examines a program. The file must be in the folder of plugins or below it, where it can be renamed.
func (p *Plugins) PlanInstall(name, file, source, version string) (*Installation, error) {
	if why := supervise.Diagnose(file); why != "" {
		return nil, fmt.Errorf("%s cannot be installed: %s", source, why)
	}
	r := &LockPlan{from: p}
	l := p.planOne(supervise.Spec{Name: name, Command: []string{file}, Source: source}, nil)
	if l.Problem != nil {
		return nil, l.Problem
	}
	l.now.Program, l.now.Source, l.now.Version = "./"+toolname.ProgramPrefix+name, source, version
	l.now.SHA256 = map[string]string{lockfile.Platform(): l.now.SHA256[lockfile.Platform()]}
	r.Plugins = []*LockedPlugin{l}
	return &Installation{LockPlan: r, Plugin: l, folder: p.Dir, file: file}, nil
}

// Entry is the lock entry that is written.
func (i *Installation) Entry() *lockfile.Plugin { return i.Plugin.now }

// Before is the entry of the plugin that is replaced; nil if there is none.
func (i *Installation) Before() *lockfile.Plugin { return i.Plugin.old }

// Unchanged reports whether the program is there already, from the same source, and locked.
func (i *Installation) Unchanged() bool {
	sum, err := fingerprint(i.Path())
	return i.Plugin.old != nil && !i.Plugin.OtherProgram() && i.Plugin.old.Source == i.Plugin.now.Source && err == nil &&
		sum == i.Plugin.now.SHA256[lockfile.Platform()]
}

// Path is where the program goes.
func (i *Installation) Path() string {
	return filepath.Join(i.folder, toolname.ProgramPrefix+i.Plugin.Name)
}

// Install puts the program in the place of an earlier one, and writes the lock. If it fails, both are as before.
// Running plugins keep the program that they were started from.
func (i *Installation) Install() error {
	path, before := i.Path(), i.file+".before"
	switch err := os.Link(path, before); {
	case errors.Is(err, fs.ErrNotExist):
		before = ""
	case err != nil:
		return fmt.Errorf("keeping the program that is there: %w", err)
	default:
		defer func() { _ = os.Remove(before) }()
	}
	if err := os.Rename(i.file, path); err != nil {
		return err
	}
	_, err := i.Write(i.Plugins)
	switch {
	case err == nil:
		return nil
	case before == "":
		return errors.Join(err, os.Remove(path))
	}
	return errors.Join(err, os.Rename(before, path))
}

// HasInstalled reports whether a plugin is in the folder of OpenPluginFolder, or in its lock.
func (p *Plugins) HasInstalled(name string) bool {
	path := filepath.Join(p.Dir, toolname.ProgramPrefix+name)
	_, err := os.Lstat(path)
	return p.Locked.Plugin(name) != nil || err == nil && filepath.Base(path) == toolname.ProgramPrefix+name
}

// Uninstall removes an installed plugin, its lock and what it has kept. Running ones continue.
func (p *Plugins) Uninstall(name string) error {
	if !p.HasInstalled(name) {
		return p.NotInstalled(name)
	}
	path := filepath.Join(p.Dir, toolname.ProgramPrefix+name)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := lockfile.Update(filepath.Join(p.Dir, lockfile.Name), func(f *lockfile.File) error {
		f.Remove(name)
		return nil
	})
	return errors.Join(err, removeState(name))
}

// NotInstalled is the error of a name that no installed plugin has.
func (p *Plugins) NotInstalled(name string) error {
	return fmt.Errorf("no plugin %q is installed%s", name, cmp.Or(textutil.DidYouMean(name, p.Locked.Names()),
		"; `toolhost plugin list` lists those that are"))
}
