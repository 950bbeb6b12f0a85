//go:build unix

package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// A lifeline is a pipe with a name. Processes that open it for writing show by its end that they are gone.
type lifeline struct {
	path string
	ends chan error
}

func newLifeline(t *testing.T) *lifeline {
	t.Helper()
	l := &lifeline{path: filepath.Join(t.TempDir(), "lifeline"), ends: make(chan error, 1)}
	if err := syscall.Mkfifo(l.path, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		f, err := os.Open(l.path) // waits for the first writer
		if err == nil {
			_, err = io.Copy(io.Discard, f) // waits for the last one
			_ = f.Close()
		}
		l.ends <- err
	}()
	return l
}

// wantEnd waits for all processes that hold the pipe to end.
func (l *lifeline) wantEnd(t *testing.T) {
	t.Helper()
	select {
	case err := <-l.ends:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("a process that the command started is still there")
	}
}

// leftBehind is a command that leaves a process behind which holds the lifeline, as far out of reach as the system's
// containment promises to follow.
func (l *lifeline) leftBehind() string {
	start := "sh -c"
	if proctree.Containment() == "process-tree" {
		start = "setsid sh -c"
	}
	return start + ` 'exec 9>"` + l.path +
		`"; trap "" TERM HUP; echo up >&9; while :; do sleep 60 || :; done' >/dev/null 2>&1 & `
}

// call calls a tool with a context and a watcher of its own.
func call(ctx context.Context, t *testing.T, p *sdktest.Plugin, tool, arguments string,
	events func(sdk.Event)) (*sdk.Result, error) {
	t.Helper()
	return p.Call(ctx, &sdk.Request{CallID: t.Name(), RunID: rand.Text(), Tool: tool,
		Arguments: json.RawMessage(arguments), Workdir: t.TempDir(), Attempt: 1, Events: events})
}

// languages are the scripts of testdata/tools that this machine can run.
func languages(t *testing.T) (scripts map[string]string) {
	t.Helper()
	scripts = map[string]string{}
	for _, name := range []string{"sh", "python3", "node", "perl"} {
		script, err := filepath.Abs("testdata/tools/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := exec.Command(script).Run(); err == nil || name == "sh" {
			scripts[name] = script
		}
	}
	return scripts
}

func TestProjectsInSeveralLanguages(t *testing.T) {
	for language, script := range languages(t) {
		t.Run(language, func(t *testing.T) {
			p := newProject(t)
			c, d := configured(t, `{"timeout_seconds":60,"discovery_command":"`+script+`","call_command":"`+script+`"}`)
			var names []string
			for _, tool := range d.Tools {
				names = append(names, tool.Name)
			}
			if diff := cmp.Diff([]string{"add", "echo_it", "warn", "fail"}, names); diff != "" || len(d.Notices) != 0 {
				t.Fatalf("notices %q, tools (-want +got):\n%s", d.Notices, diff)
			}
			if got := contentOf(t, c.RunIn(t, p.dir, "add", `{"a":40,"b":2}`)); got != "42" {
				t.Errorf("the sum is %q", got)
			}
			if got := contentOf(t, c.RunIn(t, p.dir, "warn", `{}`)); got != "done" {
				t.Errorf("with a warning it gives %q", got)
			}
			r := c.RunIn(t, p.dir, "fail", `{}`)
			if wantError(t, r, "ToolFailed"); !strings.HasPrefix(r.Error.Message, "Stdout: partial\n") ||
				!strings.Contains(r.Error.Message, "\nExit Code: 3\n") {
				t.Errorf("the failure is %+v", r.Error)
			}
			echoes(t, c, p.dir, `{"text":"grüße 日本 😀","wait_for_previous":true}`)
		})
	}
}

func echoes(t *testing.T, c *sdktest.Plugin, dir, arguments string) {
	t.Helper()
	r := c.RunIn(t, dir, "echo_it", arguments)
	var got, want any
	if err := json.Unmarshal(r.Structured, &got); err != nil {
		t.Fatalf("%s: %v (error %+v)", r.Structured, err, r.Error)
	}
	_ = json.Unmarshal([]byte(`{"got":`+arguments+`}`), &want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCallCommand(t *testing.T) {
	p := newProject(t)
	t.Setenv("TOOLHOST_PLUGIN", "cookie")
	t.Setenv("PLUGIN_MIN_PORT", "1")
	t.Setenv("BASH_ENV", "/nowhere")
	t.Setenv("KEPT", "kept")
	c := p.calling(t, `env | grep -E '^(TOOLHOST_|PLUGIN_|BASH_ENV)'; pwd; echo "$PWD $KEPT"; printf '<%s>' "$@"; cat`,
		`{"discovery_command":"bin/get_tools","call_command":"bin/call_tool --mode 'a b'"}`)
	workdir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	arguments := "{ \"b\" :1.50,\t\"a\":\"\\u00e4 </>\", \"wait_for_previous\":true }"
	want := workdir + "\n" + workdir + " kept\n<--mode><a b><Tool Two>" + arguments
	if got := contentOf(t, c.RunIn(t, workdir, "tool_two", arguments)); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestNoArgumentsAreAnEmptyObject(t *testing.T) {
	c := newProject(t).calling(t, "cat", usual)
	if got := contentOf(t, c.Run(t, "one", "")); got != "{}" {
		t.Errorf("got %q", got)
	}
}

func TestSuccess(t *testing.T) {
	for _, test := range []struct{ name, script, text, structured string }{
		{"text", "echo ' raw text '", " raw text \n", ""},
		{"nothing", "true", "", ""},
		{"object", `echo ' {"a": 1.50}'`, " {\"a\": 1.50}\n", `{"a": 1.50}`},
		{"number", "printf 3", "3", ""},
		{"array", "printf '[1]'", "[1]", ""},
		{"almost an object", `printf '{"a":1'`, `{"a":1`, ""},
		{"two objects", `echo '{}{}'`, "{}{}\n", ""},
		{"stderr is no failure", "echo warning >&2; echo fine", "fine\n", ""},
		{"input not read", "exec 0<&-; echo fine", "fine\n", ""},
		{"not UTF-8", `printf 'a\377b'`, "a\uFFFDb", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newProject(t).calling(t, test.script, usual).Run(t, "one", `{}`)
			if got := contentOf(t, r); got != test.text || string(r.Structured) != test.structured || r.Truncated {
				t.Errorf("got %q, structured %q, truncated %v", got, r.Structured, r.Truncated)
			}
		})
	}
}

func TestFailure(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	for _, test := range []struct {
		name, script, message string
		content               string // when the message does not hold all
		code                  int
		signal                string
		stderr                string
	}{
		{"exit code", "printf 'partial\\n'; exit 3",
			"Stdout: partial\n\nStderr: (empty)\nError: (none)\nExit Code: 3\nSignal: (none)", "", 3, "", ""},
		{"stderr", "echo why >&2; exit 1", "Stdout: (empty)\nStderr: why\n\nError: (none)\nExit Code: 1\nSignal: (none)", "",
			1, "", "why\n"},
		{"signal", "kill -TERM $$", "Stdout: (empty)\nStderr: (empty)\nError: (none)\nExit Code: (none)\nSignal: SIGTERM", "",
			-1, "SIGTERM", ""},
		{"long output", `i=0; while [ $i -lt 100 ]; do i=$((i+1)); printf ääääääääää; done; echo why >&2; exit 7`,
			"Stdout: " + strings.Repeat("ä", 100) + " [... 1600 bytes left out ...] " + strings.Repeat("ä", 100) +
				"\nStderr: why\n\nError: (none)\nExit Code: 7\nSignal: (none)",
			"Stdout: " + long + "\nStderr: why\n\nError: (none)\nExit Code: 7\nSignal: (none)", 7, "", "why\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newProject(t).calling(t, test.script, usual).Run(t, "one", `{}`)
			wantError(t, r, "ToolFailed")
			if r.Error.Message != test.message {
				t.Errorf("message %q\nwant    %q", r.Error.Message, test.message)
			}
			var content string
			for _, c := range r.Content {
				content += c.Text
			}
			if content != test.content {
				t.Errorf("content %q\nwant    %q", content, test.content)
			}
			var s struct {
				Code   int `json:"exit_code"`
				Signal string
				Stderr string
			}
			if err := json.Unmarshal(r.Structured, &s); err != nil || s.Code != test.code || s.Signal != test.signal ||
				s.Stderr != test.stderr {
				t.Errorf("structured %s, %v", r.Structured, err)
			}
		})
	}
}

func TestCallCommandThatCannotRun(t *testing.T) {
	for _, test := range []struct{ name, command, fail, message string }{
		{"missing", "bin/nowhere", "CommandNotFound", "call_command: DIR/bin/nowhere cannot be run: no such file"},
		{"not in the PATH", "no-such-program-anywhere", "CommandNotFound",
			"call_command: no-such-program-anywhere cannot be run: not found in PATH"},
		{"in the folder, not in the PATH", "tools.json", "CommandNotFound",
			"call_command: tools.json cannot be run: not found in PATH; for the file of that name in the work folder write " +
				"./tools.json"},
		{"not executable", "./tools.json", "NotExecutable",
			"call_command: DIR/tools.json cannot be run: permission denied: it is not executable"},
		{"a folder", "./bin", "NotExecutable", "call_command: DIR/bin cannot be run: is a directory"},
		{"no #! line", "bin/text", "NotExecutable",
			"call_command: DIR/bin/text cannot be run: exec format error: neither a script with a #! line nor a program for " +
				"this machine"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProject(t)
			p.prints(t, `[{"name":"one"}]`)
			p.file(t, "bin/text", "just text\n", 0o755)
			c, _ := configured(t, `{"discovery_command":"bin/get_tools","call_command":"`+test.command+`"}`)
			r := c.RunIn(t, t.TempDir(), "one", `{}`)
			wantError(t, r, test.fail)
			if want := strings.ReplaceAll(test.message, "DIR", p.dir); r.Error.Message != want {
				t.Errorf("message %q\nwant    %q", r.Error.Message, want)
			}
		})
	}
}

func TestWorkdirMissing(t *testing.T) {
	c := newProject(t).calling(t, "true", usual)
	wantError(t, c.RunIn(t, filepath.Join(t.TempDir(), "nowhere"), "one", `{}`), "WorkdirNotFound")
}

func TestTimeout(t *testing.T) {
	l := newLifeline(t)
	c := newProject(t).calling(t, l.leftBehind()+`exec 8>"`+l.path+`"; echo so far; echo warning >&2; sleep 600`,
		`{"discovery_command":"bin/get_tools","call_command":"bin/call_tool","call_timeout_seconds":1.5}`)
	r := c.Run(t, "tool_two", `{}`)
	wantError(t, r, "Timeout")
	if want := "bin/call_tool 'Tool Two' was not done after 1.5s, and stopped, with everything it had " +
		"started"; r.Error.Message != want {
		t.Errorf("message %q, want %q", r.Error.Message, want)
	}
	if !strings.Contains(r.Error.Suggestion, "call_timeout_seconds") {
		t.Errorf("suggestion %q", r.Error.Suggestion)
	}
	want := "Stdout: so far\n\nStderr: warning\n\nError: not done after 1.5s, and stopped\nExit Code: (none)\nSignal: " +
		"SIGTERM"
	if len(r.Content) != 1 || r.Content[0].Text != want {
		t.Errorf("content %+v, want %q", r.Content, want)
	}
	l.wantEnd(t)
}

func TestNothingIsLeftBehind(t *testing.T) {
	l := newLifeline(t)
	c := newProject(t).calling(t, l.leftBehind()+`exec 8>"`+l.path+`"; echo done`, usual)
	if got := contentOf(t, c.Run(t, "one", `{}`)); got != "done\n" {
		t.Errorf("got %q", got)
	}
	l.wantEnd(t)
}

func TestInputThatNobodyReads(t *testing.T) {
	c := newProject(t).calling(t, "exit 0", usual)
	if got := contentOf(t, c.Run(t, "one", `{"a":"`+strings.Repeat("x", 900<<10)+`"}`)); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestOutputIsStreamed(t *testing.T) {
	p := newProject(t)
	gate := filepath.Join(p.dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	// The half of a character waits for its other half, which comes when the first line has been seen.
	c := p.calling(t, `printf 'one\303'; read word <"`+gate+`"; printf '\244'; echo "$word" >&2`, usual)
	opened := make(chan error, 1)
	var stdout, stderr string
	r, err := call(t.Context(), t, c, "one", `{}`, func(e sdk.Event) {
		if !utf8.Valid(e.Data) {
			t.Errorf("an event with %q", e.Data)
		}
		switch e.Stream {
		case "stdout":
			if stdout == "" {
				go func() { opened <- os.WriteFile(gate, []byte("go\n"), 0) }()
			}
			stdout += string(e.Data)
		case "stderr":
			stderr += string(e.Data)
		}
	})
	if err != nil || r.Error != nil {
		t.Fatalf("%v, %+v", err, r)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
	if stdout != "oneä" || stderr != "go\n" || contentOf(t, r) != "oneä" {
		t.Errorf("streamed %q and %q, content %q", stdout, stderr, contentOf(t, r))
	}
}

func TestFloodOfOutput(t *testing.T) {
	const printed = 200_000_000
	c := newProject(t).calling(t, "yes ä | head -c 200000000", usual)
	before, peak, streamed, events, reported := testutil.HeapInUse(), 0, 0, 0, false
	begin := time.Now()
	r, err := call(t.Context(), t, c, "one", `{}`, func(e sdk.Event) {
		streamed += len(e.Data)
		if len(e.Data) > 32<<10 {
			t.Errorf("an event of %d bytes", len(e.Data))
		}
		if events++; events%100 == 0 {
			peak = max(peak, testutil.HeapInUse())
		}
		reported = reported || strings.Contains(e.Message, "has too many events")
	})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	// 1 MiB ends in the middle of a character, which is left out too.
	want := strings.Repeat("ä\n", 349525) +
		"\n[... 198951425 bytes left out ...] Only the start is kept; ask for less at once."
	if got := contentOf(t, r); got != want || !r.Truncated {
		t.Errorf("kept %d bytes, want %d, ...%q; truncated %v", len(got), len(want), got[max(0, len(got)-60):], r.Truncated)
	}
	if streamed < 7<<20 || streamed > printed/2 || !reported {
		t.Errorf("%d bytes of %d were streamed, and that some are missing was reported: %v", streamed, printed, reported)
	}
	if peak == 0 || peak > before+32<<20 {
		t.Errorf("%d MiB were in use before, %d MiB meanwhile", before>>20, peak>>20)
	}
}

func TestLargestConfiguredOutputFitsTheWire(t *testing.T) {
	config := `{"discovery_command":"bin/get_tools","call_command":"bin/call_tool","max_output_bytes":1572864}`
	for name, script := range map[string]string{
		"object":  `printf '{"a":"'; head -c 1572855 /dev/zero | tr '\000' x; printf '"}'`,
		"failure": `head -c 3000000 /dev/zero | tr '\000' '\001' | tee /dev/stderr; exit 1`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newProject(t).calling(t, script, config).Run(t, "one", `{}`)
			if name == "failure" {
				wantError(t, r, "ToolFailed")
			}
			if got := len(r.Content[0].Text); got < 1572863 || len(r.Structured) == 0 {
				t.Errorf("%d bytes of text, %d of structured, error %+v", got, len(r.Structured), r.Error)
			}
		})
	}
}

// A deadline is one that the program has to end before, and that no one else keeps: a busy machine may need any time to
// notice an end.
type deadline struct {
	context.Context
	at time.Time
}

func (d deadline) Deadline() (time.Time, bool) { return d.at, true }

// A program that ignores SIGTERM is killed before the caller's deadline, so that its output can arrive.
func TestEndsBeforeTheCallersDeadline(t *testing.T) {
	t.Parallel()
	script := command{words: []string{"sh", "-c", `trap "" TERM; echo so far; while :; do sleep 600 || :; done`},
		program: "/bin/sh"}
	for name, had := range map[string]time.Duration{"4s": 4 * time.Second, "3s": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, s := deadline{t.Context(), time.Now().Add(had)}, &settings{maxOutput: 1 << 10}
			r, err := s.run(ctx, &sdk.Request{Workdir: t.TempDir()},
				programCall{command: script, timeout: time.Minute, timeSetting: "call_timeout_seconds"})
			e, ok := errors.AsType[*sdk.Error](err)
			if r == nil || !ok {
				t.Fatal(r, err)
			}
			r.Error = e
			wantError(t, r, "Timeout")
			const why = "; the caller or the user's configuration sets the limit of the call, and call_timeout_seconds " +
				"cannot raise it"
			if !strings.HasSuffix(r.Error.Message, why) ||
				r.Error.Suggestion != "Ask for less at once." {
				t.Errorf("error %+v", r.Error)
			}
			if len(r.Content) != 1 || !strings.HasPrefix(r.Content[0].Text, "Stdout: so far\n\n") ||
				!strings.HasSuffix(r.Content[0].Text, "\nSignal: SIGKILL") {
				t.Errorf("content %+v", r.Content)
			}
		})
	}
}

// From its SIGTERM to its SIGKILL passes no more time than the caller's deadline leaves.
func TestGraceOfACall(t *testing.T) {
	l := proctree.LimitsFor(deadline{t.Context(), time.Now().Add(3 * time.Second)}, time.Minute)
	if cmd := (command{words: []string{"true"}, program: "/bin/true"}).in(t.TempDir(), l); l.Grace >= time.Second ||
		cmd.Grace != l.Grace {
		t.Errorf("it has a grace of %s, and the deadline leaves %s", cmd.Grace, l.Grace)
	}
}

func TestCancel(t *testing.T) {
	l := newLifeline(t)
	c := newProject(t).calling(t, l.leftBehind()+`exec 8>"`+l.path+`"; echo up; sleep 600`, usual)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := call(ctx, t, c, "one", `{}`, func(e sdk.Event) {
		if e.Type == sdk.EventOutput {
			cancel()
		}
	})
	if code := sdk.CodeOf(err); code != sdk.CodeCanceled {
		t.Errorf("code %s: %v", code, err)
	}
	l.wantEnd(t)
}

// When the plugin is to stop, the caller gets the output so far.
func TestCanceledByThePlugin(t *testing.T) {
	p := newProject(t)
	p.prints(t, `[{"name":"one"}]`)
	p.script(t, "bin/call_tool", "echo so far; exec sleep 600")
	lis, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("unix:"+lis.Addr().String(),
		append(wire.DialOptions(0), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- sdktest.ServeListener(ctx, newPlugin(), lis) }()
	c := client.New(conn)
	if err := c.Configure(t.Context(), json.RawMessage(usual), p.dir, nil); err != nil {
		t.Fatal(err)
	}
	r, err := c.Call(t.Context(),
		&sdk.Request{CallID: t.Name(), Tool: "one", Workdir: p.dir, Attempt: 1, Arguments: json.RawMessage(`{}`),
			Events: func(e sdk.Event) {
				if e.Type == sdk.EventOutput {
					stop()
				}
			}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Error == nil || r.Error.Code != sdk.CodeCanceled ||
		r.Error.Message != "bin/call_tool one was canceled, and stopped, with everything it had started" {
		t.Errorf("error %+v", r.Error)
	}
	want := "Stdout: so far\n\nStderr: (empty)\nError: canceled, and stopped\nExit Code: (none)\nSignal: SIGTERM"
	if len(r.Content) != 1 || r.Content[0].Text != want || len(r.Structured) == 0 {
		t.Errorf("content %+v, want %q", r.Content, want)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// Calls that are over before their program is started say that it was not.
func TestEndedBeforeTheStart(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name     string
		ctx      context.Context
		ownTools time.Duration
		code     sdk.Code
		want     string
	}{
		{"canceled", canceled, time.Minute, sdk.CodeCanceled,
			"the call was canceled before tool was started; nothing was run"},
		{"no time", t.Context(), 0, sdk.CodeTimeout, "there was no time to start tool; nothing was run"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &settings{maxOutput: 1 << 10}
			j := programCall{command: command{words: []string{"tool"}, program: "tool"}, timeout: test.ownTools}
			r, err := s.run(test.ctx, &sdk.Request{Workdir: t.TempDir()}, j)
			if r != nil || sdk.CodeOf(err) != test.code || fmt.Sprint(err) != test.want {
				t.Errorf("%+v, %v; want %s", r, err, test.want)
			}
		})
	}
}

func TestEffectiveLimit(t *testing.T) {
	for _, test := range []struct {
		name, want string
		limit      limit
		raiseable  bool
	}{
		{"own", "late", limit{proctree.Limits{Run: time.Second}, "call_timeout_seconds"}, true},
		{"the caller's", "late; the caller or the user's configuration sets the limit of the call, and " +
			"call_timeout_seconds cannot raise it",
			limit{proctree.Limits{Run: 8998 * time.Millisecond, Call: 9997 * time.Millisecond}, "call_timeout_seconds"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := test.limit.exceeded("late")
			if e.Code != sdk.CodeTimeout || e.Message != test.want ||
				strings.Contains(e.Suggestion, "call_timeout_seconds") != test.raiseable {
				t.Errorf("got %+v, want the message %q", e, test.want)
			}
		})
	}
}
