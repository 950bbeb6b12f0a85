package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/procstat"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// tree is a command that leaves all sorts of children: in the background, in their own session, double-forked,
// ignoring SIGTERM and SIGHUP. Each has the mark in its environment.
const tree = `trap '' TERM HUP INT; sleep 1000 & setsid sleep 1000 & (setsid setsid nohup sleep 1000 >/dev/null 2>&1 ` +
	`&) ; sleep 1000 | sleep 1000 & echo ready; sleep 1000`

// No process of a call outlives a host or a plugin that is killed.
func TestNothingSurvivesAKill(t *testing.T) {
	for name, kill := range map[string]func(t *testing.T, host int){
		"host": func(_ *testing.T, host int) { _ = syscall.Kill(host, syscall.SIGKILL) },
		"plugin": func(t *testing.T, host int) {
			_ = syscall.Kill(pluginOf(t, host, "toolhost-plugin-shell"), syscall.SIGKILL)
		},
		"call": func(_ *testing.T, host int) { _ = syscall.Kill(host, syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			mark := fmt.Sprintf("KILL_TEST_MARK=%s-%d", name, time.Now().UnixNano())
			cmd, lines := startCall(t, mark)
			waitFor(t, lines, "ready")
			// a starting process has no environment yet
			eventually(t, "five processes carry the mark", func() bool { return len(marked(mark)) >= 5 })
			kill(t, cmd.Process.Pid)
			last := waitEnd(t, cmd, lines)
			eventually(t, "all of them are dead", func() bool { return len(marked(mark)) == 0 })
			checkLast(t, name, cmd, last)
		})
	}
}

// checkLast checks the last output of the host: nothing when it was killed, otherwise a typed error.
func checkLast(t *testing.T, name string, cmd *exec.Cmd, last string) {
	t.Helper()
	want := map[string]struct {
		code  string
		words string
		exit  int
	}{
		"plugin": {"E_PLUGIN_CRASHED", "SIGKILL", 4},
		"call":   {"E_CANCELED", "canceled", 130},
	}
	w, ok := want[name]
	if !ok {
		return
	}
	var r struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal([]byte(last), &r); err != nil || r.Error.Code != w.code ||
		!strings.Contains(r.Error.Message, w.words) {
		t.Errorf("the last line is %s", last)
	}
	if got := cmd.ProcessState.ExitCode(); got != w.exit {
		t.Errorf("exit code %d, want %d", got, w.exit)
	}
}

func startCall(t *testing.T, mark string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config.hcl")
	if err := os.WriteFile(config, fmt.Appendf(nil, standardConfig, bin), 0o644); err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(mark, "=")
	arguments, err := json.Marshal(map[string]any{"command": tree, "env": map[string]string{name: value}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "toolhost"), "--config", config, "call", "--approve", "always", "shell__exec",
		string(arguments), "--stream")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

func waitFor(t *testing.T, lines *bufio.Scanner, word string) {
	t.Helper()
	for lines.Scan() {
		if strings.Contains(lines.Text(), word) {
			return
		}
	}
	t.Fatalf("%q was never printed", word)
}

// waitEnd returns the last line that the host printed.
func waitEnd(t *testing.T, cmd *exec.Cmd, lines *bufio.Scanner) (last string) {
	t.Helper()
	for lines.Scan() {
		last = lines.Text()
	}
	if err := lines.Err(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // the exit code is checked later
	return last
}

// marked lists the living processes with the mark in their environment.
func marked(mark string) (out []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err == nil && strings.Contains("\x00"+string(env), "\x00"+mark+"\x00") {
			out = append(out, f)
		}
	}
	return out
}

// pluginOf finds a plugin of the host, below its launcher, by the name of its program.
func pluginOf(t *testing.T, host int, program string) int {
	t.Helper()
	for _, launcher := range procstat.Children(host, -1) {
		for _, pid := range procstat.Children(launcher, -1) {
			if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && filepath.Base(exe) == program {
				return pid
			}
		}
	}
	t.Fatalf("the host has no plugin %s", program)
	return 0
}

// On a machine without namespaces a plugin that requires a level is not run, and one that only requests it is, with a
// warning on standard error, whatever the log level.
func TestNoNamespacesAreWarnedOf(t *testing.T) {
	if m := proctree.DetectCapabilities(); !m.Seccomp || !m.ReadOnlyMounts() {
		t.Log("this machine has no filter that refuses namespaces, or has none to refuse")
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "config.hcl")
	text := ""
	for name, require := range map[string]string{"strict": `require = "isolated"`, "loose": ""} {
		text += fmt.Sprintf("plugin %q {\n  command = [%q]\n  sandbox {\n    level = \"isolated\"\n    %s\n    write = "+
			"[%q]\n  }\n}\n",
			name, filepath.Join(bin, "toolhost-plugin-shell"), require, dir)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		code  int
		words []string
	}{
		"strict": {exitUnavailable, []string{`requires the sandbox level "isolated", but would have "supervised"`,
			"no process namespaces", "such as .git", "Allow user namespaces"}},
		"loose": {exitOK,
			[]string{`warning: plugin "loose" requests the sandbox level "isolated", but runs at "supervised"`,
				"such as .git"}},
	} {
		var out, errs bytes.Buffer
		c := proctree.Cmd{Path: program, Name: "toolhost", Stdout: &out, Stderr: &errs, Dir: dir,
			Args: []string{"--config", path, "call", name + "__exec", `{"command":"touch ran-` + name + `"}`, "--approve",
				"always"},
			Env:     append(os.Environ(), "HOME="+dir, "TMPDIR="+dir, "XDG_RUNTIME_DIR="),
			Sandbox: proctree.Sandbox{NoNewPrivileges: true, NoRareCalls: true}}
		exit, err := c.Run(t.Context())
		if err != nil || exit.Code != want.code {
			t.Errorf("%s: %v, %v, %s", name, exit, err, out.String())
		}
		for _, words := range want.words {
			if !strings.Contains(errs.String(), words) {
				t.Errorf("%s: standard error lacks %q: %s", name, words, errs.String())
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "ran-"+name)); (err == nil) != (want.code == exitOK) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What plugins lack is reported once, with their names, by warnings and by the table of states.
func TestReducedLevelIsReportedOnce(t *testing.T) {
	if m := proctree.DetectCapabilities(); !m.Seccomp || !m.ReadOnlyMounts() {
		t.Log("this machine has no filter that refuses namespaces, or has none to refuse")
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, text := filepath.Join(dir, "config.hcl"), ""
	for i := range 4 {
		text += fmt.Sprintf("plugin \"p%d\" {\n  command = [%q]\n  sandbox {\n    write = [%q]\n  }\n}\n", i,
			filepath.Join(bin, "toolhost-plugin-readfile"), t.TempDir())
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	c := proctree.Cmd{Path: program, Name: "toolhost", Stdout: &out, Stderr: &errs, Dir: dir,
		Args:    []string{"--config", path, "--log-level", "warn", "status"},
		Env:     append(os.Environ(), "HOME="+dir, "TMPDIR="+dir, "XDG_RUNTIME_DIR="),
		Sandbox: proctree.Sandbox{NoNewPrivileges: true, NoRareCalls: true}}
	if exit, err := c.Run(t.Context()); err != nil || exit.Code != exitOK {
		t.Fatalf("%v, %v: %s", exit, err, &errs)
	}
	for what, c := range map[string]struct{ printed, begins string }{
		"warnings": {errs.String(), `(?m)^.*plugins ("p\d", ){2}"p\d" and "p\d" request the sandbox level "confined", but ` +
			`run at "supervised": `},
		"table": {out.String(), `(?m)^plugins "p0", "p1", "p2" and "p3" run at the sandbox level "supervised" only: `},
	} {
		for _, cause := range []string{"there are no process namespaces", "without process namespaces"} {
			if n := len(regexp.MustCompile(c.begins+cause).FindAllString(c.printed, -1)); n != 1 ||
				strings.Count(c.printed, cause) != 1 {
				t.Errorf("%s: %q is reported %d times for all:\n%s", what, cause, n, c.printed)
			}
		}
	}
}
