//go:build unix

package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/api/local"
	"github.com/toolhost/toolhost/host/server"
)

// answers fails unless the listener is served at the path.
func answers(t *testing.T, path string, l net.Listener) {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Error("the socket of another process is gone:", err)
		return
	}
	_ = c.Close()
	served, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = served.Close()
}

// A successor that fails before it serves leaves the links by which commands find the host that goes on.
func TestNameAfterAFailedSuccessor(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", newHome(t).dir)
	dir := t.TempDir()
	link := filepath.Join(dir, "config.hcl")
	file := os.WriteFile(filepath.Join(dir, "real.hcl"), nil, 0o600)
	if err := errors.Join(file, os.Symlink("real.hcl", link)); err != nil {
		t.Fatal(err)
	}
	place, err := local.Find(link, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := place.Make(); err != nil {
		t.Fatal(err)
	}
	take := func(given *inherited) *hostPlace {
		p := &hostPlace{Place: place, log: slog.New(slog.DiscardHandler)}
		if err := errors.Join(p.acquire(given), p.Name(link, "", "")); err != nil {
			t.Fatal(err)
		}
		return p
	}
	t.Cleanup(take(nil).release)
	lock, err := os.Open(place.Lock())
	if err != nil {
		t.Fatal(err)
	}
	take(&inherited{lock: lock}).release()
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if found, err := local.Find(link, "", ""); err != nil || found != place {
		t.Errorf("found %v, not %v: %v", found, place, err)
	}
}

// A host whose folder was deleted, and whose place another one has taken before it was made again, makes no file there: its
// socket would be taken for one that the next host must not replace.
func TestPlaceThatAnotherHostHasTaken(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", newHome(t).dir)
	place, err := local.Find("config.hcl", "", "")
	if err != nil {
		t.Fatal(err)
	}
	hosts := make([]*hostPlace, 2)
	for i := range hosts {
		p := &hostPlace{Place: place, log: slog.New(slog.DiscardHandler), token: "token"}
		hosts[i] = p
		if err := place.Make(); err != nil {
			t.Fatal(err)
		}
		if err := p.acquire(nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.release)
		l, err := listenSocket(t.Context(), place.Socket())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		p.listeners = []server.Listener{{Listener: l}}
		if i == 0 {
			if err := os.RemoveAll(filepath.Dir(place.Lock())); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Remove(place.Socket()); err != nil {
		t.Fatal(err)
	}
	hosts[0].restore(t.Context())
	for _, path := range []string{place.Socket(), place.Token()} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was made by the host that has lost its place", path)
		}
	}
	hosts[1].restore(t.Context())
	for _, path := range []string{place.Socket(), place.Token()} {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("the other host: %v", err)
		}
	}
}

// A host starts with no socket that something else uses, says what is there, and leaves it as it is.
func TestSocketThatIsTaken(t *testing.T) {
	h := newHome(t)
	at := func(name string) string { return filepath.Join(h.dir, name) }
	l, err := net.Listen("unix", at("live"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	datagrams, err := net.ListenPacket("unixgram", at("datagrams"))
	if err != nil {
		t.Fatal(err)
	}
	defer datagrams.Close()
	if err := os.Mkdir(at("folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.write(t, "file", "mine\n")
	if err := os.Symlink("none", at("link")); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 120)
	for name, want := range map[string]string{
		"live":      "is served by another process; name another one, or end it",
		"datagrams": "is served by another process; name another one, or end it",
		"folder":    "a folder is there",
		"file":      "not a socket",
		"link":      "not a socket",
		long:        "the limit is ",
	} {
		h.withPlugin(t, fmt.Sprintf("serve {\n  socket = %q\n}\n", name))
		expect(t, h.run(t, "serve", "--address", "127.0.0.1:0"), "socket of the serve block, ", "config.hcl:2: the ", at(name),
			want, "\n2")
	}
	answers(t, at("live"), l)
	if _, err := os.Lstat(at("datagrams")); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(at("file")); err != nil || string(text) != "mine\n" {
		t.Error(text, err)
	}
}

// A host replaces a socket that another one has left, and removes its own at its end, also after an upgrade.
func TestSocketThatWasLeft(t *testing.T) {
	h := newHome(t).withPlugin(t, "serve {\n  socket = \"x\"\n}\n")
	path := filepath.Join(h.dir, "x")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	for range 2 {
		_, _, ended := h.serving(t)
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		expect(t, h.run(t, "serve", "--upgrade"), "serves in place of", "\n0")
		waitFor(t, ended)
		if c, err = net.Dial("unix", path); err != nil {
			t.Fatal("after the upgrade:", err)
		}
		_ = c.Close()
		expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
		h.awaitNone(t)
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Error("the socket is left:", err)
		}
	}
}

// A host that ends leaves a socket that another process has put in the place of its own, also where that was before an
// upgrade.
func TestSocketThatWasReplaced(t *testing.T) {
	for name, upgrade := range map[string]bool{"stop": false, "upgrade": true} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t).withPlugin(t, "serve {\n  socket = \"x\"\n}\n")
			path := filepath.Join(h.dir, "x")
			_, _, ended := h.serving(t)
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path + "y"})
			if err != nil {
				t.Fatal(err)
			}
			l.SetUnlinkOnClose(false)
			defer l.Close()
			if err := os.Rename(path+"y", path); err != nil {
				t.Fatal(err)
			}
			if upgrade {
				expect(t, h.run(t, "serve", "--upgrade"), "serves in place of", "\n0")
				waitFor(t, ended)
			}
			expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
			h.awaitNone(t)
			answers(t, path, l)
		})
	}
}
