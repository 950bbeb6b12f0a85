//go:build unix

package placeholder

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A placeholder is there as long as one of those who hold it, and no folder of the user's goes with it.
func TestPlaceholders(t *testing.T) {
	dir := t.TempDir()
	vscode, idea := filepath.Join(dir, ".vscode"), filepath.Join(dir, ".idea")
	check(t, os.Mkdir(idea, 0o755))
	one, two := t.TempDir(), t.TempDir()
	first, again, other := hold(t, vscode, one), hold(t, vscode, one), hold(t, vscode, two)
	if own := hold(t, idea, one); own != nil {
		t.Error("an empty folder of the user's is taken for ours")
	}
	for i, p := range []*Placeholder{first, other, again} {
		if missing(vscode) {
			t.Errorf("it was gone before release %d", i)
		}
		p.Release()
	}
	if !missing(vscode) || missing(idea) {
		t.Error("it is left, or the user's folder is gone")
	}
	used := hold(t, vscode, one)
	check(t, os.WriteFile(filepath.Join(vscode, "settings.json"), nil, 0o600))
	check(t, os.Chmod(vscode, 0o770|os.ModeSetgid|os.ModeSticky)) // as git does for a shared repository
	used.Release()
	info, err := os.Stat(vscode)
	check(t, err)
	if info.Mode() != os.ModeDir|os.ModeSetgid|0o770 || missing(filepath.Join(vscode, "settings.json")) {
		t.Errorf("a folder that came into use has the mode %s", info.Mode())
	}
}

// Many come and go at once.
func TestPlaceholdersOfMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".git")
	ended := make(chan error, 8)
	for range cap(ended) {
		notes := t.TempDir()
		go func() {
			var err error
			for range 200 {
				p, holdErr := Hold(path, notes)
				if err = errors.Join(err, holdErr); holdErr == nil {
					if missing(path) {
						err = errors.Join(err, errors.New("it is gone while it is held"))
					}
					p.Release()
				}
			}
			ended <- err
		}()
	}
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if !missing(path) {
		t.Error("it is left")
	}
}

// What a dead host has noted is removed, but for what has come into use or is held by another.
func TestRemoveNoted(t *testing.T) {
	dir, dead, alive := t.TempDir(), t.TempDir(), t.TempDir()
	var paths []string
	for _, name := range []string{"left", "used", "held"} {
		path := filepath.Join(dir, name)
		paths = append(paths, path)
		_ = hold(t, path, dead).folder.Close() // as the kernel does for the dead
	}
	check(t, os.WriteFile(filepath.Join(paths[1], "file"), nil, 0o600))
	held := hold(t, paths[2], alive)
	RemoveNoted(dead)
	if !missing(paths[0]) || missing(paths[1]) || missing(paths[2]) {
		t.Error("what is left is there, or what is used or held is gone")
	}
	held.Release()
	if !missing(paths[2]) {
		t.Error("the last who held it left it")
	}
}

func hold(t *testing.T, path, notes string) *Placeholder {
	t.Helper()
	p, err := Hold(path, notes)
	check(t, err)
	return p
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
