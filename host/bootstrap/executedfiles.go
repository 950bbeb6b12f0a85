package bootstrap

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/commandline"
	"github.com/toolhost/toolhost/internal/fsutil"
)

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

// absolute is a path, which may be relative to a folder, as the system opens it: without the link before it, a ".." is
// that of another folder.
func absolute(dir, path string) string {
	switch {
	case filepath.IsAbs(path):
		return path
	case !strings.Contains(path, ".."):
		return filepath.Join(dir, path)
	}
	return cmp.Or(dir, ".") + string(filepath.Separator) + path
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
