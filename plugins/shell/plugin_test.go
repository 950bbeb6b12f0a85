package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// encodeArgs writes arguments as JSON.
func encodeArgs(t *testing.T, args map[string]any) json.RawMessage {
	t.Helper()
	out, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// execIn runs the tool in a folder.
func execIn(t *testing.T, p *sdktest.Plugin, workdir string, args map[string]any) *sdk.Result {
	t.Helper()
	return p.RunIn(t, workdir, "exec", string(encodeArgs(t, args)))
}

// A flatOutcome is the structured result of a call, with all keys beside each other.
type flatOutcome struct {
	Stdout, Stderr, Signal string
	Truncated              bool
	StdoutBytes            int64  `json:"stdout_bytes"`
	StderrBytes            int64  `json:"stderr_bytes"`
	StdoutFile             string `json:"stdout_file"`
	StderrFile             string `json:"stderr_file"`
	ExitCode               int    `json:"exit_code"`
	TimedOut               bool   `json:"timed_out"`
	DurationMS             int64  `json:"duration_ms"`
	Job                    *jobLine
	Jobs                   []jobLine
}

// outcomeOf reads the structured result.
func outcomeOf(t *testing.T, r *sdk.Result) flatOutcome {
	t.Helper()
	var o flatOutcome
	if err := json.Unmarshal(r.Structured, &o); err != nil {
		t.Fatalf("structured %q: %v (error %+v)", r.Structured, err, r.Error)
	}
	return o
}

// contentOf is the text of a result with the time taken out.
func contentOf(t *testing.T, r *sdk.Result) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("a result with %d parts, error %+v", len(r.Content), r.Error)
	}
	body, took, ok := strings.Cut(r.Content[0].Text, "\nDuration: ")
	if _, err := time.ParseDuration(took); !ok || err != nil {
		t.Fatalf("no duration at the end of %q", r.Content[0].Text)
	}
	return body
}

// wantError compares the name and code of a result's error, and words of its message.
func wantError(t *testing.T, r *sdk.Result, code sdk.Code, name string, words ...string) {
	t.Helper()
	if r.Error == nil {
		t.Fatalf("no error, want %s; content %+v", name, r.Content)
	}
	if r.Error.Name != name || r.Error.Code != code {
		t.Errorf("error %s %s, want %s %s: %s", r.Error.Code, r.Error.Name, code, name, r.Error.Message)
	}
	for _, w := range words {
		if !strings.Contains(r.Error.Message, w) {
			t.Errorf("message %q does not say %q", r.Error.Message, w)
		}
	}
}

func TestDefinition(t *testing.T) {
	d, err := sdktest.Start(t, newPlugin()).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d.Name != "shell" || d.Version != version || d.Dynamic || len(d.Tools) != 3 {
		t.Fatalf("plugin %s %s, dynamic %v, %d tools", d.Name, d.Version, d.Dynamic, len(d.Tools))
	}
	tool := d.Tools[0]
	for _, tool := range d.Tools {
		if err := tool.Check(); err != nil {
			t.Error(err)
		}
	}
	want := sdk.Hints{ReadOnly: sdk.No, Destructive: sdk.Yes, Idempotent: sdk.No, OpenWorld: sdk.Yes}
	if diff := cmp.Diff(want, tool.Hints); diff != "" {
		t.Errorf("hints (-want +got):\n%s", diff)
	}
	if tool.Timeout <= time.Hour {
		t.Errorf("the tool's timeout %v leaves no room for timeout_seconds = 3600", tool.Timeout)
	}
	if tool.Category != "shell" {
		t.Errorf("category %q", tool.Category)
	}
	for _, word := range []string{"fresh shell", "also what was started with &", "no terminal"} {
		if !strings.Contains(tool.Description, word) {
			t.Errorf("the description does not say %q", word)
		}
	}
}

func TestConfigure(t *testing.T) {
	for _, test := range []struct{ name, config, want string }{
		{"nothing", `{}`, ""},
		{"sh", `{"shell":"sh"}`, ""},
		{"least output", `{"max_output_bytes":1024}`, ""},
		{"most output", `{"max_output_bytes":262144}`, ""},
		{"another shell", `{"shell":"zsh"}`, `shell = "zsh": it must be "bash" or "sh"`},
		{"too little output", `{"max_output_bytes":1023}`, "max_output_bytes = 1023: it must be from 1024 to 262144"},
		{"too much output", `{"max_output_bytes":262145}`, "max_output_bytes = 262145: it must be from 1024 to 262144"},
		{"negative output", `{"max_output_bytes":-1}`, "max_output_bytes = -1: it must be from 1024 to 262144"},
		{"no such jobs", `{"max_jobs":65}`, "max_jobs = 65: it must be from 1 to 64"},
		{"one job", `{"max_jobs":1}`, ""},
		{"nothing saved", `{"save_output_bytes":0}`, ""},
		{"too much saved", `{"save_output_bytes":1073741825}`,
			"save_output_bytes = 1073741825: it must be from 0 to 1073741824"},
		{"interpreters", `{"interpreters":["python3.12","g++"]}`, ""},
		{"an interpreter with a folder", `{"interpreters":["/bin/sh"]}`,
			`interpreters has "/bin/sh": it must be the name of a program`},
		{"an interpreter with options", `{"interpreters":["node -e"]}`, `interpreters has "node -e"`},
		{"unknown key", `{"sheel":"sh"}`, `unknown field "sheel"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := sdktest.Start(t, newPlugin()).Unchecked().Configure(t.Context(), json.RawMessage(test.config), t.TempDir())
			if got := fmt.Sprint(err); test.want == "" && err != nil || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestConfiguredShell(t *testing.T) {
	for shell, want := range map[string]string{"bash": "bash", "sh": "none"} {
		p := sdktest.Start(t, newPlugin())
		p.MustConfigure(t, `{"shell":"`+shell+`"}`)
		// A bash that was started as sh sets BASH to sh.
		r := execIn(t, p, t.TempDir(), map[string]any{"command": `case "$BASH" in */bash) echo bash;; *) echo none;; esac`})
		if got := contentOf(t, r); got != want {
			t.Errorf("shell = %s runs %q, want %q", shell, got, want)
		}
	}
}

func TestShellMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	p := sdktest.Start(t, newPlugin())
	wantError(t, execIn(t, p, t.TempDir(), map[string]any{"command": "true"}), sdk.CodeTool, "ShellNotFound", `"bash"`)
	err := p.Configure(t.Context(), json.RawMessage(`{"shell":"sh"}`), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), `"sh": executable file not found`) {
		t.Errorf("configuring without a shell: %v", err)
	}
}

func TestExec(t *testing.T) {
	p := sdktest.Start(t, newPlugin()).Unchecked()
	for _, test := range []struct {
		name    string
		args    map[string]any
		content string
		want    flatOutcome
	}{
		{"stdout", map[string]any{"command": "echo out"}, "out",
			flatOutcome{Stdout: "out\n", StdoutBytes: 4}},
		{"no line break at the end", map[string]any{"command": "printf out"}, "out",
			flatOutcome{Stdout: "out", StdoutBytes: 3}},
		{"stderr alone", map[string]any{"command": "echo err >&2"}, "[stderr]\nerr",
			flatOutcome{Stderr: "err\n", StderrBytes: 4}},
		{"both and an exit code", map[string]any{"command": "printf out; printf err >&2; exit 3"},
			"out\n[stderr]\nerr\nExit code: 3",
			flatOutcome{Stdout: "out", StdoutBytes: 3, Stderr: "err", StderrBytes: 3, ExitCode: 3}},
		{"silence", map[string]any{"command": "true"}, "(no output)", flatOutcome{}},
		{"silent failure", map[string]any{"command": "false"}, "(no output)\nExit code: 1", flatOutcome{ExitCode: 1}},
		{"signal", map[string]any{"command": "echo x; kill -KILL $$"}, "x\nSignal: SIGKILL",
			flatOutcome{Stdout: "x\n", StdoutBytes: 2, ExitCode: -1, Signal: "SIGKILL"}},
		{"unknown command", map[string]any{"command": "no-such-command-anywhere 2>/dev/null"}, "(no output)\nExit code: 127",
			flatOutcome{ExitCode: 127}},
		{"input", map[string]any{"command": "cat", "stdin": "läßt\ngrüßen"}, "läßt\ngrüßen",
			flatOutcome{Stdout: "läßt\ngrüßen", StdoutBytes: 15}},
		{"no input", map[string]any{"command": "cat; echo end"}, "end", flatOutcome{Stdout: "end\n", StdoutBytes: 4}},
		{"no terminal", map[string]any{"command": "test -t 0 || test -t 1 || test -t 2 || echo none"}, "none",
			flatOutcome{Stdout: "none\n", StdoutBytes: 5}},
		{"environment", map[string]any{"command": `echo "$A-$B"`, "env": map[string]string{"A": "1 2", "B": "$A"}}, "1 2-$A",
			flatOutcome{Stdout: "1 2-$A\n", StdoutBytes: 7}},
		{"several lines", map[string]any{"command": "for i in 1 2\ndo echo $i\ndone"}, "1\n2",
			flatOutcome{Stdout: "1\n2\n", StdoutBytes: 4}},
		{"bash syntax", map[string]any{"command": `[[ ab == a* ]] && echo "${BASH_VERSION:+bash}"`}, "bash",
			flatOutcome{Stdout: "bash\n", StdoutBytes: 5}},
		{"not UTF-8", map[string]any{"command": `printf 'a\377\376b'`}, "a\uFFFDb",
			flatOutcome{Stdout: "a\uFFFDb", StdoutBytes: 4}},
		{"HTML is not escaped", map[string]any{"command": `echo '<a&b>'`}, "<a&b>",
			flatOutcome{Stdout: "<a&b>\n", StdoutBytes: 6}},
		{"zero timeout is the default", map[string]any{"command": "echo x", "timeout_seconds": 0}, "x",
			flatOutcome{Stdout: "x\n", StdoutBytes: 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := execIn(t, p, t.TempDir(), test.args)
			if r.Error != nil || r.Truncated {
				t.Fatalf("error %+v, truncated %v", r.Error, r.Truncated)
			}
			if got := contentOf(t, r); got != test.content {
				t.Errorf("content %q, want %q", got, test.content)
			}
			got := outcomeOf(t, r)
			if got.DurationMS < 0 || got.DurationMS > 60_000 {
				t.Errorf("a duration of %d ms", got.DurationMS)
			}
			got.DurationMS = 0
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("structured (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStructuredHasTheKeysOfTheSchema(t *testing.T) {
	p := sdktest.Start(t, newPlugin())
	for name, args := range map[string]map[string]any{
		"short":       {"command": "true"},
		"long":        {"command": "seq 1 100000 | tee /dev/stderr"},
		"in the back": {"command": "sleep 600", "background": true},
	} {
		wantKeys(t, name, execSchema, execIn(t, p, t.TempDir(), args).Structured)
	}
	wantKeys(t, "list", jobSchema, jobIn(t, p, "", jobArgs{Action: "list"}).Structured)
	wantKeys(t, "output", jobSchema, jobIn(t, p, "", jobArgs{Action: "output", ID: "job-1"}).Structured)
}

// wantKeys finds required keys of a schema that are missing, and keys that it does not describe.
func wantKeys(t *testing.T, name, text string, structured json.RawMessage) {
	t.Helper()
	var schema struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal([]byte(text), &schema); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(structured, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range schema.Required {
		if _, ok := got[key]; !ok || schema.Properties[key] == nil {
			t.Errorf("%s: %s: in the result: %v, described: %s", name, key, ok, schema.Properties[key])
		}
	}
	for key := range got {
		if schema.Properties[key] == nil {
			t.Errorf("%s: %s is not described", name, key)
		}
	}
}

func TestInvalidArguments(t *testing.T) {
	p := sdktest.Start(t, newPlugin()).Unchecked()
	for _, test := range []struct {
		name string
		args map[string]any
		want string
	}{
		{"no command", map[string]any{}, "command is blank; give the command line to run"},
		{"blank command", map[string]any{"command": " \t\n"}, "command is blank"},
		{"a code block", map[string]any{"command": " ```bash\nls\n```\n"}, "without the lines of ```"},
		{"line ends of Windows", map[string]any{"command": "cd sub\r\nls"}, "command has lines that end with CRLF"},
		{"a byte order mark", map[string]any{"command": "\uFEFFls"}, "command begins with a byte order mark"},
		{"NUL in the command", map[string]any{"command": "echo a\x00b"},
			"command has a NUL character, which no command line can hold; write it as \\0 for printf"},
		{"NUL in the workdir", map[string]any{"command": "true", "workdir": "a\x00b"},
			"workdir has a NUL character, which no path can hold; give it without"},
		{"negative timeout", map[string]any{"command": "true", "timeout_seconds": -1}, "timeout_seconds is -1"},
		{"too long a timeout", map[string]any{"command": "true", "timeout_seconds": 3601}, "at most 3600"},
		{"no name", map[string]any{"command": "true", "env": map[string]string{"": "x"}}, `env: "" is not a name`},
		{"= in a name", map[string]any{"command": "true", "env": map[string]string{"A=B": "x"}}, `env: "A=B" is not a name`},
		{"a function", map[string]any{"command": "true", "env": map[string]string{"BASH_FUNC_ls%%": "() { id; }"}},
			"is not a name"},
		{"NUL in a value", map[string]any{"command": "true", "env": map[string]string{"A": "\x00"}},
			"the value of A has a NUL"},
		{"start-up file", map[string]any{"command": "true", "env": map[string]string{"BASH_ENV": "x"}},
			"env: BASH_ENV may not be set here"},
		{"start-up file of sh", map[string]any{"command": "true", "env": map[string]string{"ENV": "x"}},
			"env: ENV may not be set here"},
		{"shell options", map[string]any{"command": "true", "env": map[string]string{"SHELLOPTS": "x"}}, "SHELLOPTS may not"},
		{"preloaded code", map[string]any{"command": "true", "env": map[string]string{"LD_PRELOAD": "x"}},
			"LD_PRELOAD may not"},
		{"the host's names", map[string]any{"command": "true", "env": map[string]string{"TOOLHOST_PLUGIN": "x"}},
			"TOOLHOST_PLUGIN may not"},
		{"the wire's names", map[string]any{"command": "true", "env": map[string]string{"PLUGIN_MIN_PORT": "1"}},
			"PLUGIN_MIN_PORT may not"},
		{"unknown argument", map[string]any{"command": "true", "cwd": "x"}, `unknown field "cwd"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			words := []string{test.want, "; nothing was run"}
			if strings.HasPrefix(test.want, "unknown field") {
				words = words[:1] // the sdk checks it
			}
			wantError(t, execIn(t, p, t.TempDir(), test.args), sdk.CodeInvalidArgs, "InvalidArguments", words...)
		})
	}
}

func TestCommandTooLong(t *testing.T) {
	p := sdktest.Start(t, newPlugin())
	r := execIn(t, p, t.TempDir(), map[string]any{"command": ": " + strings.Repeat("x", 900<<10)})
	if r.Error != nil { // systems differ in how long a command may be
		wantError(t, r, sdk.CodeTool, "CommandTooLong")
	}
}

func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	startup := filepath.Join(dir, "startup")
	if err := os.WriteFile(startup, []byte("echo startup file was read\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"BASH_ENV": startup, "ENV": startup, "SHELLOPTS": "xtrace", "BASH_FUNC_env%%": "() { echo a function was run; }",
		"TOOLHOST_PLUGIN": "cookie", "TOOLHOST_HOST_PID": "1", "PLUGIN_MIN_PORT": "1", "KEPT": "kept", "PWD": "/stale",
	} {
		t.Setenv(name, value)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := execIn(t, sdktest.Start(t, newPlugin()), dir,
		map[string]any{"command": "env; pwd", "env": map[string]string{"KEPT": "changed"}})
	got := outcomeOf(t, r)
	lines := strings.Split(got.Stdout, "\n")
	for _, line := range lines {
		if regexp.MustCompile(`^(BASH_ENV|ENV|SHELLOPTS|BASH_FUNC_.*|TOOLHOST_.*|PLUGIN_.*)=|^KEPT=kept|stale|was ` +
			`r[ue]`).MatchString(line) {
			t.Errorf("the command got %q", line)
		}
	}
	for _, want := range []string{"KEPT=changed", "PWD=" + dir, dir} {
		if !strings.Contains(got.Stdout, want+"\n") {
			t.Errorf("the command did not get %s:\n%s", want, got.Stdout)
		}
	}
	if got.Stderr != "" {
		t.Errorf("stderr %q", got.Stderr)
	}
}

func TestWorkdir(t *testing.T) {
	root := t.TempDir()
	workspace, sibling := filepath.Join(root, "space"), filepath.Join(root, "space-evil")
	for _, dir := range []string{filepath.Join(workspace, "sub", "deep"), sibling} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(workspace, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"in": "sub/deep", "in-absolute": filepath.Join(workspace, "sub"),
		"out": sibling, "up": "..", "gone": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(workspace, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(workspace, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	p := sdktest.Start(t, newPlugin())
	for _, test := range []struct{ name, workspace, workdir, want, fail string }{
		{"none", workspace, "", "", ""},
		{"dot", workspace, ".", "", ""},
		{"relative", workspace, "sub/deep", "sub/deep", ""},
		{"back and forth", workspace, "sub/../sub", "sub", ""},
		{"absolute", workspace, filepath.Join(workspace, "sub"), "sub", ""},
		{"link inside", workspace, "in", "sub/deep", ""},
		{"absolute link inside", workspace, "in-absolute", "sub", ""},
		{"workspace by a link", filepath.Join(root, "link"), "sub", "sub", ""},
		{"absolute, workspace by a link", filepath.Join(root, "link"), filepath.Join(workspace, "sub"), "sub", ""},
		{"absolute by the link too", filepath.Join(root, "link"), filepath.Join(root, "link", "sub"), "sub", ""},
		{"parent", workspace, "..", "", "PathOutsideWorkspace"},
		{"parent that does not exist", workspace, "../nowhere", "", "PathOutsideWorkspace"},
		{"same beginning", workspace, sibling, "", "PathOutsideWorkspace"},
		{"root", workspace, "/", "", "PathOutsideWorkspace"},
		{"link outside", workspace, "out", "", "PathOutsideWorkspace"},
		{"link to the parent", workspace, "up", "", "PathOutsideWorkspace"},
		{"through a link outside", workspace, "out/../space-evil", "", "WorkdirNotFound"},
		{"dangling link", workspace, "gone", "", "WorkdirNotFound"},
		{"missing", workspace, "sub/nowhere", "", "WorkdirNotFound"},
		{"file", workspace, "file", "", "WorkdirNotFound"},
		{"below a file", workspace, "file/x", "", "WorkdirNotFound"},
		{"too long", workspace, strings.Repeat("x", 5000), "", "WorkdirNotFound"},
		{"workspace missing", filepath.Join(root, "nowhere"), "", "", "WorkdirNotFound"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := execIn(t, p, test.workspace, map[string]any{"command": "pwd -P; pwd", "workdir": test.workdir})
			if test.fail != "" {
				wantError(t, r, sdk.CodeTool, test.fail, "; nothing was run")
				if r.Error.Suggestion == "" {
					t.Error("it does not say what to do")
				}
				return
			}
			want, err := filepath.EvalSymlinks(filepath.Join(workspace, test.want))
			if err != nil {
				t.Fatal(err)
			}
			if got := contentOf(t, r); got != want+"\n"+want {
				t.Errorf("ran in %q, want %q", got, want)
			}
		})
	}
}

// withDeadline calls the tool with its own context.
func withDeadline(ctx context.Context, t *testing.T, p *sdktest.Plugin, events func(sdk.Event),
	args map[string]any) (*sdk.Result, error) {
	t.Helper()
	return p.Call(ctx, &sdk.Request{CallID: t.Name(), RunID: rand.Text(), Tool: "exec", Arguments: encodeArgs(t, args),
		Workdir: t.TempDir(), Attempt: 1, Events: events})
}
