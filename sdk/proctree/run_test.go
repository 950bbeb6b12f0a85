//go:build unix

package proctree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestExit(t *testing.T) {
	tests := []struct {
		script string
		code   int
		signal syscall.Signal
		text   string
	}{
		{"exit 0", 0, 0, "exit code 0"},
		{"exit 1", 1, 0, "exit code 1"},
		{"exit 255", 255, 0, "exit code 255"},
		{"kill -KILL $$", -1, syscall.SIGKILL, "killed by SIGKILL"},
		{"kill -TERM $$", -1, syscall.SIGTERM, "killed by SIGTERM"},
		{"kill -HUP $$", -1, syscall.SIGHUP, "killed by SIGHUP"},
	}
	for _, test := range tests {
		t.Run(test.script, func(t *testing.T) {
			c, _ := script(test.script)
			exit := mustRun(t, c)
			if exit.Code != test.code || exit.Signal != test.signal || exit.Canceled || exit.Killed != 0 {
				t.Errorf("exit is %#v", exit)
			}
			if exit.String() != test.text {
				t.Errorf("text is %q, want %q", exit, test.text)
			}
		})
	}
}

func TestDuration(t *testing.T) {
	c, _ := script("sleep 0.2")
	begun := time.Now()
	exit := mustRun(t, c)
	if whole := time.Since(begun); exit.Duration < 200*time.Millisecond || exit.Duration > whole {
		t.Errorf("the program took %v of the %v of Run, want at least 200ms and no more than that", exit.Duration, whole)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("PROCTREE_OURS", "ours")
	dir := t.TempDir()
	tests := []struct {
		name string
		env  []string
		dir  string
		want []string // among the lines of env
		not  string   // not in its output
	}{
		{"given", []string{"A=1", "B=two words", "EMPTY="}, "", []string{"A=1", "B=two words", "EMPTY="}, "PROCTREE_OURS"},
		{"none", []string{}, "", nil, "="},
		{"twice: the last counts", []string{"A=1", "B=2", "A=3"}, "", []string{"B=2", "A=3"}, "A=1"},
		{"nil is ours", nil, "", []string{"PROCTREE_OURS=ours"}, "PROCTREE_OURS=\n"},
		{"nil follows Dir", nil, dir, []string{"PWD=" + dir}, "\x00"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			c := Command("/usr/bin/env")
			c.Env, c.Dir, c.Stdout = test.env, test.dir, &out
			mustRun(t, c)
			for _, line := range test.want {
				if !strings.Contains("\n"+out.String(), "\n"+line+"\n") {
					t.Errorf("no %q in:\n%s", line, &out)
				}
			}
			if strings.Contains(unmarked(out.String()), test.not) {
				t.Errorf("%q in:\n%s", test.not, &out)
			}
		})
	}
}

func TestArguments(t *testing.T) {
	args := []string{"", " ", "a b", "*", "$HOME", "-n", "line\nbreak", "\xff", `"quoted"`}
	var out strings.Builder
	c := Command("printf", append([]string{`%s\000`}, args...)...)
	c.Stdout = &out
	mustRun(t, c)
	if diff := cmp.Diff(args, strings.Split(strings.TrimSuffix(out.String(), "\x00"), "\x00")); diff != "" {
		t.Errorf("arguments (-given +seen):\n%s", diff)
	}
}

func TestDirAndLookup(t *testing.T) {
	root := t.TempDir()
	for _, tool := range []string{"first/tool", "second/tool", "second/other", "work/local"} {
		writeScript(t, filepath.Join(root, tool), "#!/bin/sh\necho "+tool+"\npwd\n", 0o755)
	}
	writeScript(t, filepath.Join(root, "blocked/tool"), "#!/bin/sh\n", 0o644)
	work := filepath.Join(root, "work")
	t.Chdir(work) // the relative entries of PATH lead somewhere
	path := func(dirs ...string) []string {
		return []string{"PATH=" + strings.Join(append(dirs, os.Getenv("PATH")), ":")}
	}
	tests := []struct {
		name, program, want string
		env                 []string
	}{
		{"PATH of Env, in order", "tool", "first/tool", path(root+"/first", root+"/second")},
		{"later in PATH", "other", "second/other", path(root+"/first", root+"/second")},
		{"past a file that is not executable", "tool", "second/tool", path(root+"/blocked", root+"/second")},
		{"past a relative entry", "tool", "second/tool", path("../first", ".", "", root+"/second")},
		{"relative to Dir", "./local", "work/local", path()},
		{"relative, over a parent", "../first/tool", "first/tool", path()},
		{"absolute", root + "/first/tool", "first/tool", path()},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			c := Command(test.program)
			c.Dir, c.Env, c.Stdout = work, test.env, &out
			mustRun(t, c)
			if want := test.want + "\n" + work + "\n"; out.String() != want {
				t.Errorf("output is %q, want %q", &out, want)
			}
		})
	}
}

func writeScript(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestParallel(t *testing.T) {
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			c, out := script("sleep 1000 & echo run $1; exit $1", fmt.Sprint(i))
			exit, err := c.Run(bounded(t))
			if want := fmt.Sprintf("run %d\n", i); err != nil || exit.Code != i || out.String() != want {
				t.Errorf("run %d: %v, %v, output %q", i, exit, err, out)
			}
		})
	}
	wait.Wait()
}

func TestCmdMayRunAgain(t *testing.T) {
	c, out := script("echo once")
	before := *c
	mustRun(t, c)
	mustRun(t, c)
	if out.String() != "once\nonce\n" {
		t.Errorf("output of two runs is %q", out)
	}
	if !reflect.DeepEqual(before, *c) {
		t.Errorf("Run changed the Cmd from %+v to %+v", before, *c)
	}
}

func TestContainmentIsNamed(t *testing.T) {
	known := map[string]bool{"process-tree": true, "process-group": true}
	if !known[Containment()] {
		t.Errorf("containment is %q", Containment())
	}
}

func TestStartErrors(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	writeScript(t, at("plain"), "#!/bin/sh\n", 0o644)
	writeScript(t, at("garbage"), "\x7fnot a program", 0o755)
	writeScript(t, at("orphaned"), "#!/no/such/interpreter -x\n", 0o755)
	writeScript(t, at("windows"), "#!/bin/sh\r\ntrue\r\n", 0o755)
	writeScript(t, at("dir/plain"), "#!/bin/sh\n", 0o644)

	tests := []struct {
		name string
		cmd  Cmd
		text string
		is   []error
	}{
		{"not in PATH", Cmd{Path: "nosuch"},
			`exec: "nosuch": not found in PATH`, []error{exec.ErrNotFound, fs.ErrNotExist}},
		{"no PATH", Cmd{Path: "sh", Env: []string{"A=1"}},
			`exec: "sh": not found: its environment has no PATH`, []error{exec.ErrNotFound}},
		{"PATH has a directory of that name", Cmd{Path: "dir", Env: []string{"PATH=" + root}},
			`exec: "dir": not found in PATH`, []error{exec.ErrNotFound}},
		{"in PATH, not executable", Cmd{Path: "plain", Env: []string{"PATH=/nosuch:" + root}},
			`exec: "plain": ` + at("plain") + ` may not be executed`, []error{fs.ErrPermission}},
		{"no name", Cmd{},
			`exec: "": no program is named`, []error{fs.ErrInvalid}},
		{"no such file", Cmd{Path: at("nosuch")},
			`exec: "` + at("nosuch") + `": no such file`, []error{fs.ErrNotExist, syscall.ENOENT}},
		{"no such file in Dir", Cmd{Path: "./nosuch", Dir: root},
			`exec: "./nosuch": no such file`, []error{fs.ErrNotExist}},
		{"not executable", Cmd{Path: at("plain")},
			`exec: "` + at("plain") + `": permission denied: it is not executable`, []error{fs.ErrPermission}},
		{"not executable, in Dir", Cmd{Path: "./plain", Dir: at("dir")},
			`exec: "./plain": permission denied: it is not executable`, []error{fs.ErrPermission}},
		{"a directory", Cmd{Path: root},
			`exec: "` + root + `": is a directory`, []error{syscall.EACCES}},
		{"not a program", Cmd{Path: at("garbage")},
			`exec: "` + at("garbage") + `": exec format error: neither a script with a #! line nor a program for this machine`,
			[]error{syscall.ENOEXEC}},
		{"no interpreter", Cmd{Path: at("orphaned")},
			`exec: "` + at("orphaned") + `": its interpreter does not exist: /no/such/interpreter -x`, []error{fs.ErrNotExist}},
		{"Windows line ends", Cmd{Path: at("windows")},
			`exec: "` + at("windows") + `": its interpreter does not exist: "/bin/sh\r", since its lines end with CR LF, ` +
				`as on Windows; save it with LF alone`, []error{fs.ErrNotExist}},
		{"file for a directory", Cmd{Path: at("plain") + "/x"},
			`exec: "` + at("plain") + `/x": not a directory`, []error{syscall.ENOTDIR}},
		{"no such Dir", Cmd{Path: "sh", Dir: at("nosuch")},
			`exec: "sh": chdir ` + at("nosuch") + `: no such file or directory`, []error{fs.ErrNotExist}},
		{"Dir is a file", Cmd{Path: "sh", Dir: at("plain")},
			`exec: "sh": chdir ` + at("plain") + `: not a directory`, []error{syscall.ENOTDIR}},
		{"NUL in an argument", Cmd{Path: "sh", Args: []string{"a\x00b"}},
			`exec: "sh": a NUL byte in its path, arguments, environment or directory`, []error{fs.ErrInvalid}},
		{"NUL in the environment", Cmd{Path: "/bin/sh", Env: []string{"A=\x00"}},
			`exec: "/bin/sh": a NUL byte in its path, arguments, environment or directory`, []error{fs.ErrInvalid}},
		{"an argument too long", Cmd{Path: "sh", Args: []string{strings.Repeat("x", 4<<20)}},
			`exec: "sh": argument list too long`, []error{syscall.E2BIG}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			test.cmd.Stdout, test.cmd.Stderr = &out, &out
			exit, err := test.cmd.Run(bounded(t))
			start, ok := errors.AsType[*StartError](err)
			if !ok || err.Error() != test.text || start.Path != test.cmd.Path {
				t.Errorf("error is %T: %v\nwant %s", err, err, test.text)
			}
			for _, target := range test.is {
				if !errors.Is(err, target) {
					t.Errorf("the error is not %v", target)
				}
			}
			if exit != (Exit{}) || out.Len() > 0 {
				t.Errorf("exit is %+v, output is %q, want none", exit, &out)
			}
		})
	}
}

func TestContextEndedBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, out := script("echo ran")
	_, err := c.Run(ctx)
	if _, ok := errors.AsType[*StartError](err); !ok || !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want a StartError for context.Canceled", err)
	}
	if out.Len() > 0 {
		t.Errorf("the program ran: %q", out)
	}
}

func TestProgramGetsItsName(t *testing.T) {
	c, out := script("")
	c.Args, c.Name = []string{"-c", "echo $0"}, "another"
	mustRun(t, c)
	if out.String() != "another\n" {
		t.Errorf("its name is %q", out)
	}
}

func TestSignalName(t *testing.T) {
	for signal, want := range map[syscall.Signal]string{0: "", syscall.SIGKILL: "SIGKILL", syscall.SIGUSR1: "SIGUSR1",
		99: "signal 99"} {
		if got := (Exit{Signal: signal}).SignalName(); got != want {
			t.Errorf("signal %d is %q, want %q", int(signal), got, want)
		}
	}
}

func TestCancel(t *testing.T) {
	const short, long = 150 * time.Millisecond, 2 * patience
	tests := []struct {
		name   string
		script string // prints "up" when it may be canceled
		grace  time.Duration
		code   int
		signal syscall.Signal
		output string
		least  time.Duration // from "up" to the end of Run
	}{
		{name: "ends on SIGTERM", script: "echo up; exec sleep 1000", grace: long,
			code: -1, signal: syscall.SIGTERM, output: "up\n"},
		{name: "cleans up on SIGTERM", script: "trap 'echo bye; exit 7' TERM; echo up; sleep 1000 & wait; wait", grace: long,
			code: 7, output: "up\nbye\n"},
		{name: "ignores SIGTERM", script: "trap '' TERM; echo up; while :; do sleep 1000; done", grace: short,
			code: -1, signal: syscall.SIGKILL, output: "up\n", least: short},
		{name: "no grace", script: "trap 'echo bye' TERM; echo up; while :; do sleep 1000; done", grace: -1,
			code: -1, signal: syscall.SIGKILL, output: "up\n"},
		{name: "is stopped", script: "echo up; kill -STOP $$", grace: long,
			code: -1, signal: syscall.SIGTERM, output: "up\n"},
		{name: "has a child that ignores SIGTERM", script: "(trap '' TERM; sleep 1000) & trap 'exit 3' TERM; echo up; wait",
			grace: long,
			code:  3, output: "up\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(bounded(t))
			var up time.Time
			out := &trigger{text: "up", do: func() { up = time.Now(); cancel() }}
			c, _ := script(test.script)
			c.Grace, c.Stdout, c.Stderr = test.grace, out, out
			exit, err := c.Run(ctx)
			took := time.Since(up)
			if err != nil || exit.Code != test.code || exit.Signal != test.signal || !exit.Canceled {
				t.Errorf("Run: %v, %v", exit, err)
			}
			if out.String() != test.output || !strings.HasSuffix(exit.String(), "(canceled)") {
				t.Errorf("output is %q, exit is %q", out, exit)
			}
			if took < test.least || took > long/2 {
				t.Errorf("stopping took %v, want at least %v, and not the %v of a missed signal", took, test.least, long)
			}
		})
	}
}

func TestGrace(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{0: 2 * time.Second, time.Hour: time.Hour, -1: -1} {
		if got := (&Cmd{Grace: given}).grace(); got != want {
			t.Errorf("a Grace of %v gives %v, want %v", given, got, want)
		}
	}
}

// A late is a context whose deadline passes when the test calls pass.
type late struct {
	context.Context
	passed chan struct{}
}

func (l late) Done() <-chan struct{} { return l.passed }

func (l late) Err() error {
	if within(l.passed, 0) {
		return context.DeadlineExceeded
	}
	return nil
}

func TestDeadline(t *testing.T) {
	ctx := late{t.Context(), make(chan struct{})}
	c, _ := script("exec sleep 1000")
	c.Grace, c.Started = time.Hour, func(int) { close(ctx.passed) }
	exit, err := begin(ctx, c).end(t, patience)
	if err != nil || !exit.Canceled || exit.Signal != syscall.SIGTERM {
		t.Errorf("Run: %v, %v, want terminated and canceled", exit, err)
	}
}

// However far the start has come, the signal must arrive.
func TestCancelAtAnyTime(t *testing.T) {
	for i := range 60 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Microsecond)
		defer cancel()
		c, _ := script("sleep 1000 & sleep 1000")
		c.Grace = time.Hour
		exit, err := begin(ctx, c).end(t, patience)
		if _, ok := errors.AsType[*StartError](err); !ok && (err != nil || !exit.Canceled || exit.Signal != syscall.SIGTERM) {
			t.Errorf("canceled after %d00us: %v, %v", i, exit, err)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	c := Command("/bin/true")
	for b.Loop() {
		if _, err := c.Run(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOSExec is the yardstick: the same program without containment.
func BenchmarkOSExec(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// The end of the program itself is reported once, before the end of what it has left, and that before Run returns.
func TestExitedComesBeforeTheSweep(t *testing.T) {
	var exits []Exit
	left := t.TempDir() + "/left"
	c := Command("/bin/sh", "-c", "sleep 1000 & echo $! >"+left+"; exit 3")
	c.Exited = func(e Exit) { exits = append(exits, e) }
	ended := 0
	c.Ended = func() {
		ended++
		text, _ := os.ReadFile(left)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || syscall.Kill(pid, 0) == nil || len(exits) != 1 {
			t.Errorf("process %d is left after the end, or that came before the program's: %v", pid, exits)
		}
	}
	exit, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := map[bool]int{true: 1}[containment == inTree]; ended != want {
		t.Errorf("the end of the tree was reported %d times, not %d", ended, want)
	}
	if len(exits) != 1 || exits[0].Code != 3 || exits[0].Duration != exit.Duration || exits[0].Killed != 0 {
		t.Errorf("reported %+v, then %+v", exits, exit)
	}
}

// A program that is killed because the context ends is reported as one that ends by itself: those who wait for its exit
// must not depend on the end of Run, which may wait for them.
func TestExitedComesBeforeTheEndOfAKilledTree(t *testing.T) {
	ctx, kill := context.WithCancel(bounded(t))
	var exits []Exit
	c := Command("/bin/sh", "-c", "sleep 1000 & exec sleep 1000")
	c.Grace = -1
	c.Started = func(int) { kill() }
	c.Exited = func(e Exit) { exits = append(exits, e) }
	ended := 0
	c.Ended = func() {
		if ended++; len(exits) != 1 {
			t.Errorf("%d exits were reported before the end of the tree", len(exits))
		}
	}
	exit, err := c.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[bool]int{true: 1}[containment == inTree]; ended != want {
		t.Errorf("the end of the tree was reported %d times, not %d", ended, want)
	}
	if len(exits) != 1 || exits[0].Signal != syscall.SIGKILL || exits[0].Duration != exit.Duration {
		t.Errorf("reported %+v, then %+v", exits, exit)
	}
}
