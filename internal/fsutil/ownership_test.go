package fsutil

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckOwnership(t *testing.T) {
	dir := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	for _, d := range []string{"safe", "open", "open/in", "sticky", "shared"} {
		if err := os.Mkdir(at(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"safe/p", "safe/loose", "open/p", "open/in/p", "sticky/p", "shared/p"} {
		writeProgram(t, at(f), []byte("#!/bin/sh\n"))
	}
	links := map[string]string{"safe/link": "p", "safe/far": at("open", "p"), "safe/near": "../open/in/p",
		"safe/loop": "loop", "sticky/link": at("safe", "p")}
	for name, target := range links {
		if err := os.Symlink(target, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(os.Chmod(at("open"), 0o777), os.Chmod(at("safe", "loose"), 0o757),
		os.Chmod(at("sticky"), 0o777|os.ModeSticky), os.Chmod(at("shared"), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"safe/p": "", "safe/link": "", "sticky/p": "", "sticky/link": "", "shared/p": "",
		"safe/loose": "chmod go-w " + at("safe", "loose"),
		"open/p":     at("open") + " is writable by other users (mode drwxrwxrwx)",
		"open/in/p":  "chmod go-w " + at("open"),
		"safe/far":   "chmod go-w " + at("open"),
		"safe/near":  "chmod go-w " + at("open"),
		"safe/loop":  "more than 40 links",
	} {
		err := CheckOwnership(at(name))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// A group counts as the user's own only when it has his name and no one else is in it.
func TestGroupWritable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p")
	writeProgram(t, path, nil)
	if err := os.Chmod(path, 0o775); err != nil {
		t.Fatal(err)
	}
	own := privateGroup(uint32(os.Geteuid()), uint32(os.Getegid()))
	if err := CheckOwnership(path); (err == nil) != own {
		t.Errorf("the group is the user's own: %t; %v", own, err)
	}
	if os.Chown(path, -1, 1) == nil { // which only root can do, whose own group would pass
		if err := CheckOwnership(path); err == nil || !strings.Contains(err.Error(), "chmod g-w") {
			t.Errorf("a group of others may write: %v", err)
		}
	}
	if !privateGroup(0, 0) {
		t.Error("root's group is not root's")
	}
	if privateGroup(0, 1) || privateGroup(1, 0) || privateGroup(4_000_000_000, 4_000_000_000) {
		t.Error("a group of others is taken for the user's own")
	}
}

// A file of another user is refused to all but that user. Only root can make one.
func TestFilesOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p")
	writeProgram(t, path, nil)
	if os.Geteuid() != 0 {
		if err := trustedUser(uint32(os.Geteuid() + 1)); err {
			t.Error("the next user is taken for this one")
		}
		return
	}
	if err := os.Chown(path, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if err := CheckOwnership(path); err == nil || !strings.Contains(err.Error(), "belongs to the user with id 12345") ||
		!strings.Contains(err.Error(), "chown 0 "+path) {
		t.Error(err)
	}
}

// What makes a folder private is said by what is wrong with it: chmod does not help with one of root.
func TestFoldersThatAreNotPrivate(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	writeProgram(t, file, nil)
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]struct {
		path string
		user int
	}{
		"Fix: chmod 700 " + dir: {dir, os.Geteuid()},
		fmt.Sprintf("id %d. Fix: chown %d %s", os.Geteuid(), os.Geteuid()+1, dir): {dir, os.Geteuid() + 1},
		"Fix: move it away": {file, os.Geteuid()},
	} {
		info, err := os.Lstat(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkPrivate(c.path, info, c.user); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func writeProgram(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
}
