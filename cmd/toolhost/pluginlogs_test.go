package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A follower prints what is written later, also to the file that replaces a full one.
func TestLogsAreFollowed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "toolhost", "logs")
	t.Setenv("XDG_STATE_HOME", filepath.Dir(filepath.Dir(dir)))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "greet.log")
	appendLine := func(text string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	appendLine("one\ntwo\n")
	out, to := io.Pipe()
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		g := &options{terminal: newTerminal(nil, to, io.Discard)}
		ended <- g.showLogs(ctx, "greet", 1, true)
	}()
	lines := bufio.NewScanner(out)
	for i, want := range []string{"two", "three", "four", "five"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("the next line is %q, want %s", lines.Text(), want)
		}
		switch i {
		case 0:
			appendLine("thr")
			appendLine("ee\nfour\n")
		case 2:
			if err := os.Rename(path, path+".1"); err != nil {
				t.Fatal(err)
			}
			appendLine("five\n")
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, errInterrupted) {
		t.Error(err)
	}
}
