package config

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host/lockfile"
)

func TestReferences(t *testing.T) {
	t.Setenv("TOOLHOST_TEST_KEY", "sk-0123456789")
	c, err := Parse("config.hcl", []byte(`
locals {
  token = "token-0123456789"
  both  = { a = env.TOOLHOST_TEST_KEY, b = 1 }
  flag  = "-v"
}
plugin "p" {
  command = ["/bin/p", local.flag, "--key=${env.TOOLHOST_TEST_KEY}", "plain"]
  config {
    plain = "x"
    key   = env.TOOLHOST_TEST_KEY
    text  = "Bearer ${env.TOOLHOST_TEST_KEY}!"
    list  = ["a", local.token, env("TOOLHOST_TEST_NONE", "default")]
    both  = local.both
    deep  = { in = { key = (local.both.a), n = 1 } }
    server {
      token = local.token
    }
  }
}
`))
	if err != nil {
		t.Fatal(err)
	}
	spec := c.Plugins[0]
	var written any
	if err := json.Unmarshal(spec.Config, &written); err != nil {
		t.Fatal(err)
	}
	want := `{"both":local.both,"deep":{"in":{"key":local.both.a,"n":1}},"key":env.TOOLHOST_TEST_KEY,` +
		`"list":["a",local.token,env("TOOLHOST_TEST_NONE", ` +
		`"default")],"plain":"x","server":{"token":local.token},"text":"Bearer ${env.TOOLHOST_TEST_KEY}!"}`
	if got := spec.ShownConfig(); got != want {
		t.Errorf("shown is\n%s, want\n%s", got, want)
	}
	if diff := cmp.Diff([]string{"/bin/p", "local.flag", "--key=${env.TOOLHOST_TEST_KEY}", "plain"},
		spec.ShownCommand()); diff != "" {
		t.Error(diff)
	}
	// A lock detects that a local has another value, and ignores that a token in the environment was renewed.
	locked := lockfile.New(spec, c.Dir).Args
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("-v")))[:12]
	if diff := cmp.Diff([]string{"local.flag sha256:" + sum, "--key=${env.TOOLHOST_TEST_KEY}", "plain"},
		locked); diff != "" {
		t.Error(diff)
	}
	if spec.Command[2] != "--key=sk-0123456789" {
		t.Errorf("the plugin gets %q", spec.Command)
	}
}

// Where the host runs says nothing about where the commands that it notifies are.
func TestNotifyCommandsStartBesideTheFile(t *testing.T) {
	dir := t.TempDir()
	for command, want := range map[string][]string{
		`["./tell", "./x", "now"]`:  {dir + "/tell", dir + "/x", "now"},
		`["python3", "tell.py"]`:    {"python3", dir + "/tell.py"},
		`["notify-send", "a call"]`: {"notify-send", "a call"},
	} {
		c, err := Parse(filepath.Join(dir, "config.hcl"), fmt.Appendf(nil,
			"approval {\n notify \"n\" {\n command = %s\n }\n}\n", command))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, c.Notify[0].Command); diff != "" {
			t.Errorf("%s: %s", command, diff)
		}
	}
}

// Nothing that a command names is looked up in the work folder.
func TestPathsInCommandsStartBesideTheFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"app/plugin.py", "data/x", "settings.json", "run"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TOOLHOST_TEST_SUB", "app")
	for name, c := range map[string]struct {
		block  string
		want   string // the arguments, with DIR for the folder
		script string
		locked string // "" is as the arguments are written
	}{
		"a script": {`command = ["python3", "app/plugin.py", "run"]`, "DIR/app/plugin.py run",
			"DIR/app/plugin.py", "app/plugin.py run"},
		"one that is not there": {`command = ["node", "gone.js"]`, "DIR/gone.js", "DIR/gone.js", "gone.js"},
		"an absolute one":       {`command = ["sh", "/opt/x"]`, "/opt/x", "/opt/x", "/opt/x"},
		"explicit paths": {`command = ["tool", "./gone", "../up", "--out=./x"]`, "DIR/gone UP/up --out=DIR/x", "",
			"./gone ../up --out=./x"},
		"files that are there": {`command = ["tool", "settings.json", "data/x", "--config=settings.json"]`,
			"DIR/settings.json DIR/data/x --config=DIR/settings.json", "", "settings.json data/x --config=settings.json"},
		"ordinary words": {`command = ["tool", "run", "app", "none.json", "github.com/x/y", "https://x/y", "."]`,
			"run app none.json github.com/x/y https://x/y .", "", "run app none.json github.com/x/y https://x/y ."},
		"from a folder of its own": {"command = [\"sh\", \"plugin.py\", \"./x\"]\ndir = \"app\"", "plugin.py ./x",
			"DIR/app/plugin.py", "plugin.py ./x"},
		"by reference": {`command = ["sh", "${env.TOOLHOST_TEST_SUB}/plugin.py"]`, "DIR/app/plugin.py",
			"DIR/app/plugin.py", "${env.TOOLHOST_TEST_SUB}/plugin.py"},
	} {
		t.Run(name, func(t *testing.T) {
			parsed, err := Parse(filepath.Join(dir, "config.hcl"), []byte("plugin \"p\" {\n"+c.block+"\n}\n"))
			if err != nil {
				t.Fatal(err)
			}
			spec := parsed.Plugins[0]
			place := strings.NewReplacer("DIR", dir, "UP", filepath.Dir(dir))
			if diff := cmp.Diff(strings.Fields(place.Replace(c.want)), spec.Command[1:]); diff != "" {
				t.Error(diff)
			}
			if want := place.Replace(c.script); spec.Script != want {
				t.Errorf("the script is %q, want %q", spec.Script, want)
			}
			if diff := cmp.Diff(strings.Fields(c.locked), lockfile.New(spec, dir).Args); diff != "" {
				t.Errorf("locked: %s", diff)
			}
		})
	}
}

func TestPathsInWrappersStartBesideTheFile(t *testing.T) {
	c, err := Parse("/project/config.hcl",
		[]byte("plugin \"p\" {\n command = [\"x\"]\n sandbox {\n wrapper = [\"w\", \"--seccomp=./f\", \"./g\", \"h\"]\n "+
			"}\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"w", "--seccomp=/project/f", "/project/g", "h"},
		c.Plugins[0].Sandbox.Wrapper); diff != "" {
		t.Error(diff)
	}
}

func TestModulesOfTheWorkFolder(t *testing.T) {
	for command, warned := range map[string]bool{
		`["python3", "-m", "app"]`: true, `["python3", "-u", "-c", "import app"]`: true,
		`["uv", "run", "python", "-m", "app"]`: true,
		`["python3", "-P", "-m", "app"]`:       false, `["python3", "-I", "-m", "app"]`: false,
		`["python3", "app.py", "-m"]`: false, `["tool", "python3", "-m"]`: false,
	} {
		for _, dir := range []string{"", "\ndir = \".\""} {
			c, err := Parse("config.hcl", []byte("plugin \"p\" {\n command = "+command+dir+"\n}\n"))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := len(c.Warnings) > 0, warned && dir == ""; got != want {
				t.Errorf("%s%s: warnings %v, want %s", command, dir, c.Warnings, strconv.FormatBool(want))
			}
		}
	}
}

// Each word of a command by reference says how it is written and what its references come to, but not what is hidden.
func TestWrittenWords(t *testing.T) {
	t.Setenv("TOOLHOST_TEST_DIR", "/no/such/folder")
	t.Setenv("TOOLHOST_TEST_SHORT", "/s")
	t.Setenv("TOOLHOST_TEST_EMPTY", "")
	for item, want := range map[string]string{
		`"/bin/p"`:                         "",
		`"$${workspace}/p"`:                "",
		`"${env.TOOLHOST_TEST_DIR}/p"`:     `"${env.TOOLHOST_TEST_DIR}/p", where env.TOOLHOST_TEST_DIR is from the environment`,
		`"${env.TOOLHOST_TEST_EMPTY}/p"`:   `"${env.TOOLHOST_TEST_EMPTY}/p", where env.TOOLHOST_TEST_EMPTY is empty`,
		`"${env.TOOLHOST_TEST_SHORT}/p"`:   `"${env.TOOLHOST_TEST_SHORT}/p", where env.TOOLHOST_TEST_SHORT is "/s"`,
		`"${local.dir}/${local.name}"`:     `"${local.dir}/${local.name}", where local.dir is "/opt/x" and local.name is "p"`,
		`env("TOOLHOST_TEST_NONE", "./p")`: `env("TOOLHOST_TEST_NONE", "./p")`,
	} {
		c, err := Parse("config.hcl", fmt.Appendf(nil,
			"locals {\n  dir = \"/opt/x\"\n  name = \"p\"\n}\nplugin \"p\" {\n  command = [%s, \"x\"]\n}\n", item))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if written := c.Plugins[0].References.Written; written != nil {
			got = strings.TrimPrefix(written[0], "it is written ")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", item, got, want)
		}
	}
}
