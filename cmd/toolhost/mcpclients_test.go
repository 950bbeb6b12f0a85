//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A person at the terminal sees the change before the client's file is written, and may refuse it.
func TestAddToAsks(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("this test needs tmux, which every distribution has as a package of that name")
	}
	for answer, want := range map[string]string{"n": "exit 3.", "": "exit 3.", "y": "exit 0."} {
		dir := t.TempDir()
		file := filepath.Join(dir, ".cursor", "mcp.json")
		p := openPane(t, dir, "HOME="+dir)
		p.enter(filepath.Join(bin, "toolhost") + " mcp add-to cursor; echo exit $?.")
		p.sees(`"mcpServers": {`)
		p.sees("Write this? [y/N]")
		if _, err := os.Stat(file); err == nil {
			t.Error("the file was written before the answer")
		}
		p.enter(answer)
		p.sees(want)
		if _, err := os.Stat(file); (err == nil) != (answer == "y") {
			t.Errorf("after %q: %v", answer, err)
		}
	}
}

// A file that another program changes while the person thinks is not overwritten.
func TestAddToNoticesChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := readSettings(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"a":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	g := &options{terminal: newTerminal(nil, io.Discard, io.Discard)}
	if err := g.writeSettings(t.Context(), s, []byte("{ }"), "", true, func() {}); err == nil {
		t.Error("it was overwritten")
	}
	if text, _ := os.ReadFile(path); string(text) != `{"a":1}` {
		t.Errorf("it is %s now", text)
	}
	if left, _ := filepath.Glob(path + "?*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
