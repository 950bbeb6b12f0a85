//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// A deadline is one that only the command must meet: a busy machine may take any time to notice an end.
type deadline struct {
	context.Context
	at time.Time
}

func (d deadline) Deadline() (time.Time, bool) { return d.at, true }

// A command that ignores SIGTERM is killed before the caller's deadline, so that its output can arrive.
func TestEndsBeforeTheCallersDeadline(t *testing.T) {
	t.Parallel()
	for name, had := range map[string]time.Duration{"4s": 4 * time.Second, "3s": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := deadline{t.Context(), time.Now().Add(had)}
			s := newShell()
			defer s.end()
			r, err := s.exec(ctx, &sdk.Request{Workdir: t.TempDir()},
				execArgs{Command: `trap "" TERM; echo so far; while :; do sleep 600 || :; done`})
			e, ok := errors.AsType[*sdk.Error](err)
			if r == nil || !ok {
				t.Fatal(r, err)
			}
			r.Error = e
			wantError(t, r, sdk.CodeTimeout, "Timeout", "the limit of the call", "timeout_seconds cannot raise it")
			if o := outcomeOf(t, r); o.Stdout != "so far\n" || o.Signal != "SIGKILL" || !o.TimedOut {
				t.Errorf("structured %+v", o)
			}
			if got := contentOf(t, r); got != "so far" {
				t.Errorf("content %q", got)
			}
		})
	}
}

// Between its SIGTERM and its SIGKILL passes no more time than the caller's deadline leaves.
func TestGraceOfACall(t *testing.T) {
	ctx := deadline{t.Context(), time.Now().Add(3 * time.Second)}
	s, cmd, l := testShell(t), proctree.Command("true"), limit{Limits: proctree.LimitsFor(ctx, time.Minute)}
	if _, err := s.run(ctx, &sdk.Request{}, cmd, l); err != nil || l.Grace >= time.Second || cmd.Grace != l.Grace {
		t.Errorf("%v; it has a grace of %s, and the deadline leaves %s", err, cmd.Grace, l.Grace)
	}
}

// When the plugin is to stop, the caller gets the output so far.
func TestCanceledByThePlugin(t *testing.T) {
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
	r, err := client.New(conn).Call(t.Context(),
		&sdk.Request{CallID: t.Name(), Tool: "exec", Workdir: t.TempDir(), Attempt: 1,
			Arguments: json.RawMessage(`{"command":"echo so far; exec sleep 600"}`), Events: func(e sdk.Event) {
				if e.Type == sdk.EventOutput {
					stop()
				}
			}})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, r, sdk.CodeCanceled, "Canceled",
		"the call was canceled and the command was stopped, with everything it had started")
	if o := outcomeOf(t, r); o.Stdout != "so far\n" || o.Signal != "SIGTERM" || o.TimedOut {
		t.Errorf("structured %+v", o)
	}
	if got := contentOf(t, r); got != "so far" {
		t.Errorf("content %q", got)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestEndedBeforeTheStart(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name  string
		ctx   context.Context
		limit limit
		code  sdk.Code
		want  string
	}{
		{"canceled", canceled, limit{Limits: proctree.Limits{Run: time.Minute}}, sdk.CodeCanceled,
			"the call was canceled before the command was started; nothing was run"},
		{"no time", t.Context(), limit{}, sdk.CodeTimeout, "there was no time to start the command; nothing was run"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := testShell(t).run(test.ctx, &sdk.Request{}, proctree.Command("true"), test.limit)
			if r != nil || sdk.CodeOf(err) != test.code || fmt.Sprint(err) != test.want {
				t.Errorf("%+v, %v; want %s", r, err, test.want)
			}
		})
	}
}

// roleVar makes the test binary a process that has a job and a file, and runs the command that it names.
const roleVar = "SHELL_TEST_JOB"

func TestMain(m *testing.M) {
	if command := os.Getenv(roleVar); command != "" {
		servePlugin(command)
		return
	}
	testutil.Launcher()
	os.Exit(runAll(m))
}

// runAll runs the tests with a folder for files that plugins leave.
func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "")
	if err == nil {
		err = os.Setenv("TMPDIR", dir)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	return m.Run()
}

func servePlugin(command string) {
	l := &outputStore{}
	files := &sessionOutput{outputStore: l, limit: 100}
	_, wrong := files.open("stdout")
	cmd := proctree.Command("bash", "-c", command)
	cmd.Stdout = os.Stdout
	_, err := newJobs().begin("", command, cmd, newTranscript(minKeep, files), 1, 0)
	if err != nil || wrong != nil {
		fmt.Println(err, wrong)
	}
	select {}
}

// A plugin that is killed leaves no job behind. Its output stays for a while.
func TestPluginIsKilled(t *testing.T) {
	if proctree.Containment() != "process-tree" {
		return // elsewhere nothing is left to end the job
	}
	l, dir := newLifeline(t), t.TempDir()
	plugin := exec.Command(os.Args[0])
	plugin.Env = append(os.Environ(), "TMPDIR="+dir, roleVar+"="+l.leftBehind()+`exec 8>"`+l.path+`"; echo up; sleep 600`)
	out, err := plugin.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := plugin.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "up\n" {
		t.Errorf("it says %q, %v", line, err)
	}
	removeAbandoned(dir)
	if left, _ := filepath.Glob(filepath.Join(dir, folderPrefix+"*", "*.txt")); len(left) != 1 {
		t.Errorf("while it runs there are the files %q", left)
	}
	_ = plugin.Process.Kill()
	_ = plugin.Wait()
	l.wantEnd(t)
	removeAbandoned(dir)
	left, _ := filepath.Glob(filepath.Join(dir, folderPrefix+"*", "*.txt"))
	if len(left) != 1 {
		t.Fatalf("it leaves the files %q", left)
	}
	long := time.Now().Add(-2 * leftAge)
	if err := os.Chtimes(left[0], long, long); err != nil {
		t.Fatal(err)
	}
	removeAbandoned(dir)
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
		t.Errorf("later it leaves %q", left)
	}
}

func TestTerminal(t *testing.T) {
	p := sdktest.Start(t, newPlugin())
	for _, test := range []struct {
		name string
		args map[string]any
		want string
	}{
		{"there is one", map[string]any{"command": "test -t 0 && test -t 1 && test -t 2 && echo yes; stty size; echo $TERM"},
			"yes\n24 80\nxterm-256color"},
		{"of a given size", map[string]any{"command": "stty size", "columns": 132, "rows": 50}, "50 132"},
		{"of a given kind", map[string]any{"command": "echo $TERM", "env": map[string]string{"TERM": "dumb"}}, "dumb"},
		{"plain text", map[string]any{"command": `printf '\033[31mred\033[0m\n10%%\r20%%\rdone\n'`}, "red\ndone"},
		{"both outputs as one", map[string]any{"command": "echo a; echo b >&2; echo c"}, "a\nb\nc"},
		{"no line break at the end", map[string]any{"command": "printf 'a\nb'"}, "a\nb"},
		{"input is typed", map[string]any{"command": "stty -echo; read a; printf '\r'; read b; echo $b $a",
			"stdin": "1\n2\n"}, "2 1"},
		{"much input", map[string]any{"command": "stty -echo; wc -c",
			"stdin": strings.Repeat(strings.Repeat("x", 999)+"\n", 200)}, "200000"},
		{"input has an end", map[string]any{"command": "cat; echo end"}, "end"},
		{"no pager", map[string]any{"command": "echo $PAGER $GIT_PAGER"}, "cat cat"},
		{"but a given one", map[string]any{"command": "echo $PAGER", "env": map[string]string{"PAGER": "more"}}, "more"},
		{"exit code", map[string]any{"command": "exit 3"}, "(no output)\nExit code: 3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.args["pty"] = true
			r := execIn(t, p, t.TempDir(), test.args)
			if r.Error != nil {
				t.Fatalf("error %+v", r.Error)
			}
			got := contentOf(t, r)
			if test.args["stdin"] != nil { // echoed, if it was typed before the echo was off
				got = got[max(0, strings.LastIndex(got, test.want)):]
			}
			if got != test.want {
				t.Errorf("content %q, want %q", got, test.want)
			}
			if o := outcomeOf(t, r); o.Stderr != "" {
				t.Errorf("stderr is %q", o.Stderr)
			}
		})
	}
}

func TestTerminalLeavesNothingBehind(t *testing.T) {
	l := newLifeline(t)
	r := execIn(t, sdktest.Start(t, newPlugin()), t.TempDir(),
		map[string]any{"pty": true, "command": l.leftBehind() + `exec 8>"` + l.path + `"; echo done`})
	if r.Error != nil || outcomeOf(t, r).Stdout != "done\n" {
		t.Fatalf("error %+v, %s", r.Error, r.Structured)
	}
	l.wantEnd(t)
}

func TestTerminalTimeout(t *testing.T) {
	l := newLifeline(t)
	r := execIn(t, sdktest.Start(t, newPlugin()), t.TempDir(), map[string]any{"pty": true, "timeout_seconds": 1,
		"command": `exec 9>"` + l.path + `"; printf 'half a line'; sleep 600`})
	wantError(t, r, sdk.CodeTimeout, "Timeout")
	if o := outcomeOf(t, r); o.Stdout != "half a line" || !o.TimedOut {
		t.Errorf("%+v", o)
	}
	l.wantEnd(t)
}

func TestBadTerminals(t *testing.T) {
	p := sdktest.Start(t, newPlugin()).Unchecked()
	for want, args := range map[string]map[string]any{
		"columns and rows are the size of a terminal, and there is none; set pty too": {"command": "true", "columns": 100},
		"the terminal is 1001 by 0; columns and rows must be from 1 to 1000": {"command": "true", "pty": true,
			"columns": 1001},
		"stdin has a line of 1001 bytes, and a terminal takes at most 1000": {"command": "true", "pty": true,
			"stdin": "a\n" + strings.Repeat("x", 1001) + "\nb"},
		"the terminal is 0 by -1": {"command": "true", "pty": true, "rows": -1},
	} {
		wantError(t, execIn(t, p, t.TempDir(), args), sdk.CodeInvalidArgs, "InvalidArguments", want, "; nothing was run")
	}
}
