package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// A fixture is the plugin with a workspace of files.
type fixture struct {
	*sdktest.Plugin
	dir string
}

// start runs the plugin. Files are given as path, content, path, content. At the end of the test no temporary file may
// be left.
func start(t testing.TB, files ...string) *fixture {
	t.Helper()
	f := &fixture{sdktest.Start(t, newPlugin()), t.TempDir()}
	for i := 0; i < len(files); i += 2 {
		f.put(t, files[i], files[i+1])
	}
	t.Cleanup(func() { noLeftovers(t, f.dir) })
	return f
}

func noLeftovers(t testing.TB, dir string) {
	t.Helper()
	check(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), ".toolhost-") {
			t.Errorf("%s is left over", path)
		}
		return err
	}))
}

func (f *fixture) path(name string) string { return filepath.Join(f.dir, name) }

func (f *fixture) put(t testing.TB, name, content string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(f.path(name)), 0o755))
	check(t, os.WriteFile(f.path(name), []byte(content), 0o644))
}

// holds checks what a file holds.
func (f *fixture) holds(t testing.TB, name, want string) {
	t.Helper()
	got, err := os.ReadFile(f.path(name))
	if err != nil || string(got) != want {
		t.Errorf("%s holds %.200q (%v), want %.200q", name, got, err, want)
	}
}

// args are the arguments of a call.
type args map[string]any

func (a args) json() json.RawMessage { return sdk.Details(a) }

// run calls a tool that is to succeed.
func (f *fixture) run(t testing.TB, tool string, a args) *sdk.Result {
	t.Helper()
	result := f.RunIn(t, f.dir, tool, string(a.json()))
	if result.Error != nil {
		t.Fatalf("%s failed: %+v", tool, *result.Error)
	}
	return result
}

// fails calls a tool, and its preview, that are to fail with an error of this name.
func (f *fixture) fails(t testing.TB, name, tool string, a args) *sdk.Error {
	t.Helper()
	e := f.RunIn(t, f.dir, tool, string(a.json())).Error
	if e == nil || e.Name != name {
		t.Fatalf("%s of %.200s gave %+v, want %s", tool, a.json(), e, name)
	}
	_, err := f.Preview(t.Context(), &sdk.Request{CallID: t.Name(), Tool: tool, Arguments: a.json(), Workdir: f.dir})
	if diff := cmp.Diff(error(e), err); diff != "" {
		t.Errorf("the preview fails in another way (-call +preview):\n%s", diff)
	}
	if e.Suggestion == "" && !strings.Contains(e.Message, "do not fit") { // the sdk's message is enough
		t.Errorf("%s does not say what to do: %s", name, e.Message)
	}
	return e
}

func (f *fixture) preview(t testing.TB, tool string, a args) string {
	t.Helper()
	p, err := f.Preview(t.Context(), &sdk.Request{CallID: t.Name(), Tool: tool, Arguments: a.json(), Workdir: f.dir})
	check(t, err)
	if len(p.Content) != 1 {
		t.Fatalf("the preview has %d parts", len(p.Content))
	}
	return p.Content[0].Text
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
	if d.Name != "edit" || d.Version != "0.1.0" || len(d.Tools) != 5 {
		t.Fatalf("described as %s %s with %d tools", d.Name, d.Version, len(d.Tools))
	}
	for _, tool := range d.Tools {
		reads := tool.Name == "diff"
		if *tool.Hints.ReadOnly != reads || *tool.Hints.Destructive == reads || tool.Previews == reads ||
			tool.Category != "edit" || tool.CostTier != sdk.Free {
			t.Errorf("%s: hints %s, previews %v, category %q", tool.Name, sdk.Details(tool.Hints), tool.Previews, tool.Category)
		}
	}
}

// Which paths lead where is tested with package workspace; that both tools ask it, here.
func TestRefusedPaths(t *testing.T) {
	f := start(t, "a.txt", "text of some length", "dir/b.txt", "text")
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	check(t, os.WriteFile(secret, []byte("text"), 0o644))
	check(t, os.Symlink(secret, f.path("link")))
	check(t, os.Symlink(outside, f.path("dirlink")))
	check(t, os.Symlink("../nothing", f.path("dangling")))
	tests := []struct{ path, replace, write string }{ // names of errors
		{"../x", "PathOutsideWorkspace", "PathOutsideWorkspace"},
		{secret, "PathOutsideWorkspace", "PathOutsideWorkspace"},
		{"link", "PathOutsideWorkspace", "PathOutsideWorkspace"},
		{"dirlink/new", "PathOutsideWorkspace", "PathOutsideWorkspace"},
		{"dangling", "PathOutsideWorkspace", "PathOutsideWorkspace"},
		{"dir", "IsADirectory", "IsADirectory"},
		{".", "IsADirectory", "IsADirectory"},
		{"", "InvalidPath", "InvalidPath"},
		{"a.txt/x", "NotADirectory", "NotADirectory"},
		{"new/x", "FileNotFound", "ParentNotFound"},
		{"a.txt", "MatchNotFound", "FileExists"},
	}
	for _, test := range tests {
		t.Run(test.path, func(t *testing.T) {
			f.fails(t, test.replace, "replace", args{"path": test.path, "old_string": "not there", "new_string": "x"})
			f.fails(t, test.write, "write", args{"path": test.path, "content": "x"})
		})
	}
	noLeftovers(t, outside)
	if got, err := os.ReadFile(secret); err != nil || string(got) != "text" {
		t.Errorf("the file outside holds %q (%v)", got, err)
	}
	contains(t, f.fails(t, "FileNotFound", "replace", args{"path": "a.tx", "old_string": "a",
		"new_string": "b"}).Suggestion, `Did you mean "a.txt"?`)
	contains(t, f.fails(t, "ParentNotFound", "write", args{"path": "dri/x", "content": ""}).Suggestion,
		"create_dirs=true", `Did you mean "dir"?`)
}
