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

// A file that decides what runs is another user's if that user owns it or can write to it. Only root can make one.
func TestCheckWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	writeProgram(t, path, nil)
	for _, c := range []struct {
		mode       os.FileMode
		uid, gid   int // -1 leaves it
		trust      Trust
		want, name string
	}{
		{0o644, -1, -1, OurFile, "", "ours"},
		{0o646, -1, -1, OurFile, "other users can write to it. Fix: chmod go-w " + path, "anyone may write"},
		{0o646, -1, -1, NamedFile, "other users can write to it. Fix: chmod go-w " + path, "anyone may write, named"},
		{0o664, -1, 0, OurFile, "", "the owner's private group"},
		{0o664, -1, 0, OurOwnFile, "Fix: chmod go-w " + path, "a private group, of what toolhost writes"},
		{0o664, -1, 0, RootsFile, "Fix: chmod go-w " + path, "a private group, of the machine's"},
		{0o664, -1, 1, OurFile, "other users can write to it. Fix: chmod g-w " + path, "a group of others"},
		{0o644, 12345, -1, OurFile, "its owner is another user, with the id 12345. Fix: chown 0 " + path, "another's"},
		{0o600, 12345, -1, OurOwnFile, "its owner is another user", "another's, of what toolhost writes"},
		{0o600, 12345, -1, RootsFile, "its owner is not root. Fix: chown root " + path, "another's, of the machine's"},
		{0o644, 12345, -1, NamedFile, "", "another's, named"},
		{0o664, 12345, 0, NamedFile, "other users can write to it", "another's, named, with a group"},
	} {
		if os.Geteuid() != 0 && (c.uid >= 0 || c.gid >= 0 || c.trust == RootsFile) {
			continue
		}
		if err := errors.Join(os.Chmod(path, c.mode), chownAsRoot(path, max(c.uid, 0), max(c.gid, 0))); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		err = CheckWriters(path, info, c.trust)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func chownAsRoot(path string, uid, gid int) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, uid, gid)
}

func TestCheckFolderWriters(t *testing.T) {
	dir := t.TempDir()
	for mode, want := range map[os.FileMode]string{0o755: "", 0o700: "", 0o777 | os.ModeSticky: "",
		0o777: "other users can write to it. Fix: chmod go-w " + dir} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if err := CheckFolderWriters(dir); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", mode, err, want)
		}
	}
	if err := CheckFolderWriters(filepath.Join(dir, "none")); err != nil {
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
