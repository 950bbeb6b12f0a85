package fsutil

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// A file is written where links lead, also those that lead to nothing yet, but not where placeholders lead.
func TestWritten(t *testing.T) {
	dir := Resolved(t.TempDir())
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Mkdir(at("folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"missing": "folder/file", "chain": "missing", "deep": at("no/such/file"),
		"in": "folder", "placeholder": "/proc/no-such-file", "loop": "loop"} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"file": "file", "folder/x": "folder/x", "missing": "folder/file",
		"chain": "folder/file", "deep": "no/such/file", "in/file": "folder/file", "placeholder": "placeholder",
		"loop": "loop"} {
		if got := Written(at(path)); got != at(want) {
			t.Errorf("%s is written to %s, want %s", path, got, at(want))
		}
	}
}

// What processes that were killed have left is removed, and nothing else: not what is in use or a moment old.
func TestTempDir(t *testing.T) {
	base := t.TempDir()
	used, remove, err := TempDir(base, "toolhost-x-")
	if err != nil {
		t.Fatal(err)
	}
	young, _, err := TempDir(base, "toolhost-x-")
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{used: true, young: true} // is it to be there?
	for name, keep := range map[string]bool{"toolhost-x-killed": false, "toolhost-x-empty": false, "toolhost-x-file": true,
		"toolhost-x-without": true, "toolhost-x-open": true, "toolhost-other": true} {
		path := filepath.Join(base, name)
		left[path] = keep
		if name == "toolhost-x-file" {
			err = os.WriteFile(path, nil, 0o600)
		} else {
			err = os.Mkdir(path, 0o700)
		}
		if name == "toolhost-x-killed" || name == "toolhost-other" {
			err = errors.Join(err, os.WriteFile(filepath.Join(path, tempLock), nil, 0o600))
		}
		if name == "toolhost-x-without" {
			err = errors.Join(err, os.WriteFile(filepath.Join(path, "socket"), nil, 0o600))
		}
		if name == "toolhost-x-open" { // it may be another user's
			err = errors.Join(err, os.Chmod(path, 0o777))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	for path := range left {
		if path != young {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	last, removeLast, err := TempDir(base, "toolhost-x-")
	if err != nil {
		t.Fatal(err)
	}
	left[last] = true
	for path, keep := range left {
		if _, err := os.Lstat(path); (err == nil) != keep {
			t.Errorf("%s is there: %t", path, !keep)
		}
	}
	remove()
	removeLast()
	for _, path := range []string{used, last} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
}

func TestReadRegular(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("four"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadRegular(path, 4); err != nil || string(got) != "four" {
		t.Errorf("%q, %v", got, err)
	}
	for path, limit := range map[string]int64{path: 3, os.DevNull: 4, filepath.Dir(path): 4, path + "x": 4} {
		if got, err := ReadRegular(path, limit); err == nil || got != nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %q, %v", path, got, err)
		}
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
