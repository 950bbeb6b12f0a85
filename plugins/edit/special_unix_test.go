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
	for path, want := range map[string]string{"pipe": "NotARegularFile", "link": "NotARegularFile", "closed": "PermissionDenied"} {
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
