package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// A fixture is the plugin with a workspace of files.
type fixture struct {
	*sdktest.Plugin
	dir string
}

// start runs the plugin. Files are given as path, content, path, content.
func start(t testing.TB, files ...string) *fixture {
	t.Helper()
	f := &fixture{sdktest.Start(t, newPlugin()), t.TempDir()}
	for i := 0; i < len(files); i += 2 {
		f.put(t, files[i], files[i+1])
	}
	return f
}

func (f *fixture) put(t testing.TB, name, content string) {
	t.Helper()
	path := filepath.Join(f.dir, name)
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(t, os.WriteFile(path, []byte(content), 0o644))
}

// run calls a tool that is to succeed, with arguments as a format.
func (f *fixture) run(t testing.TB, tool, arguments string, a ...any) *sdk.Result {
	t.Helper()
	result := f.RunIn(t, f.dir, tool, fmt.Sprintf(arguments, a...))
	if result.Error != nil {
		t.Fatalf("%s failed: %+v", tool, *result.Error)
	}
	return result
}

// fails calls a tool that is to fail with an error of this name.
func (f *fixture) fails(t testing.TB, name, tool, arguments string, a ...any) *sdk.Error {
	t.Helper()
	result := f.RunIn(t, f.dir, tool, fmt.Sprintf(arguments, a...))
	if result.Error == nil {
		t.Fatalf("%s %s succeeded with %v, want %s", tool, arguments, result.Content, name)
	}
	if result.Error.Name != name {
		t.Fatalf("%s failed with %s (%s), want %s", tool, result.Error.Name, result.Error.Message, name)
	}
	return result.Error
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func structured[T any](t testing.TB, r *sdk.Result) (out T) {
	t.Helper()
	check(t, json.Unmarshal(r.Structured, &out))
	return out
}

func contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not contain %q", text, part)
		}
	}
}

func TestDefinitions(t *testing.T) {
	d, err := start(t).Describe(t.Context())
	check(t, err)
	if d.Name != "readfile" || d.Version != "0.1.0" || len(d.Tools) != 4 {
		t.Fatalf("described as %s %s with %d tools", d.Name, d.Version, len(d.Tools))
	}
	for _, tool := range d.Tools {
		if !*tool.Hints.ReadOnly || !*tool.Hints.Idempotent || *tool.Hints.OpenWorld || tool.Category != "files" || tool.CostTier != sdk.Free {
			t.Errorf("%s: hints %s, category %q, cost tier %q", tool.Name, sdk.Details(tool.Hints), tool.Category, tool.CostTier)
		}
	}
}

// Which paths lead where is tested with package workspace; that both tools ask it, here.
func TestRefusedPaths(t *testing.T) {
	f := start(t, "a.txt", "text", "dir/b.txt", "text")
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	check(t, os.WriteFile(secret, []byte("secret"), 0o644))
	for name, target := range map[string]string{"link": secret, "dirlink": outside, "loop": "loop", "dangling": "nothing"} {
		check(t, os.Symlink(target, filepath.Join(f.dir, name)))
	}
	tests := []struct{ path, read, list string }{ // names of errors
		{"../x", "PathOutsideWorkspace", "PathOutsideWorkspace"},
		{secret, "PathOutsideWorkspace", "PathOutsideWorkspace"},
		{"link", "PathOutsideWorkspace", "PathOutsideWorkspace"},
		{"dirlink/secret", "PathOutsideWorkspace", "PathOutsideWorkspace"},
		{"loop", "LinkLoop", "LinkLoop"},
		{"dangling", "FileNotFound", "FileNotFound"},
		{"a.txt/x", "NotADirectory", "NotADirectory"},
		{"a\x00b", "InvalidPath", "InvalidPath"},
	}
	for _, test := range tests {
		t.Run(test.path, func(t *testing.T) {
			f.fails(t, test.read, "read", "%s", sdk.Details(map[string]string{"path": test.path}))
			f.fails(t, test.list, "list", "%s", sdk.Details(map[string]string{"path": test.path}))
		})
	}
	f.fails(t, "IsADirectory", "read", `{"path":"dir"}`)
	f.fails(t, "InvalidPath", "read", `{"paths":[""]}`)
	f.fails(t, "NotADirectory", "list", `{"path":"a.txt"}`)
	contains(t, f.fails(t, "FileNotFound", "read", `{"path":"dir/a.txt"}`).Suggestion, `Did you mean "dir/b.txt"?`)
}

func TestLinksInside(t *testing.T) {
	f := start(t, "dir/b.txt", "inside")
	check(t, os.Symlink(filepath.Join(f.dir, "dir"), filepath.Join(f.dir, "link")))
	result := f.run(t, "read", `{"path":"link/b.txt"}`)
	if out := structured[readOutput](t, result); result.Content[0].Text != "inside" || out.Path != "link/b.txt" {
		t.Errorf("read %+v, of %s", result.Content, out.Path)
	}
}

func TestNoWorkspace(t *testing.T) {
	f := start(t)
	for _, dir := range []string{"", "relative", filepath.Join(f.dir, "nothing")} {
		for tool, arguments := range map[string]string{"read": `{"path":"a"}`, "list": `{"path":"a"}`, "glob": `{"pattern":"a"}`, "grep": `{"pattern":"a"}`} {
			result := f.RunIn(t, dir, tool, arguments)
			if result.Error == nil || result.Error.Name != "WorkspaceUnavailable" {
				t.Errorf("%s in %q: %+v", tool, dir, result.Error)
			}
		}
	}
}
