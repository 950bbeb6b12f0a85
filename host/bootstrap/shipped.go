package bootstrap

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/toolname"
)

// superviseShipped runs the plugins that come with this program at supervised unless their sandbox block says
// otherwise: they are as trusted as the program. All others stay confined, and so do these if their sandbox needs it,
// or if the lock file has them at a higher level, because another toolhost locked them.
func superviseShipped(specs []supervise.Spec, lock *lockfile.File) []supervise.Spec {
	folder := resolvedFolder()
	specs = slices.Clone(specs)
	for i, s := range specs {
		locked, box := lock.Plugin(s.Name), s.Sandbox
		needsConfinement := box.Require != "" || box.Write != nil || box.Read != nil || len(box.Wrapper) > 0
		if (locked == nil || locked.Level == sandbox.Supervised) && isOwn(s, folder) && box.Level == "" &&
			!needsConfinement {
			specs[i].Sandbox.Level = sandbox.Supervised
			if s.InheritEnv == nil && fsutil.ProgramName(fsutil.Resolved(programOf(s))) == toolname.ProgramPrefix+"discover" {
				specs[i].InheritEnv = new(true) // it runs what the project has written for the user's own shell
			}
		}
	}
	return specs
}

// resolvedFolder is the folder of this program, with links resolved, "" if that is not known.
func resolvedFolder() string {
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Dir(fsutil.Resolved(program))
}

// isOwn reports whether the plugin's program is a shipped plugin in the folder of this one.
func isOwn(s supervise.Spec, folder string) bool {
	program := programOf(s)
	if program == "" || folder == "" {
		return false
	}
	if info, err := os.Lstat(program); err != nil || info.Mode().IsRegular() && !hasShippedName(program) {
		return false // avoids resolving links for most plugins
	}
	program = fsutil.Resolved(program)
	return filepath.Dir(program) == folder && hasShippedName(program)
}

// hasShippedName reports whether the program is named like a shipped plugin.
func hasShippedName(program string) bool {
	name, ok := strings.CutPrefix(fsutil.ProgramName(program), toolname.ProgramPrefix)
	return ok && slices.Contains(config.ShippedPlugins, name)
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
