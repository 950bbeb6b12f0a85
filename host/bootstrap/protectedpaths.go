package bootstrap

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/host/api/local"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// protected are the files and folders that no confined plugin may change: programs, trusted files, and records.
func (c *Configuration) protected() []string {
	out := []string{c.Path}
	for _, dir := range c.PluginDirs {
		out = append(out, dir+"/") // a program in a folder that it creates would become a plugin
	}
	if c.Audit != nil && c.Audit.Path != "" {
		out = append(out, audit.Files(c.Audit.Path)...)
		out = append(out, audit.IndexFiles(c.Audit.Path)...)
	}
	return append(out, userFolders()...)
}

// shared are the folders in which links are not the user's alone: that of the configuration, and those that plugins
// may write to.
func (c *Configuration) shared(specs []supervise.Spec) (out []string) {
	if c.Dir != "" {
		out = []string{c.Dir}
	}
	for _, s := range specs {
		out = append(out, s.Sandbox.Write...)
	}
	return out
}

// reserved returns the files that plugins must not create where they are missing: the lock file, and programs.
func (c *Configuration) reserved(specs []supervise.Spec) []string {
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

// masked returns the files that no confined plugin may read: the tokens of running hosts and the key of MCP clients'
// approvals, with which it could approve its own calls, and the record.
func (c *Configuration) masked() (files []string) {
	if folder, err := local.Folder(); err == nil { // otherwise no host runs
		files = fsutil.Glob(folder, "*.token")
	}
	if key, err := StateFolder(mcpKeyName); err == nil {
		if _, err := os.Lstat(key); err == nil {
			files = append(files, key)
		}
	}
	return append(files, c.maskedRecord()...)
}

// maskedRecord returns the record, if there is one: a plugin that can read it can lock it, which blocks every call that
// is recorded. Its index has the same words; it is not created where there is none.
func (c *Configuration) maskedRecord() []string {
	if c.Audit == nil {
		return nil
	}
	path, err := AuditPath(c.Audit.Path, c.Dir)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil // nothing can be recorded, so calls that need the record fail
	}
	return append([]string{path}, slices.DeleteFunc(audit.IndexFiles(path), func(file string) bool {
		_, err := os.Lstat(file)
		return err != nil
	})...)
}

// userFolders returns the folders of toolhost in the user's home.
func userFolders() (dirs []string) {
	for _, in := range []func(name string) (string, error){UserFile, cacheFolder} {
		if dir, err := in(""); err == nil {
			dirs = append(dirs, dir)
		}
	}
	for _, name := range []string{"counts", "gemini", "logs", "mcp", mcpKeyName} {
		if dir, err := StateFolder(name); err == nil {
			dirs = append(dirs, dir)
		}
	}
	if dir, err := PluginFolder(); err == nil {
		dirs = append(dirs, dir)
	}
	if log, err := AuditPath("", ""); err == nil {
		dirs = append(dirs, audit.Files(log)...)
		dirs = append(dirs, audit.IndexFiles(log)...)
	}
	return dirs
}

// Confinement returns a plugin's confinement on a machine, with the protected paths of the first time.
func (p *Plugins) Confinement(spec supervise.Spec, m proctree.Capabilities) (sandbox.Confinement, error) {
	return p.reported().Confine(spec, m)
}
