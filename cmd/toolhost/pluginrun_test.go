//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/host"
)

// A running is a process of `toolhost plugin run`.
type running struct {
	t    *testing.T
	v    *versioned
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
	errs *shared
	temp string
}

// runVersioned runs the plugin by its path, unless args name it otherwise.
func runVersioned(t *testing.T, tools string, args ...string) *running {
	t.Helper()
	v := newVersioned(t, t.TempDir(), tools)
	return runIn(t, v, append(append([]string{"--format", "json"}, args...), v.path, "--", v.ran)...)
}

func runIn(t *testing.T, v *versioned, args ...string) *running {
	t.Helper()
	cmd, _, temp := program(t, filepath.Dir(v.path), append([]string{"plugin", "run"}, args...)...)
	r := &running{t: t, v: v, cmd: cmd, errs: &shared{}, temp: temp}
	cmd.Stderr = r.errs
	var err error
	if r.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.out = json.NewDecoder(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.in.Close()
		if t.Failed() {
			t.Logf("standard error:\n%s", r.errs)
		}
	})
	r.waitForOutput("versioned: ready with")
	return r
}

func (r *running) waitForOutput(words string) {
	r.t.Helper()
	eventually(r.t, words, func() bool { return strings.Contains(r.errs.String(), words) })
}

func (r *running) enter(format string, a ...any) {
	r.t.Helper()
	if _, err := fmt.Fprintf(r.in, format+"\n", a...); err != nil {
		r.t.Fatal(err)
	}
}

// answer returns the text of the next result, or its code.
func (r *running) answer() string {
	r.t.Helper()
	var result host.Result
	if err := r.out.Decode(&result); err != nil {
		r.t.Fatalf("%v\n%s", err, r.errs)
	}
	if result.Error != nil {
		return string(result.Error.Code)
	}
	return result.Text()
}

func (r *running) call(line, want string) {
	r.t.Helper()
	r.enter("%s", line)
	if got := r.answer(); got != want {
		r.t.Errorf("%s: %s, want %s", line, got, want)
	}
}

// end waits for the end, and checks that no process is left.
func (r *running) end(want int) {
	r.t.Helper()
	r.in.Close()
	if err := r.cmd.Wait(); r.cmd.ProcessState.ExitCode() != want {
		r.t.Errorf("%v, want exit code %d\n%s", err, want, r.errs)
	}
	checkEmpty(r.t, r.temp)
}

// openFiles counts the host's open files; zero where the system does not report them.
func (r *running) openFiles() int {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", r.cmd.Process.Pid))
	return len(entries)
}

// A new build takes over, however it is installed; a running call ends in the old one, and changes of the tools are
// printed.
func TestPluginRunWatch(t *testing.T) {
	t.Parallel()
	r := runVersioned(t, "tell slow", "--watch")
	r.call("tell", "1")
	gate := filepath.Join(filepath.Dir(r.v.path), "gate")
	r.enter(`slow {"id":"long","for":%q} &`, gate)
	eventually(t, "the call runs", func() bool { return r.v.runs()["long"] == 1 })
	r.v.rename("2 tell more slow=by")
	r.waitForOutput("versioned: reloaded: +more ~slow\n")
	r.call("tell", "2")
	r.call("more", "2")
	r.v.rewrite("3 tell")
	r.waitForOutput("versioned: reloaded: -more -slow\n")
	r.call(`tell {"id":"last"}`, "3")
	r.call("more", "E_TOOL_NOT_FOUND")
	writeText(t, gate, "")
	if got := r.answer(); got != "1" {
		t.Errorf("the call that ran from the start: %s", got)
	}
	if n := r.v.runs(); n["long"] != 1 || n["last"] != 1 {
		t.Errorf("runs: %v", n)
	}
	r.end(exitOK)
}

// The plugin is started, also when its tools are cached.
func TestPluginRunStarts(t *testing.T) {
	t.Parallel()
	v := newVersioned(t, t.TempDir(), "tell")
	for range 2 {
		runIn(t, v, "--format", "json", v.path, "--", v.ran).end(exitOK)
	}
}

// notReloaded begins the message about a build that is not used.
const notReloaded = "versioned: plugin \"versioned\" was not reloaded and is unchanged: "

// A build that cannot be run is reported, and the old one stays in use.
func TestPluginRunBrokenBuilds(t *testing.T) {
	t.Parallel()
	r := runVersioned(t, "tell", "--watch")
	r.v.renameText([]byte("#!/bin/sh\necho the linker was drunk >&2\nexit 3\n"))
	r.waitForOutput(notReloaded)
	r.waitForOutput("the linker was drunk")
	r.call("tell", "1")
	r.v.renameText(r.v.text("")[:1<<20])
	eventually(t, "the second build is refused", func() bool { return strings.Count(r.errs.String(), notReloaded) == 2 })
	r.call("tell", "1")
	r.v.rename("2 tell")
	r.waitForOutput("versioned: reloaded; its tools are the same")
	r.call("tell", "2")
	r.end(exitOK)
}

// A plugin that is broken from the start is waited for.
func TestPluginRunBrokenFromTheStart(t *testing.T) {
	t.Parallel()
	v := newVersioned(t, t.TempDir(), "tell")
	v.renameText([]byte("#!/bin/sh\nexit 3\n"))
	cmd, errs, temp := program(t, filepath.Dir(v.path), "plugin", "run", v.path)
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitUnavailable ||
		!strings.Contains(errs.String(), "exited with code 3") {
		t.Errorf("%v: %s", err, errs)
	}
	checkEmpty(t, temp)
	cmd, _, _ = program(t, filepath.Dir(v.path), "plugin", "run", "--watch", "--format", "json", v.path)
	r := &running{t: t, v: v, cmd: cmd, errs: &shared{}}
	cmd.Stderr = r.errs
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	r.in, r.out = in, json.NewDecoder(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.waitForOutput("waiting for a change")
	v.rename("2 tell")
	r.waitForOutput("versioned: ready with 1 tool")
	r.call("tell", "2")
	r.temp = t.TempDir()
	r.end(exitOK)
}

// Calls that run while the program is replaced repeatedly are answered once each, and run once.
func TestPluginRunUnderLoad(t *testing.T) {
	t.Parallel()
	r := runVersioned(t, "tell", "--watch")
	const builds, perBuild = 8, 50
	r.enter("tell") // the first call opens the connection for calls
	r.answer()
	files := r.openFiles()
	for b := range builds {
		for i := range perBuild {
			r.enter(`tell {"id":"%d/%d"} &`, b, i)
		}
		if r.v.rename(fmt.Sprintf("%d tell", b+2)); b%2 == 1 {
			r.v.rewrite(fmt.Sprintf("%d tell", b+2))
		}
		for range perBuild {
			if got := r.answer(); strings.HasPrefix(got, "E_") {
				t.Errorf("build %d: %s", b, got)
			}
		}
	}
	eventually(t, "the last build serves", func() bool { r.enter("tell"); return r.answer() == fmt.Sprint(builds+1) })
	// More is open for the running process, which is watched after a moment, and the plugin's log, where a build was seen
	// half written.
	const more = 2
	eventually(t, "nothing of the old processes is held open", func() bool { return r.openFiles() <= files+more })
	runs := r.v.runs()
	for b := range builds {
		for i := range perBuild {
			if id := fmt.Sprintf("%d/%d", b, i); runs[id] != 1 {
				t.Errorf("call %s ran %d times", id, runs[id])
			}
		}
	}
	r.end(exitOK)
}

// A plugin of the configuration continues under the present configuration, when it is watched or SIGHUP arrives.
func TestPluginRunByName(t *testing.T) {
	t.Parallel()
	for name, watch := range map[string]bool{"watched": true, "SIGHUP": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVersioned(t, t.TempDir(), "tell")
			config := filepath.Join(filepath.Dir(v.path), "config.hcl")
			write := func(more string) {
				writeText(t, config, "plugin \"versioned\" {\n  command = [%q, %q]\n}\n%s", v.path, v.ran, more)
			}
			write("")
			r := runIn(t, v, "--config", config, "--format", "json", fmt.Sprintf("--watch=%v", watch), "versioned")
			change := func(more, words string) {
				t.Helper()
				before := len(r.errs.String())
				write(more)
				if !watch {
					if err := r.cmd.Process.Signal(syscall.SIGHUP); err != nil {
						t.Fatal(err)
					}
				}
				eventually(t, words, func() bool { return strings.Contains(r.errs.String()[before:], words) })
			}
			r.call("tell", "1")
			after := map[bool]string{true: "the configuration was read again", false: "reloaded; its tools are the same"}[watch]
			change(denyTell, after)
			r.call("tell", "E_DENIED")
			change("plugin {", "not reloaded: ")
			r.call("tell", "E_DENIED")
			change("", after)
			r.call("tell", "1")
			r.end(exitOK)
		})
	}
}

// Ctrl-C ends it, with calls that run, and so does SIGTERM.
func TestPluginRunInterrupted(t *testing.T) {
	t.Parallel()
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		for name, end := range map[string]string{"in a call": "", "beside a call": " &"} {
			r := runVersioned(t, "tell", "--watch")
			r.enter(`tell {"id":"long","for":%q}%s`, filepath.Join(t.TempDir(), "never"), end)
			eventually(t, "the call runs", func() bool { _, err := os.Stat(r.v.ran); return err == nil })
			if err := r.cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			if got := r.answer(); got != "E_CANCELED" {
				t.Errorf("%s: %s", name, got)
			}
			_ = r.cmd.Wait() // while its input is open
			if code := r.cmd.ProcessState.ExitCode(); code != exitInterrupted {
				t.Errorf("%s: exit code %d", name, code)
			}
			checkEmpty(t, r.temp)
		}
	}
}

func TestLabelOf(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		"/a/toolhost-plugin-greet": "greet", "/a/Greet_Me.exe": "greet-me", "/a/2nd": "nd", "/a/-": "plugin",
		"/a/é":                             "plugin",
		"/a/" + strings.Repeat("long", 20): strings.Repeat("long", 8), "/a/my--tool__x": "my-tool-x",
	} {
		if got := labelOf(program); got != want {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
}

// The configuration's limits of concurrent calls, and of calls that outlive a reload, apply; the second also as soon
// as it is changed.
func TestBoundsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	v := newVersioned(t, t.TempDir(), "tell")
	dir := filepath.Dir(v.path)
	config, gate := filepath.Join(dir, "config.hcl"), filepath.Join(dir, "gate")
	write := func(drain string) {
		writeText(t, config, "max_concurrency = 1\nplugin \"versioned\" {\n  command = [%q, %q]\n%s}\n", v.path, v.ran, drain)
	}
	write("")
	r := runIn(t, v, "--config", config, "--format", "json", "versioned")
	for range 6 { // one runs, four wait
		r.enter(`tell {"for":%q} &`, gate)
	}
	if got := r.answer(); got != "E_LIMIT" {
		t.Errorf("the sixth call at once: %s, want E_LIMIT", got)
	}
	writeText(t, gate, "")
	for range 5 {
		if got := r.answer(); got != "1" {
			t.Errorf("a call that had its turn: %s", got)
		}
	}
	write("  drain_timeout = \"1ms\"\n")
	r.enter(`tell {"id":"long","for":%q} &`, filepath.Join(t.TempDir(), "never"))
	eventually(t, "the call runs", func() bool { return v.runs()["long"] == 1 })
	r.enter("reload")
	if got := r.answer(); got != "E_CANCELED" {
		t.Errorf("a call that goes on for more than drain_timeout: %s, want E_CANCELED", got)
	}
	r.call("tell", "1")
	r.end(exitOK)
}
