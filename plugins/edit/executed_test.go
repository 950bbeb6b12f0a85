package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// An edit of what others run or follow is asked about, whatever the host thinks of edits.
func TestExecutedFilesAreAskedAbout(t *testing.T) {
	f := start(t, "main.go", "true\n", ".git/hooks/pre-commit", "true\n")
	check(t, os.Symlink(".git/hooks", filepath.Join(f.dir, "inner")))
	for path, asks := range map[string]bool{"main.go": false, ".git/hooks/pre-commit": true, "inner/pre-commit": true} {
		for tool, a := range map[string]args{
			"write":   {"path": path, "content": "new\n", "overwrite": true},
			"replace": {"path": path, "old_string": "true", "new_string": "false"},
			"multi":   {"edits": []args{{"path": path, "old_string": "true", "new_string": "false"}}},
		} {
			p, err := f.Preview(t.Context(), &sdk.Request{CallID: "1", Tool: tool, Arguments: a.json(), Workdir: f.dir})
			check(t, err)
			if asks != (p.Effect == "ask") || asks != strings.Contains(p.Reason, path) {
				t.Errorf("%s %s: effect %q, reason %q", tool, path, p.Effect, p.Reason)
			}
		}
	}
}

// What builds, CI and agents begin with is asked about, unless a rule allows it; of a package.json only what it runs.
func TestEntryPointsAreAskedAbout(t *testing.T) {
	f := start(t, "Makefile", "all:\n", "src/conftest.py", "import a\n", "package.json",
		`{"scripts":{"test":"a"},"dependencies":{}}`, "plain.txt", "a\n", ".envrc", "layout go\n")
	check(t, os.Symlink("Makefile", filepath.Join(f.dir, "notes.md")))
	for _, c := range []struct {
		path, content string
		asks          bool
	}{
		{"Makefile", "all: x\n", true}, {"notes.md", "all: x\n", true}, {"src/conftest.py", "import b\n", true},
		{".github/workflows/ci.yml", "on: push\n", true},
		{".gitlab-ci.yml", "a: b\n", true}, {"AGENTS.md", "Do.\n", true}, {"sub/CLAUDE.md", "Do.\n", true}, {".cursorrules",
			"Do.\n", true}, {"justfile", "a:\n", true},
		{".envrc", "layout python\n", true}, {"new/package.json", `{}`, true}, {"package.json",
			`{"scripts":{"test":"b"},"dependencies":{}}`, true},
		{"package.json", `{"scripts":{"test":"a"},"dependencies":{"x":"1"}}`, false}, {"package.json", `{"scripts"`, true},
		{"plain.txt", "b\n", false}, {"Dockerfile", "FROM a\n", false}, {"src/main_test.go", "package a\n", false},
	} {
		a := args{"path": c.path, "content": c.content, "overwrite": true, "create_dirs": true}
		p, err := f.Preview(t.Context(), &sdk.Request{CallID: "1", Tool: "write", Arguments: a.json(), Workdir: f.dir})
		check(t, err)
		if c.asks != (p.Effect == "ask" && p.UnlessAllowed) || c.asks != strings.Contains(p.Reason, c.path) {
			t.Errorf("%s: effect %q, unless allowed %t, reason %q", c.path, p.Effect, p.UnlessAllowed, p.Reason)
		}
	}
}

// Files whose names leave it open are refused when they hold a secret.
func TestFilesWithSecretsInTheirText(t *testing.T) {
	const secret, plain = `{"api_key":"k3ep-0ut-of-h3re"}`, `{"name":"x"}`
	f := start(t, "config.json", secret, "plain/config.json", plain, ".envrc", "export API_TOKEN=k3ep0ut\n",
		"plain/.envrc", "layout go\n", "dump.bak", "password = hunter2x\n")
	for path, refused := range map[string]bool{"config.json": true, "plain/config.json": false, ".envrc": true,
		"plain/.envrc": false, "dump.bak": true} {
		for _, tool := range []string{"write", "replace"} {
			a := args{"path": path, "content": "{}", "overwrite": true}
			if tool == "replace" {
				a = args{"path": path, "old_string": "nowhere to be found", "new_string": "x"}
			}
			_, err := f.Preview(t.Context(), &sdk.Request{CallID: "1", Tool: tool, Arguments: a.json(), Workdir: f.dir})
			if got := err != nil && strings.Contains(err.Error(), "holds secrets"); got != refused {
				t.Errorf("%s %s: %v", tool, path, err)
			}
			if err != nil && strings.Contains(err.Error(), "k3ep") {
				t.Errorf("%s %s shows the secret: %v", tool, path, err)
			}
		}
	}
}
