//go:build !proctree_group

package proctree

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/internal/launcher"
	"github.com/toolhost/toolhost/internal/procstat"
	"github.com/toolhost/toolhost/internal/testutil"
)

// lostText is the complete text of the error, whatever else is lost.
const lostText = "the watcher of the command was killed (SIGKILL); what the command did is not known, and processes " +
	"it started may still run"

func TestLauncherIsKilled(t *testing.T) {
	o := newProcessPipe(t)
	c := Command("sh", "-c", "sleep 1000 & echo launcher $PPID; exec sleep 1000")
	o.attach(c)
	run := begin(bounded(t), c)
	o.await(t, patience, "launcher ")
	o.awaitLines(t, patience, 1)
	launcher := number(t, o.seen, "launcher")
	awaitSettled(t, launcher) // otherwise it could not report the process group
	if err := syscall.Kill(launcher, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	exit, err := run.end(t, patience)
	if !errors.Is(err, ErrLost) || !errors.Is(err, ErrLoose) || err.Error() != lostText {
		t.Errorf("error is %v", err)
	}
	if _, ok := errors.AsType[*StartError](err); ok || exit.Code != -1 || exit.Signal != 0 {
		t.Errorf("exit is %#v, want one that says nothing", exit)
	}
	o.w.Close()
	o.awaitEnd(t, patience) // the program and its group
}

// A process that left the process group without its environment survives its launcher, but neither delays Run nor
// leaves a goroutine behind that feeds it.
func TestLauncherIsKilledAndFilesHeld(t *testing.T) {
	tests := []struct {
		name, redirect string
		cut            bool // the output is cut off
	}{
		{"output and input", "", true},
		{"input", ">/dev/null 2>&1", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { testFilesHeld(t, test.redirect, test.cut) })
	}
}

func testFilesHeld(t *testing.T, redirect string, cut bool) {
	routines := runtime.NumGoroutine()
	out := &trigger{text: "up", do: func() {}}
	c := Command("sh", "-c", "exec 3<&0; echo launcher $PPID; setsid env -i sh -c 'echo survivor $$; echo up; exec "+
		"sleep 1000 "+redirect+"' <&3 3<&- & sleep 1000")
	c.Stdin, c.Stdout = strings.NewReader(strings.Repeat("x", mega)), out
	run := begin(bounded(t), c)
	until(t, patience, "the tree is up", func() bool { return strings.Contains(out.String(), "up\n") })
	survivor := number(t, out.String(), "survivor")
	defer syscall.Kill(survivor, syscall.SIGKILL)
	until(t, patience, "the survivor sleeps",
		func() bool { return strings.Contains(procStatus(survivor, "Name"), "sleep") })
	if err := syscall.Kill(number(t, out.String(), "launcher"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, err := run.end(t, patience)
	if !errors.Is(err, ErrLost) || !errors.Is(err, ErrLoose) || errors.Is(err, exec.ErrWaitDelay) != cut ||
		err.Error() != lostText {
		t.Errorf("error is %v, want the launcher in it, and cut off output: %v", err, cut)
	}
	if !alive(survivor) {
		t.Error("there is no survivor: this test shows nothing")
	}
	until(t, patience, "goroutines end", func() bool { return runtime.NumGoroutine() <= routines })
}

func TestLauncherSurvivesSignals(t *testing.T) {
	input, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	defer end.Close()
	out := &trigger{text: "\n", do: func() {}}
	c := Command("sh", "-c", "echo launcher $PPID; read line; exit 5")
	c.Stdin, c.Stdout = input, out
	run := begin(bounded(t), c)
	until(t, patience, "the program is up", func() bool { return out.String() != "" })
	launcher := number(t, out.String(), "launcher")
	awaitSettled(t, launcher)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE,
		syscall.SIGCHLD} {
		if err := syscall.Kill(launcher, s); err != nil {
			t.Fatal(err)
		}
	}
	end.Close()
	if exit, err := run.end(t, patience); err != nil || exit.Code != 5 {
		t.Errorf("Run: %v, %v; want exit code 5", exit, err)
	}
}

// awaitSettled waits until the launcher ignores signals, of which SIGQUIT is bit 2.
func awaitSettled(t *testing.T, launcher int) {
	t.Helper()
	until(t, patience, "the launcher ignores signals", func() bool {
		mask, err := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(procStatus(launcher, "SigIgn"), "SigIgn:")), 16,
			64)
		return err == nil && mask&(1<<(syscall.SIGQUIT-1)) != 0
	})
}

// procStatus returns a line of /proc/PID/status.
func procStatus(pid int, key string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, key+":") {
			return line
		}
	}
	return ""
}

// The launcher must not be visible: signals, files and environment of the program are those that os/exec gives it.
func TestProgramSeesNoLauncher(t *testing.T) {
	leak, err := syscall.Dup(0) // a file that exec would pass on
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leak)
	tests := []struct{ name, script string }{
		{"signals", "grep Sig..n /proc/self/status; grep SigBlk /proc/self/status"},
		{"environment", "exec env"},
		{"umask", "umask"},
		{"limits", "ulimit -a"},
		{"priority", "cut -d' ' -f 18,19 /proc/self/stat"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, out := script(test.script)
			mustRun(t, c)
			want, err := exec.Command("sh", "-c", test.script, "sh").Output()
			if err != nil || len(want) == 0 {
				t.Fatalf("os/exec: %q, %v", want, err)
			}
			if diff := cmp.Diff(string(want), unmarked(out.String())); diff != "" {
				t.Errorf("(-os/exec +proctree):\n%s", diff)
			}
		})
	}
	t.Run("files", func(t *testing.T) {
		c, out := script("ls /proc/$$/fd")
		mustRun(t, c)
		if out.String() != "0\n1\n2\n" {
			t.Errorf("the program has the files %q", out)
		}
	})
}

// Neither the terminal of the caller nor that of the program reaches the other, or the launcher between them.
func TestSessions(t *testing.T) {
	c, out := script("cat /proc/$$/stat /proc/$PPID/stat")
	mustRun(t, c)
	sessions := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		f := strings.Fields(line) // pid (name) state ppid pgrp session tty
		sessions[f[5]] = true
		if f[0] != f[4] || f[0] != f[5] || f[6] != "0" {
			t.Errorf("pid %s, group %s, session %s, terminal %s; want the pid three times and 0", f[0], f[4], f[5], f[6])
		}
	}
	if len(sessions) != 2 {
		t.Errorf("sessions: %v, want that of the program and that of the launcher", sessions)
	}
}

// Orphans end as they would under init, also while the program runs.
func TestOrphansAreReaped(t *testing.T) {
	input, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	defer end.Close()
	out := &trigger{text: "\n", do: func() {}}
	c := Command("sh", "-c", "for i in 1 2 3; do (sleep 0.01 &); done; echo launcher $PPID; read line")
	c.Stdin, c.Stdout = input, out
	run := begin(bounded(t), c)
	until(t, patience, "the program is up", func() bool { return out.String() != "" })
	launcher := number(t, out.String(), "launcher")
	until(t, patience, "only the program is left", func() bool { return len(procstat.Children(launcher, -1)) == 1 })
	end.Close()
	if exit, err := run.end(t, patience); err != nil || exit.Killed != 0 {
		t.Errorf("Run: %#v, %v", exit, err)
	}
}

func TestLauncherHoldsNoSecrets(t *testing.T) {
	t.Setenv("PROCTREE_SECRET", "ours")
	t.Setenv("LD_PROCTREE", "for the linker")
	c, out := script("tr '\\0' '\\n' </proc/$PPID/environ")
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "PROCTREE_SECRET=the program's"}
	mustRun(t, c)
	readable := os.Getuid() == 0 // others have no access to a launcher at all
	if text := out.String(); strings.Contains(text, "SECRET") ||
		strings.Contains(text, "LD_PROCTREE=for the linker\n") != readable {
		t.Errorf("the environment of the launcher is %q", text)
	}
}

// A program that closes its output ends it for the reader, though it lives on.
func TestProgramClosesItsOutput(t *testing.T) {
	o := newProcessPipe(t)
	ctx, stop := context.WithCancel(bounded(t))
	defer stop()
	c := Command("sh", "-c", "echo up; exec sleep 1000 >/dev/null 2>&1")
	o.attach(c)
	run := begin(ctx, c)
	o.await(t, patience, "up\n")
	o.w.Close()
	o.awaitEnd(t, patience)
	if within(run.done, 0) {
		t.Error("the program has ended too")
	}
	stop()
	if exit, err := run.end(t, patience); err != nil || !exit.Canceled {
		t.Errorf("Run: %v, %v", exit, err)
	}
}

// A program of root can imitate its launcher, which affects nothing else.
func TestProgramSpeaksForItsLauncher(t *testing.T) {
	for name, text := range map[string]string{"twice": `printf 'sweeping\nsweeping\n'`, "without end": "cat /dev/zero"} {
		t.Run(name, func(t *testing.T) {
			c, _ := script("(" + text + " >/proc/$PPID/fd/4) 2>/dev/null; exit 3")
			ctx := bounded(t)
			exit, err := c.Run(ctx)
			if ctx.Err() != nil || exit.Code != 3 && !errors.Is(err, ErrLost) {
				t.Errorf("Run: %v, %v (context: %v)", exit, err, ctx.Err())
			}
		})
	}
}

func TestLauncherByHand(t *testing.T) {
	c := exec.Command("/proc/self/exe")
	c.Args = []string{launcher.Name}
	out, err := c.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 2 || !strings.Contains(string(out), "do not run it by hand") {
		t.Errorf("it ended with %v and said %q", err, out)
	}
}

// The process that calls Run is not changed.
func TestCallerIsNoSubreaper(t *testing.T) {
	mustRun(t, Command("true"))
	const getChildSubreaper = 37
	var flag int32
	if _, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, getChildSubreaper, uintptr(unsafe.Pointer(&flag)), 0); e != 0 ||
		flag != 0 {
		t.Errorf("subreaper flag is %d (%v)", flag, e)
	}
}

func TestNothingLeaks(t *testing.T) {
	c, _ := script("sleep 1000 & cat; exit 1")
	runOnce := func() {
		c.Stdin = strings.NewReader("input")
		mustRun(t, c)
	}
	runOnce()
	files, routines := len(procstat.NumbersIn("/proc/self/fd", -1)), runtime.NumGoroutine()
	for range testutil.Rounds(60) {
		runOnce()
	}
	until(t, patience, "files are closed", func() bool { return len(procstat.NumbersIn("/proc/self/fd", -1)) <= files })
	if left := procstat.Children(os.Getpid(), -1); len(left) > 0 {
		t.Errorf("children are left: %v", left)
	}
	until(t, patience, "goroutines end", func() bool { return runtime.NumGoroutine() <= routines })
}

// everything starts all leftovers at once and stays. Each line of its output is a moment at which the host may be
// killed.
func everything() string {
	var text strings.Builder
	text.WriteString("echo launcher $PPID\n")
	for _, l := range leftovers {
		text.WriteString(l.text + "\n")
	}
	return text.String() + "echo all started\nsleep 1000"
}

func TestHostIsKilled(t *testing.T) {
	for name, namespace := range map[string]string{"in a tree": "", "in a namespace": "1"} {
		t.Run(name, func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			for range testutil.Rounds(12) {
				lines := random.IntN(len(leftovers) + 3)
				delay := time.Duration(random.IntN(5000)) * time.Microsecond
				killHost(t, namespaceVar+"="+namespace, lines, delay)
			}
		})
	}
}

// killHost kills a host with SIGKILL, after that many lines of output of its tree and a delay. Within 2 s no process
// must be left.
func killHost(t *testing.T, namespace string, lines int, delay time.Duration) {
	o := newProcessPipe(t)
	defer o.r.Close()
	host := exec.Command(self(t), strings.ReplaceAll(everything(), `"$0"`, self(t)))
	host.Env = append(os.Environ(), roleVar+"=host", namespace, o.mark)
	host.Stdout, host.Stderr = o.w, o.w
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	o.w.Close()
	o.awaitLines(t, patience, lines)
	<-time.After(delay)
	_ = host.Process.Kill()
	_ = host.Wait()
	begun := time.Now()
	o.awaitEnd(t, patience)
	t.Logf("%d lines, %v: all gone %v after the host", strings.Count(o.seen, "\n"), delay, time.Since(begun))
	if strings.Contains(o.seen, "launcher ") && !strings.Contains(o.seen, "launcher 1\n") {
		launcher := number(t, o.seen, "launcher")
		until(t, patience, "the launcher ends", func() bool { return !alive(launcher) })
	}
}

// A program ends with its launcher, also when no other process ends it.
func TestProgramEndsWithItsLauncher(t *testing.T) {
	o := newProcessPipe(t)
	defer o.r.Close()
	host := exec.Command(self(t), "echo launcher $PPID; echo program $$; exec sleep 1000")
	host.Env = append(os.Environ(), roleVar+"=host", o.mark)
	host.Stdout, host.Stderr = o.w, o.w
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = host.Process.Kill(); _ = host.Wait() }()
	o.w.Close()
	o.awaitLines(t, patience, 2)
	launcher, program := number(t, o.seen, "launcher"), number(t, o.seen, "program")
	if err := host.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(host.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the host is not stopped: %v, %v", status, err)
	}
	if err := syscall.Kill(launcher, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, patience, "the program ends", func() bool { return !alive(program) })
}
