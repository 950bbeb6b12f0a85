package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/config"
)

func trusting(t *testing.T) *globals {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	return &globals{terminal: terminal{out: &answer{w: io.Discard}, err: io.Discard}}
}

func writeConfig(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Trust is for the bytes that were read, not for those that stand there a moment later.
func TestTrustIsForWhatWasRead(t *testing.T) {
	g, path := trusting(t), filepath.Join(t.TempDir(), "config.hcl")
	writeConfig(t, path, "# good\n")
	if err := g.trustFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"# good\n": true, "# evil\n": false} {
		writeConfig(t, path, text)
		c, err := config.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		writeConfig(t, path, "# good\n")
		if got := isTrusted(c.Path, c.SHA256); got != want {
			t.Errorf("%q: trusted %t", text, got)
		}
	}
}

// A name with a line break would trust whatever stands behind it.
func TestTrustOfANameWithALineBreak(t *testing.T) {
	g, dir := trusting(t), filepath.Join(t.TempDir(), "a\n"+strings.Repeat("0", 64)+"  ")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	writeConfig(t, filepath.Join(dir, "config.hcl"), "")
	if err := g.trustFile(t.Context(), filepath.Join(dir, "config.hcl")); err == nil {
		known, err := readTrusted()
		t.Errorf("now trusted: %v, %v", known, err)
	}
	c, err := config.Load(filepath.Join(dir, "config.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := remember(c); err == nil { // as when a person at the terminal says yes
		known, err := readTrusted()
		t.Errorf("now trusted by a yes: %v, %v", known, err)
	}
}

// A trusted file may be a pipe by now, which nobody writes to.
func TestListTrustedPipe(t *testing.T) {
	g, path := trusting(t), filepath.Join(t.TempDir(), "config.hcl")
	writeConfig(t, path, "")
	if err := g.trustFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	listed := make(chan error, 1)
	go func() { listed <- g.listTrusted() }()
	select {
	case err := <-listed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for a writer")
	}
}

// Two who trust at the same moment are both heard.
func TestTrustAtTheSameTime(t *testing.T) {
	g, dir := trusting(t), t.TempDir()
	var all sync.WaitGroup
	for i := range 20 {
		path := filepath.Join(dir, strconv.Itoa(i))
		writeConfig(t, path, "")
		all.Go(func() {
			if err := g.trustFile(t.Context(), path); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if known, err := readTrusted(); err != nil || len(known) != 20 {
		t.Errorf("%d of 20 are trusted; %v", len(known), err)
	}
}

func TestVisible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain é 日\t\n":   "plain é 日\t\n",
		"a\u202eb\x1b[2J": `a\u{202e}b\u{1b}[2J`,
		"rm\u3164x":       `rm\u{3164}x`,
		"\u2800\u115f":    `\u{2800}\u{115f}`,
		"a\ufe0f":         `a\u{fe0f}`,
		"a\U000e0101":     `a\u{e0101}`,
		"\xff":            `\xff`,
	} {
		if got := visible(text); got != want {
			t.Errorf("%+q is shown as %+q", text, got)
		}
	}
}
