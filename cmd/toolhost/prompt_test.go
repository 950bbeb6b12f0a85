//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/toolhost/toolhost/sdk"
)

// A tmuxPane is a real terminal with a shell in it.
type tmuxPane struct {
	t      *testing.T
	socket string
}

func openPane(t *testing.T, dir string, env ...string) *tmuxPane {
	t.Helper()
	p := &tmuxPane{t, filepath.Join(t.TempDir(), "tmux")}
	args := []string{"-f", os.DevNull, "new-session", "-d", "-x", "110", "-y", "60", "-c", dir}
	for _, e := range env {
		args = append(args, "-e", e)
	}
	p.tmux(append(args, "sh")...)
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", p.socket, "kill-server").Run() })
	return p
}

func (p *tmuxPane) tmux(args ...string) string {
	p.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", p.socket}, args...)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %s: %v\n%s", args, err, out)
	}
	return string(out)
}

// enter types a line.
func (p *tmuxPane) enter(text string) {
	p.t.Helper()
	p.tmux("send-keys", "-l", text)
	p.tmux("send-keys", "Enter")
}

// sees waits until the screen, or what has scrolled off it, shows the text.
func (p *tmuxPane) sees(text string) string {
	p.t.Helper()
	return p.shows(text, 1)
}

// asked waits for the question, for the nth time: text typed before is discarded.
func (p *tmuxPane) asked(nth int) {
	p.t.Helper()
	p.shows("Run it? [y/N]", nth)
}

func (p *tmuxPane) shows(text string, times int) string {
	p.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		screen := p.tmux("capture-pane", "-p", "-J", "-S", "-")
		if strings.Count(screen, text) >= times {
			return screen
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("the terminal does not show %q %d times but:\n%s", text, times, screen)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// A person at a real terminal sees the whole call and decides on it.
func TestPersonAtTheTerminal(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("this test needs tmux, which every distribution has as a package of that name")
	}
	cases := map[string]struct {
		file, want string
		do         func(p *tmuxPane)
		exit       string
	}{
		"yes": {want: "new\n", exit: "0", do: func(p *tmuxPane) {
			p.sees("the tool: ")
			p.sees("+new")
			p.asked(1)
			p.enter("y")
		}},
		"enter is no": {want: "old\n", exit: "3", do: func(p *tmuxPane) {
			p.asked(1)
			p.enter("")
			p.sees("Why not?")
			p.enter("")
			p.sees("E_REJECTED")
		}},
		"no, with a reason": {want: "old\n", exit: "3", do: func(p *tmuxPane) {
			p.asked(1)
			p.enter("n")
			p.sees("Why not?")
			p.enter("ask me tomorrow")
			p.sees("rejected edit__replace: ask me tomorrow")
		}},
		"a word that is no answer": {want: "old\n", exit: "3", do: func(p *tmuxPane) {
			p.asked(1)
			p.enter("maybe")
			p.sees("maybe is not an answer")
			p.enter("n")
			p.sees("Why not?")
			p.enter("")
		}},
		"other arguments": {want: "newer\n", exit: "0", do: func(p *tmuxPane) {
			p.asked(1)
			p.enter("e")
			p.sees("as one line of JSON")
			p.enter(`{"path":"f","old_string":"old","new_string":"newer"}`)
			p.sees("+newer")
			p.asked(2)
			p.enter("y")
		}},
		"other arguments that do not fit": {want: "old\n", exit: "3", do: func(p *tmuxPane) {
			p.asked(1)
			p.enter("e")
			p.sees("as one line of JSON")
			p.enter(`{"path":7}`)
			p.sees("The arguments stay as they were:")
			p.asked(2)
			p.enter("")
			p.sees("Why not?")
			p.enter("")
		}},
		"Ctrl-C": {want: "old\n", exit: "130", do: func(p *tmuxPane) {
			p.asked(1)
			p.tmux("send-keys", "C-c")
		}},
		"the end of the input": {want: "old\n", exit: "3", do: func(p *tmuxPane) {
			p.asked(1)
			p.tmux("send-keys", "C-d")
			p.sees("\ntoolhost: E_APPROVAL_UNAVAILABLE")
		}},
		"no, and the end of the input": {want: "old\n", exit: "3", do: func(p *tmuxPane) {
			p.asked(1)
			p.enter("n")
			p.sees("Why not?")
			p.tmux("send-keys", "C-d")
			p.sees("\ntoolhost: E_REJECTED")
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, dir := atTerminal(t)
			p.enter(`toolhost call edit__replace '{"path":"f","old_string":"old","new_string":"new"}'; echo "exit:$?:"`)
			c.do(p)
			p.sees("exit:" + c.exit + ":")
			if got, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(got) != c.want {
				t.Errorf("the file holds %q, %v", got, err)
			}
		})
	}
}

// A permanent approval is asked for once, can be listed, and revoked.
func TestAlwaysAtTheTerminal(t *testing.T) {
	t.Parallel()
	p, dir := atTerminal(t)
	p.enter(`toolhost call shell__exec '{"command":"touch one"}'; echo "first:$?:"`)
	p.sees("always, for commands that begin with touch")
	p.asked(1)
	p.enter("p")
	p.sees("first:0:")
	p.enter(`toolhost call shell__exec '{"command":"touch two"}' </dev/null; echo "second:$?:"`)
	p.sees("second:0:")
	p.enter(`toolhost call shell__exec '{"command":"touch two && rm two"}' </dev/null; echo "third:$?:"`)
	p.sees("third:3:")
	p.enter(`toolhost approvals; mkdir -p other; toolhost --config config.hcl --workdir other call shell__exec ` +
		`'{"command":"touch two"}' </dev/null; echo "other:$?:"`)
	p.sees("other:3:")
	p.sees("  " + dir + "  ")
	p.enter(`toolhost approvals revoke $(toolhost approvals | sed -n '2s/ .*//p'); echo "revoked:$?:"`)
	p.sees("revoked:0:")
	p.enter(`toolhost call shell__exec '{"command":"touch two"}' </dev/null; echo "fourth:$?:"`)
	p.sees("fourth:3:")
}

// A call that a rule always asks about is asked about each time, and no answer to it can be saved.
func TestAlwaysAskAtTheTerminal(t *testing.T) {
	t.Parallel()
	p, dir := atTerminal(t)
	config := filepath.Join(dir, "config.hcl")
	text := "plugin_dirs = [\"" + bin + "\"]\npolicy \"project\" {\n  rule \"fresh\" {\n    tools = [\"shell__*\"]\n   " +
		" effect = \"always_ask\"\n  }\n}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for nth := 1; nth <= 2; nth++ {
		p.enter(`toolhost --config config.hcl call shell__exec '{"command":"touch one"}' --approve always; echo "end:$?:"`)
		p.asked(2*nth - 1)
		p.enter("t")
		screen := p.shows("so the answer cannot be remembered", nth)
		if strings.Contains(screen, "t  always") || strings.Contains(screen, "p  always") ||
			strings.Contains(screen, "a  always") {
			t.Fatalf("answers that are remembered are offered:\n%s", screen)
		}
		p.asked(2 * nth)
		p.enter("y")
		p.shows("end:0:", nth)
	}
}

// Output is not coloured where colours are off, also for a command that was never run.
func TestColoursAtTheTerminal(t *testing.T) {
	t.Parallel()
	p, _ := atTerminal(t)
	const red = "\x1b[31m"
	for i, c := range []struct {
		command string
		colours bool
	}{
		{"toolhost nosuch", true},
		{"toolhost --config gone.hcl discover", true},
		{"toolhost nosuch --no-color", false},
		{"toolhost --no-color nosuch", false},
		{"toolhost --no-color --config gone.hcl discover", false},
		{"NO_COLOR=1 toolhost nosuch", false},
		{"TERM=dumb toolhost nosuch", false},
	} {
		p.enter(fmt.Sprintf("clear; %s; echo end:%d:", c.command, i))
		p.sees(fmt.Sprintf("\nend:%d:", i))
		screen := p.tmux("capture-pane", "-p", "-e")
		if !strings.Contains(screen, "toolhost:") || strings.Contains(screen, red) != c.colours {
			t.Errorf("%s: want colours: %t; the terminal shows:\n%q", c.command, c.colours, screen)
		}
	}
}

// A model's text can neither hide from the person nor control the terminal.
func TestShownTextIsComplete(t *testing.T) {
	t.Parallel()
	p, _ := atTerminal(t)
	p.enter(`toolhost call shell__exec "$(printf '{"command":"touch \342\200\256x\\\\u001b[2K\\\\nrm y"}')"; echo ` +
		`"exit:$?:"`)
	screen := p.shows("Run it?", 1)
	for _, want := range []string{`\u{202e}`, `rm y`} {
		if !strings.Contains(screen, want) {
			t.Errorf("the terminal does not show %q but:\n%s", want, screen)
		}
	}
	p.enter("n")
	p.sees("Why not?")
	p.enter("")
	p.sees("exit:3:")
}

// The editor that the person chose is given the arguments, and the terminal.
func TestEditorAtTheTerminal(t *testing.T) {
	t.Parallel()
	p, dir := atTerminal(t, `EDITOR=sed -i s/"new"/"edited"/`)
	p.enter(`toolhost call edit__replace '{"path":"f","old_string":"old","new_string":"new"}'; echo "exit:$?:"`)
	p.asked(1)
	p.enter("e")
	p.sees("+edited")
	p.asked(2)
	p.enter("y")
	p.sees("exit:0:")
	if got, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(got) != "edited\n" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

// atTerminal returns a terminal in a folder with a trusted configuration, a file f, and toolhost in its PATH.
func atTerminal(t *testing.T, env ...string) (*tmuxPane, string) {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"config.hcl": "plugin_dirs = [\"" + bin + "\"]\n", "f": "old\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := trustFor(home, filepath.Join(dir, "config.hcl")); err != nil {
		t.Fatal(err)
	}
	env = append(env, "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+home, "XDG_CONFIG_HOME="+home, "PS1=$ ", "TERM=screen",
		"VISUAL=")
	return openPane(t, dir, env...), dir
}

// The reason of a question is printed once: above the preview, or in it.
func TestReasonIsShownOnce(t *testing.T) {
	t.Parallel()
	for why, want := range map[string]bool{
		"it could do much harm: rm -rf build: it deletes": true, "rm -rf build: it deletes": true,
		"other programs run it": false, "it could do much harm: it is new": false,
	} {
		p := &sdk.Preview{Content: []sdk.Content{sdk.TextContent("Risk: high\n  rm -rf build: it deletes\n")}}
		if got := containsReason(p, why); got != want {
			t.Errorf("%s: %t", why, got)
		}
	}
}

func TestDescribed(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		" Reads a file.\n\nWith examples. ": "Reads a file.",
		"Reads\n  a\tfile.":                 "Reads a file.",
		strings.Repeat("ä", maxDescribed):   strings.Repeat("ä", maxDescribed),
		strings.Repeat("ä", maxDescribed+1): strings.Repeat("ä", maxDescribed) + "…",
	} {
		if got := described(in); got != want {
			t.Errorf("described(%q) gives %q", in, got)
		}
	}
}

// Every hunk is coloured, as long as its header says: a removed line may look like the name of a file.
func TestPaintDiff(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	_, tty, err := pty.Open()
	if err != nil {
		t.Skip("there are no terminals here: ", err)
	}
	defer func() { _ = tty.Close() }()
	colours := &terminal{err: tty}
	const diff = `--- a/q.sql
+++ b/q.sql
@@ -1,3 +1,3 @@
 one
--- two
+++ two
 three
@@ -50,2 +50 @@
-fifty
-fifty one
+50
\ No newline at end of file
@@ -60,0 +61,2 @@
+
+-- more
diff --git a/x b/x
--- a/x
+++ b/x
@@ -1 +1 @@
-a
+b
+ a list
- of what it also does`
	const kinds = "bbc rg crrg cggbbbcrg  "
	lines := strings.Split(diff, "\n")
	names := map[byte]color{'b': bold, 'c': cyan, 'r': red, 'g': green, ' ': ""}
	painted := colours.paintDiff(lines)
	for i, line := range lines {
		want := line
		if c := names[kinds[i]]; c != "" {
			want = string(c) + line + "\x1b[0m"
		}
		if painted[i] != want {
			t.Errorf("line %d is %q, want %q", i+1, painted[i], want)
		}
	}
	plain := (&terminal{err: os.Stderr, noColor: true}).paintDiff(lines)
	if strings.Join(plain, "\n") != diff {
		t.Errorf("without colours the diff is changed: %q", plain)
	}
	if prose := []string{"- one", "+ two", "--- three"}; strings.Join(colours.paintDiff(prose), "") != strings.Join(prose,
		"") {
		t.Error("a list is coloured as a diff")
	}
}

// At a terminal the lines between calls are answers to questions; a call in the background cannot ask one.
func TestPluginRunAtTheTerminal(t *testing.T) {
	t.Parallel()
	p, dir := atTerminal(t)
	p.enter("toolhost plugin run shell; echo \"exit:$?:\"")
	p.sees("shell: ready with")
	p.enter(`exec {"command":"echo one > one"}`)
	p.asked(1)
	p.enter("y")
	p.sees("Duration: ")
	p.enter(`exec {"command":"echo two > two"} &`)
	p.sees("it runs in the background")
	p.enter(`exec {"command":"echo three > three"}`)
	p.asked(2)
	p.enter("n")
	p.sees("Why not?")
	p.enter("")
	p.sees("E_REJECTED")
	p.enter("status")
	p.sees("state        ready since ")
	p.enter("reload")
	p.sees("shell: reloaded; its tools are the same")
	p.enter("reset")
	p.sees("shell: its crashes are forgotten; it is ready")
	p.enter("quit")
	p.sees("exit:0:")
	for name, want := range map[string]bool{"one": true, "two": false, "three": false} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
