package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each command that writes a file says where that failed and what to do, and leaves no file behind: below a file,
// and where files may have no bytes, which is how a full disk looks to it.
func TestFilesThatCannotBeWritten(t *testing.T) {
	plugin := filepath.Join(bin, "toolhost-plugin-edit")
	settings := `{"mcpServers":{"a":{"command":"true"}}}`
	files := map[string]string{"config.hcl": "plugin \"edit\" { command = [\"" + plugin + "\"] }\n", "file": "x",
		"home/.cursor/mcp.json": settings}
	for name, c := range map[string]struct {
		command string // which writes to its folder
		none    string // which writes below a file, "" if that is found before
		fix     string // in the advice of that
	}{
		"new": {"plugin new abc --lang node", "plugin new abc --lang node --dir file/abc",
			"or name another one with --dir"},
		"check": {"plugin check " + plugin + " --junit x.xml", "plugin check " + plugin + " --junit file/x.xml",
			"or name another file"},
		"add-to": {"mcp add-to cursor --yes", "", ""},
		"import": {"mcp import --from cursor --write --yes", "", ""},
		"key": {"mcp --config config.hcl --log-level warn", "mcp --config config.hcl --log-level warn",
			"or set XDG_STATE_HOME"},
		"gemini": {"discover --config config.hcl --format gemini", "discover --config config.hcl --format gemini",
			"or set XDG_STATE_HOME"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range files {
				to := filepath.Join(dir, name)
				err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, []byte(text), 0o600))
				if err != nil {
					t.Fatal(err)
				}
			}
			before := filesBelow(t, dir)
			run := func(words, state string) string {
				cmd := exec.Command("/bin/sh", "-c", `trap "" XFSZ; `+words+" </dev/null 2>&1 | cat")
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "HOME="+dir+"/home", "XDG_STATE_HOME="+dir+state,
					"XDG_CACHE_HOME=/dev/null")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatal(err)
				}
				if after := filesBelow(t, dir); !slices.Equal(after, before) {
					t.Errorf("%s leaves %q of %q", words, after, before)
				}
				return string(out)
			}
			program := filepath.Join(bin, "toolhost") + " "
			if out := run("ulimit -f 0; "+program+c.command, "/state"); !strings.Contains(out, "file too large") {
				t.Errorf("it was written, or nothing is said:\n%s", out)
			}
			if c.none == "" {
				return
			}
			if out := run(program+c.none, "/file"); !strings.Contains(out, "not a directory. Fix: make ") ||
				!strings.Contains(out, c.fix) {
				t.Errorf("it is not said what to do:\n%s", out)
			}
		})
	}
}

// filesBelow are the files in a folder, but for what marks them as locked.
func filesBelow(t *testing.T, dir string) (out []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".lock") {
			out = append(out, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}
