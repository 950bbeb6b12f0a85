package fsutil

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, text := range []string{"one", "two"} {
		if err := WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q, %v; want %q", got, err, text)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := WriteFile(filepath.Join(dir, "no", "f"), nil, 0o600); !os.IsNotExist(err) {
		t.Errorf("in a folder that does not exist: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(dir, "folder"), nil, 0o600); err == nil {
		t.Error("a folder was replaced")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, TempPrefix+"*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestSymlink(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	for _, target := range []string{"one", "two"} {
		if err := Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(link); err != nil || got != target {
			t.Errorf("%q, %v; want %q", got, err, target)
		}
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := TryLock(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TryLock(path, os.O_RDWR); !errors.Is(err, ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Lock(ctx, path, os.O_RDWR); !errors.Is(err, ErrLocked) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("locked twice: %v", err)
	}
	time.AfterFunc(20*time.Millisecond, func() { _ = first.Close() })
	second, err := Lock(t.Context(), path, os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	_ = second.Close()
	if err := os.Symlink(path, path+"-link"); err != nil {
		t.Fatal(err)
	}
	if _, err := TryLock(path+"-link", os.O_RDWR); err == nil {
		t.Error("a link was followed")
	}
	folder, err := TryLock(filepath.Dir(path), os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	_ = folder.Close()
}
