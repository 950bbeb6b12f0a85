//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A missing feature has a consequence and a fix; a present one has neither.
func TestExamine(t *testing.T) {
	whole := proctree.Capabilities{Sandbox: true, NoNewPrivs: true, Landlock: 7, Seccomp: true, Namespaces: true}
	for name, c := range map[string]struct {
		machine proctree.Capabilities
		missing string // names
	}{
		"all there": {whole, ""},
		"bare":      {proctree.Capabilities{Sandbox: true}, "no_new_privs landlock seccomp namespaces mounts bubblewrap"},
		"old Landlock": {proctree.Capabilities{Sandbox: true, NoNewPrivs: true, Landlock: 4, Seccomp: true,
			Namespaces: true}, "landlock bubblewrap"},
		"other systems": {proctree.Capabilities{}, "sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			var missing []string
			bubblewrap := ""
			if c.machine == whole {
				bubblewrap = "/usr/bin/bwrap"
			}
			for _, f := range examine(c.machine, bubblewrap) {
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
	path := filepath.Join(t.TempDir(), "config.hcl")
	writeConfig(t, path, "plugin \"a\" {\n command = [\"sh\"]\n sandbox {\n require = \"confined\"\n }\n}\nplugin "+
		"\"b\" {\n command = [\"sh\"]\n}\nplugin \"c\" {\n command = [\"sh\"]\n}\n")
	c, err := bootstrap.Load(bootstrap.Options{Config: path})
	if err != nil {
		t.Fatal(err)
	}
	var d diagnosis
	d.plugins(c.FindOffline(t.Context()), proctree.Capabilities{Sandbox: true, NoNewPrivs: true})
	if exitCode(d.verdict()) != exitUnavailable || d.Plugins[0].Refused == "" || d.Plugins[1].Refused != "" {
		t.Errorf("%+v", d.Plugins)
	}
	var out bytes.Buffer
	g := &options{terminal: &terminal{out: &stdoutWriter{w: &out}, err: io.Discard}}
	d.printTables(g)
	for _, want := range []string{"confined→supervised", `it requires the sandbox level "confined"`, "no Landlock",
		"the same as b\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	d = diagnosis{}
	d.plugins(c.FindOffline(t.Context()), proctree.Capabilities{Sandbox: true, NoNewPrivs: true, Landlock: 6,
		Seccomp: true, Namespaces: true})
	if err := d.verdict(); err != nil {
		t.Error(err)
	}
}

// A plugin or discovery command whose program cannot be run is reported as such.
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
	for _, want := range []string{`(?m)^gone .*nothing.* does not exist$`, `(?m)^other .*, but .* requires ` + other,
		`(?m)^well +\S+ +yes( +cannot change .*)?$`,
		`(?m)^discovery gone .*nothing.* does not exist$`} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("%s is not reported:\n%s", want, &out)
		}
	}
}

// A configuration that cannot be used is reported with its path.
func TestDoctorOfAMistakenConfiguration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.hcl")
	if err := os.WriteFile(path, []byte("plugin \"a\" {\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	code := run([]string{"--config", path, "doctor"}, nil, &out, &out)
	if want := regexp.MustCompile(`configuration +cannot be used: see below +` + regexp.QuoteMeta(path)); code != exitUsage ||
		!want.MatchString(out.String()) || !strings.Contains(out.String(), "config.hcl:1") {
		t.Errorf("exit code %d:\n%s", code, &out)
	}
}

// The status names missing features, also at a level that was reached.
func TestStatusOfLess(t *testing.T) {
	asked := sandbox.Spec{Level: sandbox.Isolated}
	for name, c := range map[string]struct {
		machine proctree.Capabilities
		want    string
	}{
		"less": {proctree.Capabilities{Sandbox: true, NoNewPrivs: true, Seccomp: true, Namespaces: true},
			`plugin "x" runs at the sandbox level "supervised" only: the kernel has no Landlock`},
		"no namespaces": {proctree.Capabilities{Sandbox: true, NoNewPrivs: true, Landlock: 7, Seccomp: true},
			`plugin "x" runs at the sandbox level "supervised" only: there are no process namespaces`},
		"reached": {proctree.Capabilities{Sandbox: true, NoNewPrivs: true, Landlock: 5, Seccomp: true, Namespaces: true},
			`plugin "x" runs at the sandbox level "isolated", but: Landlock is version 5`},
		"all": {proctree.Capabilities{Sandbox: true, NoNewPrivs: true, Landlock: 7, Seccomp: true, Namespaces: true}, ""},
	} {
		got, err := supervise.Options{Workdir: t.TempDir()}.Confine(supervise.Spec{Sandbox: asked}, c.machine)
		if err != nil {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		said := ""
		status := pluginStatus{Status: supervise.Status{Name: "x", Sandbox: &got}}
		for _, line := range missingProtection([]pluginStatus{status}) {
			said += line.Error()
		}
		if (said == "") != (c.want == "") || !strings.HasPrefix(said, c.want) {
			t.Errorf("%s: %q, want %q", name, said, c.want)
		}
	}
}

// Discovery commands are listed like plugins, and so are the programs run to find them, with their wrappers.
func TestDoctorOfDiscovery(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.hcl")
	writeConfig(t, path, `plugin_discovery "plain" {
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
`)
	c, err := bootstrap.Load(bootstrap.Options{Config: path})
	if err != nil {
		t.Fatal(err)
	}
	var d diagnosis
	d.plugins(c.FindOffline(t.Context()), proctree.Capabilities{Sandbox: true, NoNewPrivs: true})
	var out bytes.Buffer
	d.printTables(&options{terminal: &terminal{out: &stdoutWriter{w: &out}, err: io.Discard}})
	for _, want := range []string{`discovery plain +supervised +yes`, `discovery boxed +container \(bwrap\) +yes`,
		`discovery strict +confined→supervised +yes +it requires`} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	if exitCode(d.verdict()) != exitUnavailable {
		t.Error("a requirement that is not met is no failure")
	}
	if got := strings.Join(c.TrustRequest(t.Context()).Runs, "\n"); !strings.Contains(got,
		"discovery boxed: bwrap --unshare-all list all, and every") {
		t.Errorf("what runs: %s", got)
	}
}

func TestDoctorRefusesFormats(t *testing.T) {
	var out bytes.Buffer
	if code := run([]string{"doctor", "--format", "xml"}, nil, &out, &out); code != exitUsage ||
		!strings.Contains(out.String(), "table or json") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}
