package workspace

import (
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (f *fixture) folder(t *testing.T, path string) *Folder {
	t.Helper()
	folder, err := f.find(t, path).Folder()
	check(t, err)
	t.Cleanup(folder.Close)
	return folder
}

func names(t *testing.T, f *Folder, limit int) (out []string, more bool) {
	t.Helper()
	entries, more, err := f.Entries(limit)
	check(t, err)
	for _, e := range entries {
		out = append(out, Kind(e.Type())+" "+e.Name())
	}
	return out, more
}

func TestFolderEntries(t *testing.T) {
	f := start(t, "dir/b", "", "dir/a/x", "", "dir/.c", "")
	f.link(t, map[string]string{"dir/link": "a", "to-dir": "dir"})
	all := []string{"file .c", "dir a", "file b", "symlink link"}
	for _, limit := range []int{0, -1, 4, 9} {
		got, more := names(t, f.folder(t, "to-dir"), limit)
		if diff := cmp.Diff(all, got); diff != "" || more {
			t.Errorf("at most %d, more %v (-want +got):\n%s", limit, more, diff)
		}
	}
	if got, more := names(t, f.folder(t, "dir"), 3); len(got) != 3 || !more {
		t.Errorf("three entries are %v, more %v", got, more)
	}
	check(t, os.Mkdir(f.path("empty"), 0o755))
	for _, limit := range []int{0, 2} {
		if got, more := names(t, f.folder(t, "empty"), limit); got != nil || more {
			t.Errorf("an empty folder has %v, more %v", got, more)
		}
	}
}

func TestFolderOpensSubfolders(t *testing.T) {
	f := start(t, "dir/sub/file", "text")
	sub, err := f.folder(t, "dir").Folder("sub")
	check(t, err)
	t.Cleanup(sub.Close)
	file, info, err := sub.Open("file")
	check(t, err)
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(file)
	if err != nil || string(text) != "text" || info.Size() != 4 || sub.Path != "dir/sub" {
		t.Errorf("%s/file holds %q of %d bytes (%v)", sub.Path, text, info.Size(), err)
	}
	check(t, os.Rename(f.path("dir"), f.path("moved"))) // an open folder stays what it is
	if got, _ := names(t, sub, 0); len(got) != 1 {
		t.Errorf("after a move it holds %v", got)
	}
	if info, err := sub.Lstat("file"); err != nil || info.Size() != 4 {
		t.Errorf("after a move: %v", err)
	}
}

func TestFolderFailures(t *testing.T) {
	out := outside(t)
	f := start(t, "dir/file", "", "dir/sub/x", "", "dir/closed", "", "up", "")
	f.link(t, map[string]string{"dir/out": out, "dir/away": "../up"})
	check(t, os.Chmod(f.path("dir/closed"), 0))
	dir := f.folder(t, "dir")
	for _, name := range []string{"", ".", "..", "../up", "/etc", "sub/x", "a\x00b"} {
		_, err := dir.Folder(name)
		fails(t, err, "InvalidPath")
		_, _, err = dir.Open(name)
		fails(t, err, "InvalidPath")
		_, err = dir.Lstat(name)
		fails(t, err, "InvalidPath")
		_, err = dir.Readlink(name)
		fails(t, err, "InvalidPath")
	}
	for name, want := range map[string]string{"nothing": "FileNotFound", "sub": "IsADirectory",
		"closed": "PermissionDenied", "out": "IOError", "away": "IOError"} {
		_, _, err := dir.Open(name)
		fails(t, err, want)
	}
	for name, want := range map[string]string{"nothing": "FileNotFound", "file": "NotADirectory", "out": "IOError",
		"away": "IOError"} {
		_, err := dir.Folder(name)
		fails(t, err, want)
	}
	for path, want := range map[string]string{"up": "NotADirectory", "nothing": "FileNotFound"} {
		_, err := f.find(t, path).Folder()
		fails(t, err, want)
	}
	if target, err := dir.Readlink("away"); err != nil || target != "../up" {
		t.Errorf("the link leads to %q (%v)", target, err)
	}
}
