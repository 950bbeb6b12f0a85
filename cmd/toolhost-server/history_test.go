package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/internal/wire"
)

// A home is a user's folders, with the programs of this commit.
type home struct {
	dir, bin string
	env      []string
	log      io.Writer // of what serving starts; nil drops it
}

// programs is the folder of this commit's programs, built once for all tests.
var programs string

func TestMain(m *testing.M) {
	if os.Getenv(wire.EnvCookie) != "" {
		servePlugin()
	}
	testutil.DefaultSignals()
	// with a umask of 0 others could write to it, and it would not be run as a plugin
	if own, err := os.Executable(); err == nil {
		_, _ = os.Chmod(own, 0o755), os.Chmod(filepath.Dir(own), 0o755)
	}
	dir, err := os.MkdirTemp("", "toolhost-server-test")
	if err == nil {
		err = testutil.Programs(dir, "cmd/toolhost-server", "cmd/toolhost", "plugins/readfile", "plugins/discover",
			"plugins/shell")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programs = dir
	code := m.Run()
	_ = os.RemoveAll(dir) // among the system's temporary files
	os.Exit(code)
}

func newHome(t *testing.T) *home {
	t.Helper()
	h := &home{dir: t.TempDir(), bin: programs}
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); !strings.HasPrefix(name, "TOOLHOST_") {
			h.env = append(h.env, variable)
		}
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME",
		"XDG_RUNTIME_DIR"} {
		h.env = append(h.env, name+"="+h.dir)
	}
	h.env = append(h.env, "NO_COLOR=1")
	h.write(t, "config.hcl", "audit {\n  path = \"audit.jsonl\"\n}\nhistory {\n  keep_days = 36500\n}\n")
	return h
}

func (h *home) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (h *home) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(filepath.Join(h.bin, "toolhost"), args...) // the test ends after its context
	cmd.Dir, cmd.Env = h.dir, h.env
	return cmd
}

// run returns what a command prints, and its exit code.
func (h *home) run(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := h.command(t, append([]string{"--config", filepath.Join(h.dir, "config.hcl")}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	code := 0
	if ended, is := errors.AsType[*exec.ExitError](err); is {
		code = ended.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s%s%d", &stdout, &stderr, code)
}

// A running host does not begin another record in place of one that was removed: what is said to look at it says so.
func TestRecordThatWasRemoved(t *testing.T) {
	h := newHome(t).withPlugin(t, "audit {\n  path = \"audit.jsonl\"\n}\n")
	_, _, ended := h.serving(t)
	h.run(t, "call", "readfile__read", "path=note.txt")
	for _, name := range audit.Files(filepath.Join(h.dir, "audit.jsonl")) {
		if err := os.Remove(name); err != nil {
			t.Skip(err) // Windows keeps what is open
		}
	}
	expect(t, h.run(t, "audit", "verify"), "there is no record yet", "`toolhost serve --upgrade` begins another", "\n2")
	expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
	waitFor(t, ended)
	h.run(t, "call", "readfile__read", "path=note.txt")
	expect(t, h.run(t, "audit", "verify"), "chain ok", "\n0")
}

// toolhost history prints the same with a running host and without one.
func TestHistoryWithAHostAndWithout(t *testing.T) {
	h := newHome(t)
	l, err := audit.Open(filepath.Join(h.dir, "audit.jsonl"), audit.Options{Content: true})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 1500 {
		r := audit.Record{Time: time.Date(2026, 11, 20, 10, 0, n, 0, time.UTC), Kind: audit.KindCall, Status: "ok",
			CallID: fmt.Sprint("call", n), Tool: "shell__exec", Plugin: "shell", Reason: "=1+1\x1b[2J", DurationMS: 12,
			Arguments: []byte(`{"command":"ls main.go"}`)}
		if n%500 == 7 {
			r.Status, r.Code, r.Reason = "error", "E_TOOL", "permission denied"
		}
		if err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range []audit.Record{{Kind: audit.KindDecision, CallID: "lost"},
		{Kind: audit.KindCall, CallID: "inner", ViaCallID: "call7", Tool: "edit__write"}} {
		r.Time = time.Date(2026, 11, 19, 10, 0, 0, 0, time.UTC)
		if err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	requests := []struct {
		args string
		want []string // parts of what is printed
	}{
		{"history search permission denied", []string{"call1007 ", "call507 ", "call7 ", "E_TOOL  12.0 ms   permission denied"}},
		{"history search --status error --oldest-first -n 1 --format json", []string{`"call_id":"call7"`, `"code":"E_TOOL"`}},
		{"history search --tool shell__* --since 2026-11-20T10:00:00Z --until 2026-11-20T10:00:02Z", []string{"call0 ", "call1 "}},
		{"history search -n 1200 --status ok", []string{"call300 "}},
		{"history search nothing", []string{"no call matches\n0"}},
		{"history search nothing --format json", []string{"no call matches\n0"}},
		{"history search --at-least -5s", []string{"choose a time above zero", "\n2"}},
		{"history search --code E_BOGUS", []string{`no call has the error code "E_BOGUS"`, "\n2"}},
		{"history stats --effect bogus", []string{`"bogus" is not a known effect`, "\n2"}},
		{"history export --since 2026-11-21 --until 2026-11-20", []string{"choose an end after the beginning", "\n2"}},
		{"history search ?!", []string{"no letters or digits", "\n2"}},
		{"history search --since yesterday", []string{`--since: "yesterday" is not a time`, "\n2"}},
		{"history show call7", []string{`"call_id": "call7"`, `"command": "ls main.go"`}},
		{"history show call7", []string{"1 call on its behalf:\nTIME ", "REASON\n", "inner "}},
		{"history show", []string{"name one call: toolhost history show CALL", "\n2"}},
		{"history stats --until 2026-11-20", []string{"1 call without an end\n0"}},
		{"history show nope", []string{"the record has no call nope", "\n2"}},
		{"history stats --status error --since 2026-11-20 --until 2026-11-21 --by code", []string{"E_TOOL", "12 ms"}},
		{"history export --format csv --limit 1", []string{`"call0","shell__exec"`, "\"'=1+1"}},
		{"history export --status error", []string{`"call_id":"call1007"`, `"hash":`}},
	}
	before := map[string]string{}
	for _, r := range requests {
		got := h.run(t, strings.Fields(r.args)...)
		for _, want := range r.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q:\n%.2000s", r.args, want, got)
			}
		}
		if strings.Contains(got, "\x1b") && !strings.Contains(r.args, "export") {
			t.Errorf("%s prints an escape", r.args)
		}
		before[r.args] = got
	}
	expect(t, h.run(t, "history", "rebuild", "--profile", "x"), "unknown flag: --profile") // a record is that of all profiles
	if got := h.run(t, "history", "rebuild"); got != "0" {
		t.Error(got)
	}
	h.serve(t)
	for _, r := range requests {
		got := h.run(t, strings.Fields(r.args)...)
		if got != before[r.args] {
			t.Errorf("%s: a running host has\n%.1000s\nwithout one there is\n%.1000s", r.args, got, before[r.args])
		}
	}
	if got := h.run(t, "history", "search", "--verbose", "--status", "error"); !strings.Contains(got, "the running host") {
		t.Errorf("the running host was not asked:\n%s", got)
	}
}

// The user's own record is searched in a folder whose configuration may say how long its index keeps calls only once it
// is trusted, and only if it has calls recorded there.
func TestAConfigurationThatIsNotTrustedRemovesNothingFromTheIndex(t *testing.T) {
	h := newHome(t)
	l, err := audit.Open(filepath.Join(h.dir, "toolhost", "audit.jsonl"), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3000 {
		err := l.Append(audit.Record{Time: time.Date(2026, 11, 20, 10, 0, n, 0, time.UTC), Kind: audit.KindCall, Status: "ok",
			CallID: fmt.Sprint("call", n), Tool: "shell__exec"})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(h.dir, "project")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	count := func(args ...string) int {
		t.Helper()
		cmd := h.command(t, append(args, "history", "search", "-n", "5000")...)
		cmd.Dir = project
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(out), "shell__exec")
	}
	for _, keep := range []string{"keep_days = 1", "keep_calls = 1", "keep_days = 1\n  keep_calls = 1"} {
		text := "audit {}\nhistory {\n  " + keep + "\n}\n"
		h.write(t, "project/config.hcl", text)
		if n := count(); n != 3000 {
			t.Errorf("with %q, which is not trusted, %d calls are found", text, n)
		}
		if n := count("--config", "config.hcl"); n > 1024 {
			t.Errorf("with %q, which is trusted, %d calls are found", text, n)
		}
		if err := os.Remove(filepath.Join(h.dir, "toolhost", "audit.jsonl.index")); err != nil { // to begin again
			t.Fatal(err)
		}
	}
	h.write(t, "project/config.hcl", "") // records nothing
	if n := count("--config", "config.hcl"); n != 3000 {
		t.Errorf("with a configuration that records nothing, %d calls are found", n)
	}
}

// The record of a configuration that cannot be used is not known, and another one is not taken for it.
func TestTheRecordOfABrokenConfigurationIsNotKnown(t *testing.T) {
	h := newHome(t)
	h.write(t, "config.hcl", "audit {\n")
	for _, args := range [][]string{{"audit", "tail"}, {"audit", "verify"}, {"history", "search"}} {
		got := h.run(t, args...)
		if !strings.Contains(got, "config.hcl:1") || !strings.Contains(got, "name the record to look at it") ||
			!strings.HasSuffix(got, "\n2") {
			t.Errorf("%q: %s", args, got)
		}
	}
}

// A call that cannot be made answers, and is recorded, alike by a running host and without one.
func TestCallsOfUnknownToolsAreRecordedOnBothRoutes(t *testing.T) {
	h := newHome(t)
	h.write(t, "config.hcl", "audit {\n  path = \"audit.jsonl\"\n  content = true\n}\n"+
		"plugin \"readfile\" {\n  command = [\"toolhost-plugin-readfile\"]\n}\n"+
		"plugin \"broken\" {\n  command = [\"./broken\"]\n}\n")
	h.write(t, "broken", "#!/bin/sh\nexit 3\n")
	if err := os.Chmod(filepath.Join(h.dir, "broken"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.env = append(h.env, "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	calls := [][]string{{"nosuch__tool"}, {"nosuch__tool", "{}"}, {"nosuch__tool", "x=1"}, {"nosuch__tool", "x=1", "y:=[2]"},
		{"readfile__nosuch", "path=a"}, {"readfile__read", "path=a.txt"}, {"broken__tool", "x=1"}, {"tool", "x=1"}}
	recorded := func(from int) (out []string) {
		for r, err := range audit.Read(filepath.Join(h.dir, "audit.jsonl")) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Kind == audit.KindCall {
				out = append(out, fmt.Sprintf("%s %s %s %s %s", r.Tool, r.Arguments, r.Status, r.Code, r.Outcome))
			}
		}
		return out[min(from, len(out)):]
	}
	var alone []string
	for _, args := range calls {
		alone = append(alone, h.run(t, append([]string{"--standalone", "call"}, args...)...))
	}
	before := recorded(0)
	if len(before) != len(calls) {
		t.Fatalf("%d calls are recorded: %q", len(before), before)
	}
	h.serve(t)
	for n, args := range calls {
		got := h.run(t, append([]string{"call"}, args...)...)
		first, _, _ := strings.Cut(got, "\n")
		if args[0] == "broken__tool" { // how long until it is started again is another time
			first = "E_PLUGIN_UNAVAILABLE"
		}
		if !strings.Contains(got, first) || !strings.Contains(alone[n], first) {
			t.Errorf("%q: a running host answers\n%s\nwithout one there is\n%s", args, got, alone[n])
		}
	}
	var after []string
	for deadline := time.Now().Add(time.Minute); len(after) < len(calls) && time.Now().Before(deadline); {
		after = recorded(len(before)) // which is a moment later than the answer
	}
	if got, want := strings.Join(after, "\n"), strings.Join(before, "\n"); got != want {
		t.Errorf("a running host records\n%s\nwithout one there is\n%s", got, want)
	}
}

// Paths that name no record, and a record that was removed, are told apart; all are errors of use.
func TestHistoryOfNoRecord(t *testing.T) {
	h := newHome(t)
	expect := func(want string, args ...string) {
		t.Helper()
		if got := h.run(t, append([]string{"history"}, args...)...); !strings.Contains(got, want) || !strings.HasSuffix(got,
			"\n2") {
			t.Errorf("%q: %s, want %q", args, got, want)
		}
	}
	expect("there is no record yet", "search")
	expect("there is no file", "search", "--record", "/nonexistent/audit.jsonl")
	expect("is not a regular file", "search", "--record", h.dir)
	h.write(t, "README.md", "# README\n\nof no record")
	got := h.run(t, "history", "search", "--record", filepath.Join(h.dir, "README.md"))
	if !strings.Contains(got, "README.md has no line of a record") || !strings.HasSuffix(got, "\n2") {
		t.Error(got)
	}
	expect("--index is for the record that --record names", "search", "--index", "x")
	expect("--index is for the record that --record names", "rebuild", "--index", "x")
	l, err := audit.Open(filepath.Join(h.dir, "audit.jsonl"), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Append(audit.Record{Kind: audit.KindCall, CallID: "a"}), l.Close()); err != nil {
		t.Fatal(err)
	}
	h.serve(t)
	expect("--index is for the record that --record names", "search", "--index", "x") // as without a host
	if err := os.Remove(filepath.Join(h.dir, "audit.jsonl")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"search"}, {"--standalone", "search"}} {
		got := h.run(t, append([]string{"history"}, args...)...)
		if !strings.Contains(got, "audit.jsonl is gone, and its head knows 1 record") {
			t.Errorf("%q: %s", args, got)
		}
	}
}

// serve starts a host, which ends with the test.
func (h *home) serve(t *testing.T) {
	t.Helper()
	cmd := h.command(t, "--config", filepath.Join(h.dir, "config.hcl"), "serve", "--address", "127.0.0.1:0")
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if first, err := lines.ReadString('\n'); err != nil {
		_ = cmd.Wait()
		t.Fatalf("%q %v\n%s", first, err, &log)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_, _ = lines.WriteTo(&bytes.Buffer{})
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, &log)
		}
	})
}
