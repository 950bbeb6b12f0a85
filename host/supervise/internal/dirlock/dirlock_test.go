//go:build unix

package dirlock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Make returns a folder that is locked, or says what is in the way; it leaves nothing of others' undone.
func TestMake(t *testing.T) {
	for name, c := range map[string]struct {
		before func(dir string) error
		made   bool
		want   error
	}{
		"nothing there":   {func(string) error { return nil }, true, nil},
		"a folder":        {func(dir string) error { return os.Mkdir(dir, 0o700) }, false, nil},
		"a file":          {func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, false, syscall.ENOTDIR},
		"no folder above": {func(dir string) error { return os.Remove(filepath.Dir(dir)) }, false, fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "above", "folder")
			if err := errors.Join(os.Mkdir(filepath.Dir(dir), 0o700), c.before(dir)); err != nil {
				t.Fatal(err)
			}
			f, made, err := Make(dir, 0o700)
			if made != c.made || !errors.Is(err, c.want) {
				t.Fatalf("made %t, %v", made, err)
			}
			if err == nil && !Is(f, dir) {
				t.Error("the file is not the folder")
			}
			_ = f.Close()
		})
	}
}

// A caller that removes a folder is waited for, and who only says so is not forever.
func TestMakeWaits(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	alone := mustMake(t, dir)
	if !Upgrade(alone) {
		t.Fatal("it cannot be had alone")
	}
	if _, _, err := Make(dir, 0o700); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("a folder that another keeps for itself: %v", err)
	}
	waiting := make(chan *os.File)
	go func() {
		f, _, _ := Make(dir, 0o700)
		waiting <- f
	}()
	if err := errors.Join(syscall.Rmdir(dir), alone.Close()); err != nil {
		t.Fatal(err)
	}
	f := <-waiting
	defer f.Close()
	if f == nil || !Is(f, dir) {
		t.Error("it is not the one at the path")
	}
}

func mustMake(t *testing.T, dir string) *os.File {
	t.Helper()
	f, made, err := Make(dir, 0o700)
	if err != nil || !made {
		t.Fatalf("made %t, %v", made, err)
	}
	return f
}
