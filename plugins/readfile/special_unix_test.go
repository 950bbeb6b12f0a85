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

// Were a pipe opened as files are, the read would wait for a writer forever.
func TestSpecialFilesAreRefused(t *testing.T) {
	f := start(t, "closed.txt", "no user may read this")
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
	if want := "closed.txt 21\nlink -> pipe\npipe (pipe)\nsocket (socket)"; got != want {
		t.Errorf("listed %q, want %q", got, want)
	}
	result := f.RunIn(t, "/dev", "read", `{"path":"zero"}`)
	if result.Error == nil || !strings.Contains(result.Error.Message, "is a device") {
		t.Errorf("reading a device: %+v", result)
	}
}

// Links to what is outside, whatever it is, are refused before it is opened.
func TestLinksOutOfTheWorkspace(t *testing.T) {
	f := start(t)
	for link, target := range map[string]string{"environ": "/proc/self/environ", "zero": "/dev/zero",
		"fd": "/proc/self/fd/0", "root": "/proc/self/root/etc/passwd",
		"dir": "/proc/self/cwd", "dots": "../../../../../../../../etc/passwd"} {
		check(t, os.Symlink(target, filepath.Join(f.dir, link)))
	}
	for _, path := range []string{"environ", "zero", "fd", "root", "dir/go.mod", "dots"} {
		f.fails(t, "PathOutsideWorkspace", "read", `{"path":%q}`, path)
	}
}

// A hard link is the file itself; nothing distinguishes it from one that was made inside. That there are several names
// is reported.
func TestHardLink(t *testing.T) {
	f, outside := start(t), filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(outside, []byte("outside"), 0o600))
	check(t, os.Link(outside, filepath.Join(f.dir, "inside")))
	r := f.run(t, "read", `{"path":"inside"}`)
	if got := r.Content[0].Text; got != "outside" {
		t.Errorf("read %q", got)
	}
	if !strings.Contains(r.Content[1].Text, "the file has 2 names (hard links)") ||
		!strings.Contains(string(r.Structured), `"hard_links":2`) {
		t.Errorf("the second name is not reported: %q, %s", r.Content[1].Text, r.Structured)
	}
}

// The path may lead elsewhere while a file is read; what is read is the file that was opened.
func TestPipeInPlaceOfAFileThatIsRead(t *testing.T) {
	f := start(t, "file", strings.Repeat("inside\n", 100_000))
	p := f.place(t, "file")
	file, err := p.Open()
	check(t, err)
	defer func() { _ = file.Close() }()
	swapped := false
	in := readerFunc(func(b []byte) (int, error) {
		if !swapped {
			swapped = true
			check(t, os.Remove(p.Real()))
			check(t, syscall.Mkfifo(p.Real(), 0o644))
		}
		return file.Read(b)
	})
	d, err := decode(in, 0, textEncoding{})
	check(t, err)
	e := excerpt{window: window{first: 99_999, last: 100_000, bytes: 100, chars: 100}, countRest: true}
	check(t, e.read(d.in))
	if string(e.text) != "inside\ninside\n" || e.total != 100_000 {
		t.Errorf("read %q of %d lines", e.text, e.total)
	}
	f.fails(t, "NotARegularFile", "read", `{"path":"file"}`)
}

// Someone swaps files, links out, pipes and secrets all the time. What is read is the file inside, or nothing.
func TestReadRace(t *testing.T) {
	f := start(t, "a/file", "inside\n", "b/file", "inside\n")
	outside := t.TempDir()
	check(t, os.WriteFile(filepath.Join(outside, "file"), []byte("outside\n"), 0o644))
	done, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- swap(f.dir, outside, done) }()
	read, paths := 0, `{"paths":["a/file","b/file"]}`
	for range 500 {
		r := f.RunIn(t, f.dir, "read", paths)
		got := text(r)
		if r.Error != nil {
			got = r.Error.Message
		}
		if strings.Contains(got, "outside\n[") {
			t.Fatalf("read %q", got)
		}
		read += strings.Count(got, "inside\n[etag")
	}
	close(done)
	if err := <-ended; err != nil || read == 0 {
		t.Errorf("read %d times what may be read, while the changes went as %v", read, err)
	}
}

// swap puts a link out in place of folder a, and a pipe in that of the file in b, and takes them away again.
func swap(dir, outside string, done chan struct{}) error {
	in := func(name string) string { return filepath.Join(dir, name) }
	steps := []func() error{
		func() error { return os.Rename(in("a"), in("away")) },
		func() error { return os.Symlink(outside, in("a")) },
		func() error { return os.Remove(in("a")) },
		func() error { return os.Rename(in("away"), in("a")) },
		func() error { return syscall.Mkfifo(in("pipe"), 0o644) },
		func() error { return os.Rename(in("pipe"), in("b/file")) },
		func() error { return os.Symlink(filepath.Join(outside, "file"), in("link")) },
		func() error { return os.Rename(in("link"), in("b/file")) },
		func() error { return os.WriteFile(in("new"), []byte("inside\n"), 0o644) },
		func() error { return os.Rename(in("new"), in("b/file")) },
	}
	for i := 0; ; i = (i + 1) % len(steps) {
		select {
		case <-done:
			return nil
		default:
		}
		if err := steps[i](); err != nil {
			return err
		}
	}
}
