//go:build unix

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/testutil"
)

// A person is asked before a locked plugin is changed, and not before one is added.
func TestLockAtTheTerminal(t *testing.T) {
	t.Parallel()
	p, dir := atTerminal(t)
	p.enter(`toolhost plugin lock readfile; echo "added:$?:"`)
	p.sees("added:0:")
	path := filepath.Join(dir, "toolhost.lock.hcl")
	err := lockfile.Update(path, func(l *lockfile.File) error {
		l.Plugin("readfile").Level = sandbox.Isolated
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, answer := range []struct{ word, exit string }{{"", "3"}, {"perhaps", "3"}, {"y", "0"}} {
		p.enter(`toolhost plugin lock readfile; echo "` + answer.word + `:$?:"`)
		p.shows("to see the tools? [y/N]", i+1)
		p.enter("y")
		p.shows("Lock this? [y/N]", i+1)
		p.enter(answer.word)
		p.sees(answer.word + ":" + answer.exit + ":")
		after, err := os.ReadFile(path)
		if err != nil || bytes.Equal(before, after) != (answer.exit == "3") {
			t.Errorf("%q: changed: %t, %v", answer.word, !bytes.Equal(before, after), err)
		}
	}
	p.sees("level: isolated -> confined")
}

// A program that is not the locked one does not run before a person has seen and approved it, nor where no one can be
// asked.
func TestLockAsksBeforeItStarts(t *testing.T) {
	t.Parallel()
	p, dir := atTerminal(t)
	program, ran := filepath.Join(dir, "spy"), filepath.Join(dir, "ran")
	text := func(note string) {
		t.Helper()
		script := fmt.Sprintf("#!/bin/sh\n%s\nexec %s/toolhost-plugin-readfile\n", note, bin)
		if err := testutil.WriteProgram(program, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	runs := func() bool {
		_, err := os.Stat(ran)
		return err == nil
	}
	text("")
	writeConfig(t, filepath.Join(dir, "own.hcl"), "plugin \"spy\" {\n  command = [\"./spy\"]\n}\n")
	p.enter(`toolhost --config own.hcl plugin lock; echo "added:$?:"`)
	p.sees("added:0:")
	before, err := checksum(program)
	if err != nil {
		t.Fatal(err)
	}
	text("touch " + ran)
	after, err := checksum(program)
	if err != nil {
		t.Fatal(err)
	}
	p.enter(`toolhost --config own.hcl plugin lock </dev/null; echo "nobody:$?:"`)
	p.sees("and there is no terminal to ask at; nothing was written")
	p.sees("nobody:2:")
	for i, answer := range []struct{ word, exit string }{{"", "3"}, {"n", "3"}, {"y", "3"}} {
		p.enter(`toolhost --config own.hcl plugin lock; echo "` + answer.word + `:$?:"`)
		p.shows("Start it to see the tools? [y/N]", i+1)
		for _, shown := range []string{"program: " + program, ": " + before, "-> " + after} {
			p.shows(shown, i+1)
		}
		if runs() {
			t.Fatalf("%d: it ran before anybody said yes", i)
		}
		p.enter(answer.word)
		if answer.word == "y" {
			p.sees("Lock this? [y/N]")
			p.enter("n")
		}
		p.sees(answer.word + ":" + answer.exit + ":")
	}
	if !runs() {
		t.Error("it did not run although it was to be asked for its tools")
	}
}

// waitForFile waits until a file exists, which a program in the background writes.
func waitForFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfor file")
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
	}
	ts.Fatalf("%s was not written", args[0])
}

// appendTo adds a line to a file: append FILE TEXT.
func appendTo(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_WRONLY, 0)
	ts.Check(err)
	defer f.Close()
	_, err = f.WriteString(args[1] + "\n")
	ts.Check(err)
}

// flipDigit changes one digit of the checksum of a plugin's program: flip FILE PLUGIN.
func flipDigit(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	text, err := os.ReadFile(path)
	ts.Check(err)
	at := regexp.MustCompile(`(?s)plugin "` + args[1] + `".*?sha256 *= \{[^"]*"([0-9a-f]{64})"`).FindSubmatchIndex(text)
	if at == nil {
		ts.Fatalf("no checksum of %s in %s", args[1], path)
	}
	digit := &text[at[2]+20]
	if *digit == '0' {
		*digit = '1'
	} else {
		*digit = '0'
	}
	ts.Check(os.WriteFile(path, text, 0o644))
}

// The notice of a plugin that cannot be used is printed once, and so is its name.
func TestNoticesOfUnlockedPlugins(t *testing.T) {
	started := errors.New(`plugin "p" could not be started: it ended`)
	for name, c := range map[string]struct {
		plugin bootstrap.LockedPlugin
		check  bool
		want   string
	}{
		"new": {bootstrap.LockedPlugin{Added: true, Problem: started}, false,
			`plugin "p" is not locked: it could not be started: it ended`},
		"locked": {bootstrap.LockedPlugin{Problem: started}, false,
			`plugin "p" keeps its lock: it could not be started: it ended`},
		"checked": {bootstrap.LockedPlugin{Problem: started}, true,
			`plugin "p" cannot be checked: it could not be started: it ended`},
		"other": {bootstrap.LockedPlugin{Added: true, Problem: errors.New("x was not found in PATH")}, false,
			`plugin "p" is not locked: x was not found in PATH`},
	} {
		c.plugin.Name = "p"
		if got := lockFailures(&bootstrap.LockPlan{Plugins: []*bootstrap.LockedPlugin{&c.plugin}},
			c.check).Error(); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func checksum(path string) (string, error) {
	text, err := os.ReadFile(path)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}
