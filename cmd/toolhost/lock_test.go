package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/supervise"
)

// A person is asked before what was locked is changed, and not before something is added.
func TestLockAtTheTerminal(t *testing.T) {
	t.Parallel()
	p, dir := atTerminal(t)
	p.enter(`toolhost plugin lock readfile; echo "added:$?:"`)
	p.sees("added:0:")
	path := filepath.Join(dir, config.LockName)
	err := config.UpdateLock(path, func(l *config.Lock) error {
		l.Plugin("readfile").Level = supervise.Isolated
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
