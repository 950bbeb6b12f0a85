package bootstrap

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/toolname"
)

// A person who is asked to trust a file sees each of its settings that lets more happen, or happen without a question.
func TestTrustShowsWhatIsLoosened(t *testing.T) {
	trusting(t)
	t.Setenv("API_TOKEN", "a-token-of-this-test")
	for name, c := range map[string]struct {
		config string
		want   []string
	}{
		"nothing": {`
approval { mode = "plan" }
policy "project" {
  rule "none" { effect = "deny" }
}
plugin "p" {
  command = ["./p"]
  sandbox { level = "isolated" }
}`, nil},
		"floor": {`floor = false`,
			[]string{"floor: off, so rules may allow commands that destroy the machine, a home folder or a disk"}},
		"mode": {`approval { mode = "auto_edit" }`,
			[]string{"approval: auto_edit, so tools of the category edit run without asking you"}},
		"lock": {`lock = "off"`, []string{"lock: off, so toolhost.lock.hcl does not count"}},
		"rules": {`
policy "project" {
  rule "no" { effect = "deny" }
  rule "all" { effect = "allow" }
}
policy "user" {
  rule "reads" {
    tools     = ["git__*", "gh__*"]
    read_only = true
    effect    = "allow"
  }
  rule "here" {
    when   = caller == "cli"
    effect = "allow"
  }
  rule "commands" {
    tools = ["shell__*"]
    commands { allow = ["make"] }
  }
}
profile "base" {
  mode = "auto_edit"
  rule "mine" {
    tools  = ["a__b"]
    effect = "allow"
  }
}
profile "more" { include = ["base"] }`, []string{"rules: allow calls without asking you: " +
			"reads (git__*, gh__*, under conditions); here (every tool, under conditions); " +
			"commands (some commands of shell__*); all (every tool); " +
			"profile base, mode auto_edit (tools of the category edit); profile base, mine (a__b)"}},
		"roots": {`
root "home" {
  path   = "/root"
  effect = "allow"
}
root "docs" { path = "/docs" }`,
			[]string{"roots: tools may read /root without asking you; tools may read /docs when you agree"}},
		"telemetry": {`
telemetry {
  endpoint = "https://example.org"
  content  = true
  headers  = { x-key = env.API_TOKEN }
}`, []string{"telemetry: sends traces and metrics to https://example.org; traces contain arguments and results; " +
			"sends the headers x-key"}},
		"serving": {`
serve {
  address   = "127.0.0.1:7411"
  hosts     = ["example.org"]
  on_demand = true
  token "ci" {
    value = env.API_TOKEN
    role  = "operator"
  }
}
mcp {
  identity "ada" { token = env.API_TOKEN }
}`, []string{"serve: commands start a host in the background; it can be reached at 127.0.0.1:7411; as example.org; " +
			"who has the token ci is operator", "mcp: who has the token of ada may call tools"}},
		"plugins": {`
plugin_discovery "team" {
  command = ["./list"]
  sandbox {
    level = "confined"
    write = ["/team"]
  }
}
plugin "a" {
  command     = ["./a"]
  may_call    = ["ops__delete", "git__*"]
  trust_hints = true
  pin_tools   = false
}
plugin "b" {
  command     = ["./b"]
  trust_hints = false
  sandbox {
    level          = "supervised"
    new_privileges = true
  }
}`, []string{"discovery team: may write to /team", "plugin a: may call ops__delete, git__*; hints that it passes on " +
			"are believed (trust_hints); its tools may change after they were locked (pin_tools)",
			"plugin b: runs supervised, so it may change whatever you may; may gain privileges, such as by sudo"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.hcl")
			writeConfig(t, path, c.config)
			read, err := Load(Options{Config: path})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, read.TrustRequest(t.Context()).Loosens); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// A path that a link leads elsewhere is shown with where it leads.
func TestTrustShowsWhereLinksLead(t *testing.T) {
	trusting(t)
	project := filepath.Join(fsutil.Resolved(t.TempDir()), "project")
	dir := filepath.Join(t.TempDir(), "linked") // a link on the way to the folder is worth no word
	if err := errors.Join(os.Mkdir(project, 0o700), os.Symlink(project, dir), os.Symlink("/proc", filepath.Join(project, "out")),
		os.Mkdir(filepath.Join(project, "in"), 0o700)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.hcl")
	writeConfig(t, path, `
plugin "a" {
  command = ["./a"]
  sandbox { write = ["./in", "./out"] }
}
audit { path = "out/audit.jsonl" }
`)
	read, err := Load(Options{Config: path})
	if err != nil {
		t.Fatal(err)
	}
	r := read.TrustRequest(t.Context())
	want := fmt.Sprintf("plugin a: may write to %s/in, %[1]s/out (links lead it to /proc)", dir)
	if got := strings.Join(r.Loosens, "\n"); got != want {
		t.Errorf("it would loosen:\n%s\nwant:\n%s", got, want)
	}
	want = fmt.Sprintf("record: writes to %s/out/audit.jsonl (links lead it to /proc/audit.jsonl)", dir)
	if got := r.Runs[len(r.Runs)-1]; got != want {
		t.Errorf("it would run %s, want %s", got, want)
	}
}

// Installed plugins would run under the rules of the file, and with what it sets for them.
func TestTrustShowsInstalledPlugins(t *testing.T) {
	trusting(t)
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	folder, err := PluginFolder()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"git", "web"} {
		if err := os.WriteFile(filepath.Join(folder, toolname.ProgramPrefix+name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "config.hcl")
	writeConfig(t, path, "plugin \"git\" {\n  env = { GIT_EDITOR = \"./evil\" }\n}\n")
	read, err := Load(Options{Config: path, Installed: true})
	if err != nil {
		t.Fatal(err)
	}
	runs := strings.Join(read.TrustRequest(t.Context()).Runs, "\n")
	want := "plugin git: " + filepath.Join(folder, toolname.ProgramPrefix+"git") + ", with GIT_EDITOR in its environment\n" +
		"installed plugins, under its rules: git, web"
	if runs != want {
		t.Errorf("it would run:\n%s\nwant:\n%s", runs, want)
	}
}
