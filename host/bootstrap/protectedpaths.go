package bootstrap

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/api/local"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/commandline"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// superviseOptions are the supervisor's options for these plugins.
func (p *Plugins) superviseOptions() supervise.Options {
	o := p.options
	definitions, _ := cacheFolder("definitions-cache") // "" when there is none
	return supervise.Options{
		Config: p.Path, Workdir: o.Workdir, CacheDir: definitions,
		Refresh: o.Refresh, Offline: o.Offline,
		ReadOnly: slices.Concat(p.protected(), p.executed(p.Specs)), Masked: p.masked(), Reserved: p.reserved(p.Specs),
		Shared: p.shared(p.Specs),
	}
}

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

// ownPrograms returns this program, and those of toolhost in its folder, if that is in one of these that a plugin may
// write to, such as a project's.
func ownPrograms(writable []string) (files []string) {
	program, err := os.Executable()
	if err != nil {
		return nil
	}
	program = fsutil.Resolved(program)
	folder := filepath.Dir(program)
	if !slices.ContainsFunc(writable, func(dir string) bool { return fsutil.Within(folder, fsutil.Resolved(dir)) }) {
		return nil
	}
	files = []string{program}
	beside, _ := os.ReadDir(folder) // of a folder that cannot be read only the program is known
	for _, e := range beside {
		if strings.HasPrefix(e.Name(), "toolhost") && !e.IsDir() && e.Name() != filepath.Base(program) {
			files = append(files, filepath.Join(folder, e.Name()))
		}
	}
	return files
}

// executed are the files that run beside the programs of plugins, which are reserved: toolhost's own, scripts of
// interpreters, wrappers, commands that are notified, and commands in the configuration of a plugin. A plugin that may
// write to one would have it run where it cannot reach itself.
func (c *Configuration) executed(specs []supervise.Spec) (files []string) {
	workdir, err := filepath.Abs(c.options.Workdir)
	if err != nil {
		workdir = c.Dir // the start of the host fails
	}
	writable := []string{workdir}
	for _, s := range specs {
		writable = append(writable, s.Sandbox.Write...)
		files = append(files, executedBy(workdir, s.Command, s.Sandbox.Wrapper)...)
		files = append(files, executedIn(workdir, s.Config)...)
	}
	for _, d := range c.Discovery {
		files = append(files, executedBy(d.Dir, d.Command)...)
		if d.Sandbox != nil {
			writable = append(writable, d.Sandbox.Write...)
			files = append(files, executedBy(d.Dir, d.Sandbox.Wrapper)...)
		}
	}
	for _, n := range c.Notify {
		files = append(files, executedBy(c.Dir, n.Command)...)
	}
	return append(files, ownPrograms(writable)...)
}

// executedBy are the files that commands run which start in a folder: programs with a path, and scripts.
func executedBy(dir string, commands ...[]string) (files []string) {
	for _, words := range commands {
		if len(words) == 0 {
			continue
		}
		if script := commandline.ScriptAt(words); script > 0 {
			files = append(files, absolute(dir, words[script]))
		}
		program := words[0]
		if fsutil.HasFolder(program) {
			program = absolute(dir, program)
		}
		if filepath.IsAbs(program) {
			files = append(files, program)
		}
		files = append(files, scriptsIn(dir, words[1:])...)
	}
	return files
}

// scriptNames are the extensions of files that are run, also by programs that are no known interpreters, or loaded by
// an option, as in uv run server.py and node --import ./hooks.mjs server.js.
var scriptNames = []string{
	".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".py", ".pyz", ".rb", ".pl", ".pm", ".php", ".lua",
	".jar", ".sh", ".bash", ".zsh", ".fish", ".ps1", ".cmd", ".bat",
}

// scriptsIn are the arguments of a command that name scripts, in the folder that it starts in or one that it names, as
// in uv --directory tools run server.py.
func scriptsIn(dir string, arguments []string) (files []string) {
	folders := []string{dir}
	var scripts []string
	for _, word := range arguments {
		if _, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
			word = value
		}
		if slices.Contains(scriptNames, strings.ToLower(filepath.Ext(word))) {
			scripts = append(scripts, word)
		} else if info, err := os.Stat(absolute(dir, word)); err == nil && info.IsDir() {
			folders = append(folders, absolute(dir, word))
		}
	}
	for _, script := range scripts {
		for _, folder := range folders {
			if path := absolute(folder, script); !slices.Contains(files, path) {
				if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
					files = append(files, path)
				}
			}
		}
	}
	return files
}

// absolute is a path, which may be relative to a folder.
func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// executedIn are the files that commands in the configuration of a plugin run: what is called command, or
// something_command, as a list of words or a text. They start in the work folder, or in the cwd beside them.
func executedIn(workdir string, config json.RawMessage) (files []string) {
	var walk func(name string, value any, dirs []string)
	walk = func(name string, value any, dirs []string) {
		run := func(commands ...[]string) {
			for _, dir := range dirs {
				files = append(files, executedBy(dir, commands...)...)
			}
		}
		switch value := value.(type) {
		case map[string]any:
			if cwd, ok := value["cwd"].(string); ok && cwd != "" {
				dirs = []string{workdir, absolute(workdir, cwd)} // programs with a path are found from the work folder
			}
			for name, value := range value {
				walk(name, value, dirs)
			}
		case string:
			if isCommand(name) {
				run([]string{value}, strings.Fields(value))
			}
		case []any:
			var words []string
			for _, item := range value {
				if word, ok := item.(string); ok {
					words = append(words, word)
				} else {
					walk(name, item, dirs)
				}
			}
			if isCommand(name) {
				run(words)
			}
		}
	}
	var value any
	_ = json.Unmarshal(config, &value) // it was checked, and nothing is in an empty one
	walk("", value, []string{workdir})
	return files
}

func isCommand(name string) bool { return name == "command" || strings.HasSuffix(name, "_command") }

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
