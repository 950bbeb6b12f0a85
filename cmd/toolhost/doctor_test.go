package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// Whatever is missing has a consequence and a remedy; what is there has neither.
func TestExamine(t *testing.T) {
	whole := sandbox.Means{Stage: true, NoNewPrivs: true, Landlock: 7, Seccomp: true, Namespaces: true, Bubblewrap: "/usr/bin/bwrap"}
	for name, c := range map[string]struct {
		machine sandbox.Means
		missing string // names
	}{
		"all there":     {whole, ""},
		"bare":          {sandbox.Means{Stage: true}, "no_new_privs landlock seccomp namespaces mounts bubblewrap"},
		"old Landlock":  {sandbox.Means{Stage: true, NoNewPrivs: true, Landlock: 4, Seccomp: true, Namespaces: true, Bubblewrap: "x"}, "landlock"},
		"other systems": {sandbox.Means{}, "sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			var missing []string
			for _, f := range examine(c.machine) {
				if f.OK != (f.Consequence == "" && f.Remedy == "") || f.OK == (f.Detail == "") {
					t.Errorf("%+v", f)
				}
				if !f.OK {
					missing = append(missing, f.Name)
				}
			}
			if got := strings.Join(missing, " "); got != c.missing {
				t.Errorf("missing: %q, want %q", got, c.missing)
			}
		})
	}
}

// A plugin that requires what the machine does not have makes the exit code 4.
func TestDoctorOfAnUnmetRequirement(t *testing.T) {
	c, err := config.Parse("config.hcl", []byte("plugin \"a\" {\n command = [\"sh\"]\n sandbox {\n require = \"confined\"\n }\n}\nplugin \"b\" {\n command = [\"sh\"]\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var d diagnosis
	d.plugins(findOffline(t.Context(), c), supervise.Options{}, sandbox.Means{Stage: true, NoNewPrivs: true})
	if exitCode(d.verdict()) != exitUnavailable || d.Plugins[0].Refused == "" || d.Plugins[1].Refused != "" {
		t.Errorf("%+v", d.Plugins)
	}
	var out bytes.Buffer
	g := &globals{terminal: terminal{out: &answer{w: &out}, err: io.Discard}}
	d.printTables(g)
	for _, want := range []string{"confined→supervised", `it requires the sandbox level "confined"`, "no Landlock"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	d = diagnosis{}
	d.plugins(findOffline(t.Context(), c), supervise.Options{}, sandbox.Means{Stage: true, NoNewPrivs: true, Landlock: 6, Seccomp: true, Namespaces: true})
	if err := d.verdict(); err != nil {
		t.Error(err)
	}
}

// A plugin whose program cannot be run does not look as if it could, nor does a discovery command.
func TestDoctorOfPrograms(t *testing.T) {
	const other = "0000000000000000000000000000000000000000000000000000000000000000"
	dir := t.TempDir()
	path := filepath.Join(dir, "config.hcl")
	text := `plugin "gone" {
  command = ["./nothing"]
}
plugin "other" {
  command = ["sh"]
  sha256  = "` + other + `"
}
plugin "well" {
  command = ["sh"]
}
plugin_discovery "gone" {
  command = ["./nothing"]
}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if code := run([]string{"--config", path, "doctor"}, nil, &out, &out); code != exitUnavailable {
		t.Errorf("the exit code is %d", code)
	}
	for _, want := range []string{`(?m)^gone .*nothing.* is not there$`, `(?m)^other .*, but .* asks for ` + other, `(?m)^well +\S+ +yes( +cannot change .*)?$`,
		`(?m)^discovery gone .*nothing.* is not there$`} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("%s is not told:\n%s", want, &out)
		}
	}
}

// A configuration that cannot be used is told with its path.
func TestDoctorOfAMistakenConfiguration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.hcl")
	if err := os.WriteFile(path, []byte("plugin \"a\" {\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	code := run([]string{"--config", path, "doctor"}, nil, &out, &out)
	if want := regexp.MustCompile(`configuration +cannot be used: see below +` + regexp.QuoteMeta(path)); code != 0 || !want.MatchString(out.String()) || !strings.Contains(out.String(), "config.hcl:1") {
		t.Errorf("exit code %d:\n%s", code, &out)
	}
}

// The status says what is missing, also at a level that was reached.
func TestStatusOfLess(t *testing.T) {
	asked := sandbox.Spec{Level: sandbox.Isolated}
	for name, c := range map[string]struct {
		machine sandbox.Means
		want    string
	}{
		"less": {sandbox.Means{Stage: true, NoNewPrivs: true, Seccomp: true, Namespaces: true}, `plugin "x" is kept at the level "supervised" only: the kernel has no Landlock`},
		"no namespaces": {sandbox.Means{Stage: true, NoNewPrivs: true, Landlock: 7, Seccomp: true},
			`plugin "x" is kept at the level "supervised" only: there are no process namespaces`},
		"reached": {sandbox.Means{Stage: true, NoNewPrivs: true, Landlock: 5, Seccomp: true, Namespaces: true}, `plugin "x" is kept at the level "isolated", but: Landlock is version 5`},
		"all":     {sandbox.Means{Stage: true, NoNewPrivs: true, Landlock: 7, Seccomp: true, Namespaces: true}, ""},
	} {
		got, err := supervise.Options{Workdir: t.TempDir()}.Confine(supervise.Spec{Sandbox: asked}, c.machine)
		if err != nil {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		said := ""
		for _, line := range lessThanAsked("x", &got) {
			said += line.Error()
		}
		if (said == "") != (c.want == "") || !strings.HasPrefix(said, c.want) {
			t.Errorf("%s: %q, want %q", name, said, c.want)
		}
	}
}

// Discovery commands are told like plugins, and what runs when they are found, with their wrappers.
func TestDoctorOfDiscovery(t *testing.T) {
	c, err := config.Parse("config.hcl", []byte(`plugin_discovery "plain" {
  command = ["list"]
}
plugin_discovery "boxed" {
  command = ["list", "all"]
  sandbox {
    wrapper = ["bwrap", "--unshare-all"]
  }
}
plugin_discovery "strict" {
  command = ["list"]
  sandbox { require = "confined" }
}
`))
	if err != nil {
		t.Fatal(err)
	}
	var d diagnosis
	d.discovery(c.Discovery, sandbox.Means{Stage: true, NoNewPrivs: true})
	var out bytes.Buffer
	d.printTables(&globals{terminal: terminal{out: &answer{w: &out}, err: io.Discard}})
	for _, want := range []string{`discovery plain +supervised +yes`, `discovery boxed +container \(bwrap\) +yes`, `discovery strict +confined→supervised +yes +it requires`} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	if exitCode(d.verdict()) != exitUnavailable {
		t.Error("a requirement that is not met is no failure")
	}
	if got := strings.Join(whatRuns(t.Context(), c), "\n"); !strings.Contains(got, "discovery boxed: bwrap --unshare-all list all, and every") {
		t.Errorf("what runs: %s", got)
	}
}

// Only plugins of toolhost's own, beside toolhost itself, are trusted like it.
func TestOwnPlugins(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for _, program := range []string{dir + "/toolhost-plugin-edit", dir + "/toolhost-plugin-lint", other + "/toolhost-plugin-edit"} {
		if err := os.WriteFile(program, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(other+"/toolhost-plugin-edit", dir+"/toolhost-plugin-shell"); err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		program string
		own     bool
	}{
		"ours":              {dir + "/toolhost-plugin-edit", true},
		"another name":      {dir + "/toolhost-plugin-lint", false},
		"another folder":    {other + "/toolhost-plugin-edit", false},
		"a link to another": {dir + "/toolhost-plugin-shell", false},
		"not there":         {dir + "/toolhost-plugin-http", false},
		"in PATH":           {"toolhost-plugin-edit", false},
	} {
		if got := isOwn(supervise.Spec{Command: []string{c.program}}, folder); got != c.own {
			t.Errorf("%s: %t, want %t", name, got, c.own)
		}
	}
}

// What was locked as confined, with a toolhost elsewhere, is not refused because this one would loosen it.
func TestOwnPluginsKeepTheLevelOfTheLock(t *testing.T) {
	program := filepath.Join(programFolder(), "toolhost-plugin-edit")
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(program)
	for level, want := range map[sandbox.Level]sandbox.Level{"": sandbox.Supervised, sandbox.Supervised: sandbox.Supervised, sandbox.Confined: ""} {
		var lock *lockfile.File
		if level != "" {
			lock = &lockfile.File{Plugins: []lockfile.Plugin{{Name: "edit", Level: level}}}
		}
		got := trustOwn([]supervise.Spec{{Name: "edit", Command: []string{program}}}, lock)
		if got[0].Sandbox.Level != want {
			t.Errorf("locked as %q: %q, want %q", level, got[0].Sandbox.Level, want)
		}
	}
}

func TestDoctorRefusesFormats(t *testing.T) {
	var out bytes.Buffer
	if code := run([]string{"doctor", "--format", "xml"}, nil, &out, &out); code != exitUsage || !strings.Contains(out.String(), "table or json") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}
