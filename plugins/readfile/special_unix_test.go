//go:build unix

package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Were a pipe opened as files are, the read would wait for a writer for ever.
func TestSpecialFilesAreRefused(t *testing.T) {
	f := start(t, "closed.txt", "nobody may read this")
	check(t, syscall.Mkfifo(filepath.Join(f.dir, "pipe"), 0o644))
	check(t, os.Symlink("pipe", filepath.Join(f.dir, "link")))
	check(t, os.Chmod(filepath.Join(f.dir, "closed.txt"), 0))
	t.Chdir(f.dir) // names of sockets must be short
	lis, err := net.Listen("unix", "socket")
	check(t, err)
	defer func() { _ = lis.Close() }()
	for path, what := range map[string]string{"pipe": "pipe", "link": "pipe", "socket": "socket"} {
		contains(t, f.fails(t, "NotARegularFile", "read", `{"path":%q}`, path).Message, "is a "+what)
	}
	f.fails(t, "NotADirectory", "list", `{"path":"pipe"}`)
	f.fails(t, "PermissionDenied", "read", `{"path":"closed.txt"}`)
	got := f.run(t, "list", `{}`).Content[0].Text
	if want := "closed.txt 20\nlink -> pipe\npipe (pipe)\nsocket (socket)"; got != want {
		t.Errorf("listed %q, want %q", got, want)
	}
	result := f.RunIn(t, "/dev", "read", `{"path":"zero"}`)
	if result.Error == nil || !strings.Contains(result.Error.Message, "is a device") {
		t.Errorf("reading a device: %+v", result)
	}
}
