package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk/workspace"
)

func TestEtag(t *testing.T) {
	f := start(t)
	for _, content := range []string{"", "a", "a\r\nb", "\xEF\xBB\xBFa\n", "\xFF\xFEa\x00", "gr\xFCn", numberedLines(500_000)} {
		f.put(t, "file", content)
		for _, arguments := range []string{`{"path":"file"}`, `{"path":"file","end_line":1}`, `{"path":"file","max_bytes":1}`, `{"path":"file","tail":1}`} {
			if got := structured[readOutput](t, f.run(t, "read", "%s", arguments)).Etag; got != workspace.Etag([]byte(content)) {
				t.Errorf("%s gives the etag %q for %.20q", arguments, got, content)
			}
		}
	}
}

func TestNoEtagOfAPart(t *testing.T) {
	f := start(t)
	sparse(t, f, "huge", "a\n"+strings.Repeat(" ", sniffed), countUpTo+1)
	r := f.run(t, "read", `{"path":"huge","end_line":1}`)
	if out := structured[readOutput](t, r); out.Etag != "" || out.TotalLines != nil || strings.Contains(text(r), "etag") {
		t.Errorf("read %q, %s", text(r), r.Structured)
	}
}

// A file that grows while it is read ends where it ended at first.
func TestSourceEndsWhereTheFileDid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	check(t, os.WriteFile(path, []byte("first\n"), 0o644))
	f, err := os.Open(path)
	check(t, err)
	defer func() { _ = f.Close() }()
	s := newSource(t.Context(), f, 6)
	check(t, os.WriteFile(path, []byte("first\nsecond\n"), 0o644))
	data, err := io.ReadAll(s)
	if err != nil || string(data) != "first\n" || s.etag() != workspace.Etag(data) {
		t.Errorf("read %q (%v), etag %s", data, err, s.etag())
	}
}

// A read that waits, as some files of the system do, ends with the call.
func TestEndOfTheCallWakesAReadThatWaits(t *testing.T) {
	in, out, err := os.Pipe()
	check(t, err)
	defer func() { _ = out.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	defer closeWith(ctx, in)()
	s, ended := newSource(ctx, in, 0), make(chan error, 1)
	go func() {
		_, err := s.Read(make([]byte, 1))
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the read ended with %v", err)
	}
	if s.etag() != "" {
		t.Error("there is an etag of what was not read")
	}
}
