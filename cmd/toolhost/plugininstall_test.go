//go:build unix

package main

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// A person is asked before plugins are removed, and all stay after any other answer than yes.
func TestRemoveAsksAtTheTerminal(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p, _ := atTerminal(t, "XDG_DATA_HOME="+data)
	p.enter(`toolhost plugin install ` + bin + `/toolhost-plugin-readfile --yes; echo "installed:$?:"`)
	p.sees("installed:0:")
	program := filepath.Join(data, "toolhost", "plugins", "toolhost-plugin-readfile")
	for i, answer := range []struct{ word, exit string }{{"", "3"}, {"perhaps", "3"}, {"y", "0"}} {
		p.enter(`toolhost plugin remove readfile; echo "` + answer.word + `:$?:"`)
		p.shows("Remove 1 plugin? [y/N]", i+1)
		p.enter(answer.word)
		p.sees(answer.word + ":" + answer.exit + ":")
		if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) != (answer.exit == "0") {
			t.Errorf("%q: %v", answer.word, err)
		}
	}
}

// endsAfter is a context that has ended once Err was called some times.
type endsAfter struct {
	context.Context
	calls int
}

func (c *endsAfter) Err() error {
	if c.calls--; c.calls < 0 {
		return context.Canceled
	}
	return nil
}

// An interrupt at any moment leaves no copy of the program behind.
func TestInterruptedInstall(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_DATA_HOME", dir)
	program := filepath.Join(dir, "toolhost-plugin-x")
	if err := os.WriteFile(program, []byte(silentPlugin), 0o755); err != nil {
		t.Fatal(err)
	}
	g := &options{terminal: newTerminal(strings.NewReader(""), io.Discard, io.Discard)}
	for calls := range 8 {
		err := g.installPlugin(&endsAfter{t.Context(), calls}, program, installFlags{})
		if left, _ := filepath.Glob(filepath.Join(dir, "toolhost", "plugins", ".new-*")); len(left) > 0 || err == nil {
			t.Errorf("after %d: %v, left are %q", calls, err, left)
		}
	}
}

// zipFolder packs a folder of a script, such as a module for a file proxy, with the folder's own name.
func zipFolder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: zip file folder")
	}
	out, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	w := zip.NewWriter(out)
	folder := ts.MkAbs(args[1])
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(filepath.Dir(folder), path)
		if err != nil {
			return err
		}
		f, err := w.Create(filepath.ToSlash(name))
		if err == nil {
			_, err = f.Write(text)
		}
		return err
	})
	ts.Check(errors.Join(err, w.Close(), out.Close()))
}
