package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "my.hcl", `plugin_dirs = ["bin"]`)
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "bin"); len(c.PluginDirs) != 1 || c.PluginDirs[0] != want {
		t.Errorf("PluginDirs = %q, want %q", c.PluginDirs, want)
	}
	if c.Path != path || c.Dir != dir {
		t.Errorf("Path, Dir = %s, %s, want %s, %s", c.Path, c.Dir, path, dir)
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	dangling := filepath.Join(dir, "link.hcl")
	if err := os.Symlink("nowhere", dangling); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		path, want string
		is         error
	}{
		"nothing there":      {filepath.Join(dir, "no.hcl"), "no.hcl: file does not exist", fs.ErrNotExist},
		"a link to nothing":  {dangling, "is a link to nowhere, where nothing is; make that file", nil},
		"a folder":           {dir, "is a folder; name a file, such as " + filepath.Join(dir, "config.hcl"), nil},
		"a file as a folder": {filepath.Join(write(t, dir, "file", ""), "config.hcl"), "config file", nil},
		"a device":           {os.DevNull, "is not a regular file", nil},
		"too large":          {write(t, dir, "large.hcl", strings.Repeat("# more\n", 20_000)), "larger than 64 KiB", nil},
		"not UTF-8": {write(t, dir, "latin.hcl", "# ok\n# caf\xe9\n"),
			"latin.hcl:2,6: this byte is not UTF-8\n   2 | # caf\uFFFD", nil},
		"UTF-16 without a mark": {write(t, dir, "be.hcl", "\x00p\x00l"),
			"the file is UTF-16, or no text\n  hint: save it as UTF-8", nil},
		"old Mac line ends": {write(t, dir, "cr.hcl", "floor = true\rlock = \"off\"\r"), "of the file end with CR alone",
			nil},
		"UTF-16": {write(t, dir, "wide.hcl", "\xff\xfep\x00"), "the file is UTF-16\n  hint: save it as UTF-8",
			nil},
		"with a mistake": {write(t, dir, "wrong.hcl", "plugin {}"), "wrong.hcl:1,1: this plugin block has no name", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Load(c.path)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v\nwants %q", err, c.want)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("error %v is no %v", err, c.is)
			}
		})
	}
}

// A file that another user owns or can write to is not read. Only root can make one for another user.
func TestLoadFilesOfOthers(t *testing.T) {
	load := func(path string) error { _, err := Load(path); return err }
	named := func(path string) error { _, err := LoadNamed(path); return err }
	rules := func(path string) error { _, err := LoadPolicy(path); return err }
	machine := func(path string) error { _, err := LoadSystemPolicy(path); return err }
	for name, c := range map[string]struct {
		load  func(path string) error
		mode  os.FileMode
		owner int
		want  string
	}{
		"anyone may write": {load, 0o666, 0,
			"nothing runs, because the configuration in PATH cannot be trusted: other users can write to it. Fix: chmod go-w PATH"},
		"anyone may write, named": {named, 0o666, 0, "other users can write to it. Fix: chmod go-w PATH"},
		"rules that anyone may write": {rules, 0o666, 0,
			"nothing runs, because the rules in PATH cannot be trusted: other users can write to it"},
		"of another user":                   {load, 0o600, 12345, "its owner is another user, with the id 12345. Fix: chown 0 PATH"},
		"of another user, named":            {named, 0o600, 12345, ""},
		"rules of another user":             {rules, 0o600, 12345, "its owner is another user"},
		"the machine's, of another user":    {machine, 0o600, 12345, "its owner is not root"},
		"of this user, who alone can write": {load, 0o644, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, t.TempDir(), "config.hcl", "policy \"user\" {\n  rule \"r\" {\n    effect = \"allow\"\n  }\n}\n")
			if err := os.Chmod(path, c.mode); err != nil {
				t.Fatal(err)
			}
			if c.owner != 0 && os.Chown(path, c.owner, -1) != nil {
				t.Skip("only root can make a file of another user")
			}
			err := c.load(path)
			if want := strings.ReplaceAll(c.want, "PATH", path); (err == nil) != (want == "") ||
				err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("error %v\nwants %q", err, want)
			}
		})
	}
}

// The configuration that comes with the project is valid.
func TestOwnConfig(t *testing.T) {
	c, err := Load(filepath.Join("..", "..", "config.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.PluginDirs) == 0 {
		t.Error("no plugin_dirs")
	}
}

// The file is named as the user gave it, or relative to the current folder if that is shorter.
func TestSource(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("sub", 0o755); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(".") // not dir, which may be a symbolic link
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"config.hcl":                             "config.hcl:2",
		filepath.Join("sub", "config.hcl"):       filepath.Join("sub", "config.hcl:2"),
		filepath.Join(here, "config.hcl"):        "config.hcl:2",
		filepath.Join(here, "sub", "config.hcl"): filepath.Join("sub", "config.hcl:2"),
		string(filepath.Separator) + "c.hcl":     string(filepath.Separator) + "c.hcl:2",
	} {
		c, err := Parse(path, []byte("# a plugin\nplugin \"a\" {}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Plugins[0].Source; got != want {
			t.Errorf("%s: Source = %q, want %q", path, got, want)
		}
	}
}

func TestMistake(t *testing.T) {
	_, err := Parse("config.hcl", []byte("\nplugin \"a\" {\n  egaer = true\n}\nplugin \"a\" {}\n"))
	wrong, ok := errors.AsType[*Error](err)
	if !ok || len(wrong.Mistakes) != 2 {
		t.Fatalf("error %v, want an *Error with two mistakes", err)
	}
	m := wrong.Mistakes[0]
	if m.Line != 3 || m.Column != 3 || m.Message != `plugin "a": unknown key "egaer"` ||
		m.Hint != `did you mean "eager"?` {
		t.Errorf("mistake %+v", m)
	}
}

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaults(t *testing.T) {
	c, err := Parse("config.hcl",
		[]byte("max_cost_tier = \"cheap\"\ndefault_timeout = \"30s\"\nmax_result_bytes = 4096\nerror_message_limit = "+
			"500\nmax_concurrency = 64\n"))
	if err != nil {
		t.Fatal(err)
	}
	if h := c.Host; h.MaxCostTier != "cheap" || h.DefaultTimeout != 30*time.Second || h.MaxResultBytes != 4096 ||
		h.ErrorMessageLimit != 500 || h.MaxConcurrency != 64 || h.WithoutFloor {
		t.Errorf("%+v", h)
	}
	for _, wrong := range []string{`max_cost_tier = "dear"`, `default_timeout = "2h"`, `max_result_bytes = 0`,
		`error_message_limit = "long"`, `max_concurrency = 10001`} {
		name, _, _ := strings.Cut(wrong, " ")
		if _, err := Parse("config.hcl", []byte(wrong)); err == nil || !strings.Contains(err.Error(), "config.hcl:1") ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func TestLocate(t *testing.T) {
	c, err := Parse("config.hcl", []byte(`
plugin "block" {
  config {
    shell = "bash"
    server {
      port = 1
    }
    rule { path = "/a" }
    rule {
      path = "/b"
    }
    nested = {
      "a/b" = 1
      list = [
        10,
        { deep = true },
      ]
    }
  }
}

plugin "attribute" {
  eager = true
  config = {
    shell = "bash"
  }
}

plugin "bare" {
}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		plugin, path string
		want         int
	}{
		{"block", "", 3},
		{"block", "shell", 4},
		{"block", "/shell", 4},
		{"block", "server", 5},
		{"block", "server.port", 6},
		{"block", "/server/port", 6},
		{"block", "server.host", 5},
		{"block", "rule[0].path", 8},
		{"block", "/rule/1", 9},
		{"block", "rule.1.path", 10},
		{"block", "/nested/a~1b", 13},
		{"block", "nested.list.0", 15},
		{"block", "/nested/list/1/deep", 16},
		{"block", "/nested/list/1/deep/er", 16},
		{"block", "missing", 3},
		{"attribute", "shell", 25},
		{"attribute", "missing", 24},
		{"bare", "shell", 29},
		{"nobody", "shell", 0},
	} {
		got := 0
		if at, there := c.locate(x.plugin, x.path); there {
			got = at.Start.Line
		}
		if got != x.want {
			t.Errorf("locate(%q, %q) = %d, want %d", x.plugin, x.path, got, x.want)
		}
	}
}
