package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// ours are the plugins that come with toolhost.
var ours = []string{"discover", "edit", "http", "readfile", "shell"}

// trustOwn takes the plugins that come with this very program for what it is itself: they are supervised. All others stay
// confined, and so do these if their sandbox says anything that needs it, or the lock file has them as more, as another
// toolhost that they do not come with has locked them.
func trustOwn(specs []supervise.Spec, lock *lockfile.File) []supervise.Spec {
	folder := programFolder()
	specs = slices.Clone(specs)
	for i, s := range specs {
		locked := lock.Plugin(s.Name)
		if (locked == nil || locked.Level == sandbox.Supervised) && isOwn(s, folder) && s.Sandbox.Level == "" && !asksForMore(s.Sandbox) {
			specs[i].Sandbox.Level = sandbox.Supervised
			if s.InheritEnv == nil && filepath.Base(resolved(programOf(s))) == "toolhost-plugin-discover" {
				specs[i].InheritEnv = new(true) // it runs what the project has written for the user's own shell
			}
		}
	}
	return specs
}

// asksForMore says whether the sandbox means something only from Confined on.
func asksForMore(s sandbox.Spec) bool {
	return s.Require != "" || s.Write != nil || s.Read != nil || len(s.Wrapper) > 0
}

// programFolder is where this program really is, "" if that is not known.
func programFolder() string {
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Dir(resolved(program))
}

// isOwn says whether the plugin's program is one of ours beside this one.
func isOwn(s supervise.Spec, folder string) bool {
	program := resolved(programOf(s))
	if program == "" || folder == "" {
		return false
	}
	return filepath.Dir(program) == folder && slices.ContainsFunc(ours, func(name string) bool {
		return filepath.Base(program) == "toolhost-plugin-"+name
	})
}

// programOf is the file that the plugin runs, "" when there is none.
func programOf(s supervise.Spec) string {
	if len(s.Command) == 0 {
		return ""
	}
	path, err := exec.LookPath(s.Command[0])
	if err != nil || !filepath.IsAbs(path) {
		return ""
	}
	return path
}

// resolved follows links as far as that is possible.
func resolved(path string) string {
	if end, err := filepath.EvalSymlinks(path); err == nil {
		return end
	}
	return path
}
