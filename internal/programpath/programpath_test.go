//go:build unix

package programpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// install makes an executable file.
func install(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func find(t *testing.T, name string, env ...string) *Program {
	t.Helper()
	p, err := Find(name, env)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProgramsOfUsualFolders(t *testing.T) {
	for _, place := range []string{".nvm/versions/node/v22.1.0/bin", ".volta/bin", ".asdf/shims", ".local/bin",
		".local/share/fnm/aliases/default/bin", ".local/share/mise/shims", ".cargo/bin", ".bun/bin", "n/bin", "bin"} {
		home := t.TempDir()
		want := filepath.Join(home, place, "some-tool")
		install(t, want)
		p := find(t, "some-tool", "PATH=/nowhere", "HOME="+home)
		if p.Path != want || !p.Usual {
			t.Errorf("%s: %+v", place, p)
		}
		if !strings.HasPrefix(p.PATH, filepath.Dir(want)+":/nowhere") {
			t.Errorf("%s: it is run with PATH=%s, which does not begin with its folder", place, p.PATH)
		}
	}
}

func TestPATHComesFirst(t *testing.T) {
	home := t.TempDir()
	first := filepath.Join(home, "first")
	install(t, filepath.Join(first, "some-tool"))
	install(t, filepath.Join(home, ".local/bin/some-tool"))
	p := find(t, "some-tool", "PATH=relative:"+first, "HOME="+home)
	if p.Path != filepath.Join(first, "some-tool") || p.Usual {
		t.Errorf("%+v", p)
	}
	if !strings.Contains(p.PATH, filepath.Join(home, ".local/bin")) {
		t.Errorf("PATH=%s does not have the usual folder, where the program may find others", p.PATH)
	}
}

func TestLatestVersionIsTaken(t *testing.T) {
	home := t.TempDir()
	for _, version := range []string{"v9.11.2", "v22.1.0", "v18.20.4", "v22.0.9"} {
		install(t, filepath.Join(home, ".nvm/versions/node", version, "bin/some-tool"))
	}
	if p := find(t, "some-tool", "HOME="+home); !strings.Contains(p.Path, "v22.1.0") {
		t.Error(p.Path)
	}
}

func TestPathsAreNotLookedUp(t *testing.T) {
	if p := find(t, "./x/tool", "PATH=/bin"); p.Path != "./x/tool" {
		t.Errorf("%+v", p)
	}
	if p := find(t, "/opt/x/tool", "PATH=/bin"); p.Path != "/opt/x/tool" || !strings.HasSuffix(p.PATH, ":/opt/x") {
		t.Errorf("%+v", p)
	}
}

func TestErrorListsWhatWasTried(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".local/bin/some-tool")
	install(t, file)
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Find("some-tool", []string{"PATH=/one:/two", "HOME=" + home, "NVM_DIR=/opt/nvm"})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, want := range []string{"some-tool is not found", "PATH (/one, /two)", "~/.volta/bin",
		"/opt/nvm/versions/node/v*/bin", "/opt/homebrew/bin", "~/.local/bin"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
}
