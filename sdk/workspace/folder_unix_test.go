//go:build unix

package workspace

import (
	"syscall"
	"testing"
)

// A walk meets whatever is there, also what took a directory's place since it was listed.
func TestFolderNeverWaitsForAPipe(t *testing.T) {
	f := start(t, "dir/file", "")
	check(t, syscall.Mkfifo(f.path("dir/pipe"), 0o644))
	f.link(t, map[string]string{"dir/link": "pipe"})
	dir := f.folder(t, "dir")
	for name, kind := range map[string]string{"pipe": "is a pipe", "link": "is a symlink"} {
		_, _, err := dir.Open(name)
		contains(t, fails(t, err, "NotARegularFile").Message, kind)
		_, err = dir.Folder(name)
		fails(t, err, "NotADirectory")
	}
	if got, _ := names(t, dir, 0); len(got) != 3 || got[2] != "pipe pipe" {
		t.Errorf("the folder has %v", got)
	}
}
