//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Were a pipe or a device opened, the search would wait, or read, forever.
func TestSearchSkipsSpecialFiles(t *testing.T) {
	f := start(t, "dir/a", "foo\n", "dir/closed", "foo\n")
	check(t, syscall.Mkfifo(filepath.Join(f.dir, "dir/pipe"), 0o644))
	check(t, os.Chmod(filepath.Join(f.dir, "dir/closed"), 0))
	for name, target := range map[string]string{"zero": "/dev/zero", "up": "..", "loop": "loop", "out": "/etc/passwd"} {
		check(t, os.Symlink(target, filepath.Join(f.dir, "dir", name)))
	}
	for arguments, want := range map[string]string{
		`{"pattern":"foo"}`: "dir/a:1:foo\n[not searched: 1 file that cannot be read]",
		`{"pattern":"."}`:   "dir/a:1:foo\n[not searched: 1 file that cannot be read]",
	} {
		if got := f.run(t, "grep", "%s", arguments).Content[0].Text; got != want {
			t.Errorf("%s: %q", arguments, got)
		}
	}
	if got, want := f.run(t, "glob", `{"pattern":"*","sort":"name"}`).Content[0].Text,
		"dir/a\ndir/closed\ndir/loop\ndir/out\ndir/up\ndir/zero"; got != want {
		t.Errorf("glob gives %q", got)
	}
	f.fails(t, "NotARegularFile", "grep", `{"pattern":"foo","path":"dir/pipe"}`)
	f.fails(t, "PermissionDenied", "grep", `{"pattern":"foo","path":"dir/closed"}`)
	f.fails(t, "PathOutsideWorkspace", "grep", `{"pattern":"foo","path":"dir/out"}`)
}

// Calls run at the same time, give the same, and leave nothing open.
func TestSearchesSideBySide(t *testing.T) {
	f := start(t)
	for i := range 300 {
		f.put(t, fmt.Sprintf("d%d/e%d/f%d", i%7, i%5, i), strings.Repeat("x\n", i%9)+fmt.Sprintf("match %d\n", i))
	}
	want := f.run(t, "grep", `{"pattern":"match [0-9]+","limit":1000}`).Content[0].Text
	before := openFiles(t)
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			if i%4 == 0 {
				f.run(t, "grep", `{"pattern":"match","limit":1}`) // which ends early
			} else if got := f.run(t, "grep", `{"pattern":"match [0-9]+","limit":1000}`).Content[0].Text; got != want {
				t.Errorf("a call finds %d bytes, the first found %d", len(got), len(want))
			}
		})
	}
	group.Wait()
	if after := openFiles(t); after > before {
		t.Errorf("%d files are open, %d were", after, before)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/dev/fd")
	check(t, err)
	return len(open)
}
