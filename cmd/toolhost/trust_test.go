//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/bootstrap"
)

// A person at a terminal sees what a file would run, decides once for its present content, and nothing runs before.
func TestTrustAtTheTerminal(t *testing.T) {
	t.Parallel()
	p, dir := atTerminal(t)
	spy := "plugin \"spy\" {\n  command = [\"sh\", \"-c\", \"touch spied\"]\n  eager   = true\n}\n"
	runs := func() bool {
		_, err := os.Stat(filepath.Join(dir, "spied"))
		return err == nil
	}
	writeConfig(t, filepath.Join(dir, "config.hcl"), fmt.Sprintf("plugin_dirs = [%q]\n%s", bin, spy))
	questions := 0
	asked := func(command, exit string) {
		t.Helper()
		p.enter(command + `; echo "` + exit + `:$?:"`)
		questions++
		p.shows("Trust it until it changes? [y/N]", questions) // text typed before is discarded
		p.shows("plugin spy: sh -c 'touch spied'", questions)
		if runs() {
			t.Error("it ran before it was trusted")
		}
	}
	ask := func(command, answer, exit string) {
		t.Helper()
		asked(command, exit)
		p.enter(answer)
	}
	ask("toolhost status", "", "first")
	p.sees("config.hcl is not trusted, so nothing of it was run")
	p.sees("first:3:")
	ask("toolhost discover", "yes please", "second")
	p.sees("second:3:")
	// the terminal is asked although the arguments are piped
	ask(`echo '{}' | toolhost call readfile__list -`, "n", "third")
	p.sees("third:3:")
	if runs() {
		t.Error("it ran although no one trusted it")
	}
	ask("toolhost call readfile__list '{}'", "y", "fourth")
	p.sees("fourth:0:")
	p.enter(`toolhost call readfile__list '{}' | grep -c config.hcl; echo "fifth:$?:"`)
	p.sees("fifth:0:") // and no one is asked, otherwise it would wait
	writeConfig(t, filepath.Join(dir, "config.hcl"), "# changed\n"+spy)
	// calls of others do not wait for it
	if err := os.Remove(filepath.Join(dir, "spied")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	ask("toolhost status", "n", "sixth")
	p.sees("sixth:3:")
	asked("toolhost status", "seventh")
	p.tmux("send-keys", "C-c")
	p.sees("seventh:130:")
	if runs() {
		t.Error("it ran although it has changed since it was trusted")
	}
}

// The list of programs that would run must be complete and true.
func TestProgramsThatWouldRun(t *testing.T) {
	t.Chdir(t.TempDir())
	many := &strings.Builder{}
	for i := range 30 {
		fmt.Fprintf(many, "plugin \"p%d\" {\n  command = [\"./p%d\"]\n}\n", i, i)
	}
	for name, c := range map[string]struct {
		config string
		want   []string
	}{
		"nothing": {"", []string{"It would run nothing."}},
		"words": {`plugin "p" { command = ["./p", "a b", "", "it's", "c"] }`,
			[]string{`  plugin p: ./p 'a b' '' 'it'\''s' c`}},
		"elsewhere":         {`plugin "p" { command = ["/opt/p"] }`, []string{"  plugin p: /opt/p"}},
		"called as in PATH": {`plugin "p" { command = ["./git", "status"] }`, []string{"  plugin p: ./git status"}},
		"in a wrapper": {"plugin \"p\" {\n  command = [\"./p\", \"a\"]\n  sandbox {\n    wrapper = [\"./w\", \"b " +
			"c\"]\n  }\n}", []string{"  plugin p: ./w 'b c' ./p a"}},
		"from PATH":   {`plugin "p" { command = ["node", "p.js"] }`, []string{"  plugin p: node p.js"}},
		"in disguise": {`plugin "p" { command = ["./p", "\u202ex\u001b[2K\ny"] }`, []string{`'\u{202e}x\u{1b}[2K\ny'`}},
		"long": {fmt.Sprintf("plugin \"p\" {\n  command = [\"./p\", %q]\n}", strings.Repeat("a", 400)),
			[]string{"… and 114 more characters, see the file"}},
		"many":     {many.String(), []string{"  plugin p0: ./p0", "  and 10 more, see the file"}},
		"a record": {"audit {\n  path = \"/var/log/r\"\n}", []string{"  record: writes to /var/log/r"}},
		"nothing that runs": {"floor = false\nroot \"home\" {\n  path   = \"/root\"\n  effect = \"allow\"\n}",
			[]string{"It would run nothing.\nIt would loosen what protects you:\n  floor: off, so rules may allow commands " +
				"that destroy the machine, a home folder or a disk\n  roots: tools may read /root without asking you\n"}},
		"nothing loosened": {"plugin \"p\" {\n  command = [\"./p\"]\n}\nprofile \"r\" {\n  read_only = true\n}",
			[]string{"It would run, as you:\n  plugin p: ./p\n$"}},
		"a plugin folder": {`plugin_dirs = ["./bin", "/opt/plugins"]`, []string{"It would run, as you:\n  plugin folder bin: " +
			"every toolhost-plugin-NAME in it, also one that is added later\n  config.hcl:1: plugin folder "}},
		"a missing folder": {`plugin_dirs = ["./gone"]`, []string{"  config.hcl:1: plugin folder ", "gone cannot be read"}},
	} {
		t.Run(name, func(t *testing.T) {
			writeConfig(t, "config.hcl", c.config)
			read, err := bootstrap.Load(bootstrap.Options{Config: "config.hcl"})
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			showWhatRuns(&out, read.TrustRequest(t.Context()))
			for _, want := range c.want {
				if !strings.Contains(out.String()+"$", want) {
					t.Errorf("%q is not shown, but:\n%s", want, out.String())
				}
			}
		})
	}
}

func writeConfig(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
