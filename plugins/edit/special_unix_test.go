//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
	"testing"
)

func TestSpecialFilesAreRefused(t *testing.T) {
	f := start(t, "closed", "text")
	check(t, syscall.Mkfifo(f.path("pipe"), 0o644))
	check(t, os.Symlink("pipe", f.path("link")))
	check(t, os.Chmod(f.path("closed"), 0o200))
	for path, want := range map[string]string{"pipe": "NotARegularFile", "link": "NotARegularFile",
		"closed": "PermissionDenied"} {
		f.fails(t, want, "replace", args{"path": path, "old_string": "a", "new_string": "b"})
		f.fails(t, want, "write", args{"path": path, "content": "a", "overwrite": true})
	}
	result := f.RunIn(t, "/dev", "write", `{"path":"null","content":"a","overwrite":true}`)
	if result.Error == nil || result.Error.Name != "NotARegularFile" {
		t.Errorf("writing to a device: %+v", result)
	}
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	check(t, err)
	return info.Mode()
}

func TestModeIsKept(t *testing.T) {
	f := start(t, "file", "old text")
	check(t, os.Chmod(f.path("file"), 0o751))
	f.run(t, "replace", args{"path": "file", "old_string": "old", "new_string": "new"})
	f.run(t, "write", args{"path": "file", "content": "newer text", "overwrite": true})
	f.holds(t, "file", "newer text")
	if got := mode(t, f.path("file")); got != 0o751 {
		t.Errorf("the mode became %v", got)
	}
}

func TestSymlinksStay(t *testing.T) {
	f := start(t, "dir/file", "old text\n", "abs/file", "old text\n")
	check(t, os.Symlink("dir/file", f.path("link")))
	check(t, os.Symlink("link", f.path("chain")))
	check(t, os.Symlink(f.path("abs/file"), f.path("absolute")))
	f.run(t, "replace", args{"path": "chain", "old_string": "old", "new_string": "new"})
	f.run(t, "write", args{"path": "absolute", "content": "new text\n", "overwrite": true})
	f.holds(t, "dir/file", "new text\n")
	f.holds(t, "abs/file", "new text\n")
	for _, link := range []string{"link", "chain", "absolute"} {
		if mode(t, f.path(link)).Type() != fs.ModeSymlink {
			t.Errorf("%s is no link any more", link)
		}
	}
}

func TestSeveralFilesKeepTheirAttributes(t *testing.T) {
	f := start(t, "run.sh", "old\n", "dir/private", "old\n")
	check(t, os.Chmod(f.path("run.sh"), 0o755))
	check(t, os.Chmod(f.path("dir/private"), 0o600))
	check(t, os.Symlink("dir/private", f.path("link")))
	f.run(t, "multi", edits(one("run.sh", "old", "new"), one("link", "old", "new")))
	f.holds(t, "dir/private", "new\n")
	if got := [3]fs.FileMode{mode(t, f.path("run.sh")), mode(t, f.path("dir/private")), mode(t,
		f.path("link")).Type()}; got != [3]fs.FileMode{0o755, 0o600, fs.ModeSymlink} {
		t.Errorf("modes are %v", got)
	}
	f.run(t, "undo", args{})
	f.holds(t, "dir/private", "old\n")
	if got := mode(t, f.path("dir/private")); got != 0o600 {
		t.Errorf("after undo the mode is %v", got)
	}
}

// Another name of a file may be outside the workspace, so its content is kept. The model gets a note.
func TestHardLinksPart(t *testing.T) {
	f := start(t, "file", "old\n")
	outside := t.TempDir() + "/other"
	check(t, os.Link(f.path("file"), outside))
	a := args{"path": "file", "old_string": "old", "new_string": "new"}
	contains(t, f.preview(t, "replace", a), "2 names (hard links)")
	contains(t, f.run(t, "replace", a).Content[0].Text, "Note: file had 2 names (hard links)")
	f.holds(t, "file", "new\n")
	if got, err := os.ReadFile(outside); err != nil || string(got) != "old\n" {
		t.Errorf("the other name holds %q (%v)", got, err)
	}
}

// Two names of one file, edited at once, would become two files with a part of the edits each.
func TestHardLinksInOneCall(t *testing.T) {
	f := start(t, "a", "one\ntwo\n")
	check(t, os.Link(f.path("a"), f.path("b")))
	e := f.fails(t, "SameFile", "multi", edits(one("a", "one", "1"), one("b", "two", "2")))
	contains(t, e.Message, `edit 2 of 2 (edits[1]): "a" and "b" are two names of one file`)
	f.holds(t, "a", "one\ntwo\n")
	f.run(t, "multi", edits(one("a", "one", "1"), one("./a", "two", "2")))
	f.holds(t, "a", "1\n2\n")
}
