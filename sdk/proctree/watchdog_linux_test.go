//go:build !proctree_group

package proctree

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/launcher"
)

// Processes that left the process group of a program whose launcher is killed are found by its mark, and no others
// are affected.
func TestLauncherIsKilledAndAllElseEnds(t *testing.T) {
	bystander := exec.Command("sleep", "1000")
	bystander.Env = append(os.Environ(), newMark())
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bystander.Process.Kill(); _ = bystander.Wait() }()
	for _, l := range leftovers {
		if strings.HasPrefix(l.name, "hopper") {
			continue // its pid changes faster than it can be read
		}
		t.Run(l.name, func(t *testing.T) {
			o := newProcessPipe(t)
			c := Command("sh", "-c", l.text+"\necho launcher $PPID; exec sleep 1000", self(t))
			o.attach(c)
			run := begin(bounded(t), c)
			o.await(t, patience, "up\n")
			o.await(t, patience, "launcher ")
			o.awaitLines(t, patience, 2)
			if err := syscall.Kill(number(t, o.seen, "launcher"), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			o.w.Close()
			o.awaitEnd(t, patience)
			if _, err := run.end(t, patience); !errors.Is(err, ErrLost) || !errors.Is(err, ErrLoose) {
				t.Errorf("Run: %v", err)
			}
		})
	}
	if !alive(bystander.Process.Pid) {
		t.Error("a process with another mark was killed")
	}
}

// A process with the mark is never taken for one without it, not even while it executes another program.
func TestMarkedDuringExec(t *testing.T) {
	loop := `exec sh -c "$0" "$0"`
	c, mark := exec.Command("sh", "-c", loop, loop), newMark()
	c.Env = []string{"PATH=" + os.Getenv("PATH"), mark}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	for look := range 5000 {
		if marked, unknown := isMarked(c.Process.Pid, mark); !marked && !unknown {
			t.Fatalf("it was not found at look %d", look)
		}
	}
	none := exec.Command("sleep", "1000")
	none.Env = []string{}
	if err := none.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = none.Process.Kill(); _ = none.Wait() }()
	until(t, patience, "a process without an environment is known to have no mark", func() bool {
		marked, unknown := isMarked(none.Process.Pid, mark)
		return !marked && !unknown
	})
}

// Each run has its own mark, also in a program that has one already.
func TestMarks(t *testing.T) {
	c, out := script("env | grep ^PROCTREE_ID")
	c.Env = append(os.Environ(), markName+"another's")
	mustRun(t, c)
	first := out.String()
	out.Reset()
	mustRun(t, c)
	if strings.Count(first, "\n") != 1 || len(first) < 30 || first == out.String() ||
		strings.Contains(first, "another's") {
		t.Errorf("first %q, then %q", first, out)
	}
}

// resultOf is what Run returns when the launcher reports this.
func resultOf(text string) (Exit, error) {
	t := &tree{name: "tool", done: make(chan struct{}), report: launcher.ParseReport(text)}
	close(t.done)
	return t.result()
}

func TestResultOfReport(t *testing.T) {
	tests := []struct {
		name, text string
		code       int
		err        string
	}{
		{"ended", "started 12\nended 256 7 3\n", 1, ""},
		{"processes left", "started 12\nended 0 7 0\nleft 2 processes: 34,56\n", 0,
			`"tool": processes could not be killed: 2 after 2s (pid 34,56)`},
		{"the program left", "started 12\nleft 1 processes: 12\n", -1,
			`"tool": processes could not be killed: 1 after 2s (pid 12)`},
		{"no /proc", "failed proc 13\n", 0,
			`exec: "tool": the launcher cannot read /proc: permission denied`},
		{"another step", "failed prctl 1\n", 0,
			`exec: "tool": prctl: operation not permitted`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			exit, err := resultOf(test.text)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != test.err || exit.Code != test.code {
				t.Errorf("exit code %d, error %q, want %d, %q", exit.Code, got, test.code, test.err)
			}
		})
	}
}

func TestLauncherReportsBeforeRunGivesUp(t *testing.T) {
	if killLimit <= launcher.SweepLimit {
		t.Errorf("Run waits %v, the launcher takes up to %v", killLimit, launcher.SweepLimit)
	}
}

// stopsLauncher leaves the tree without a watcher before it prints "up".
const stopsLauncher = "setsid sleep 1000 & echo launcher $PPID; kill -STOP $PPID; echo up; exec sleep 1000"

func isStopped(pid int) bool { return strings.Contains(procStatus(pid, "State"), "T (stopped)") }

// A stopped launcher is woken to do its work.
func TestStoppedLauncherIsCanceled(t *testing.T) {
	tests := []struct {
		name   string
		grace  time.Duration
		signal syscall.Signal
	}{
		{"with a grace", time.Hour, syscall.SIGTERM},
		{"without", -1, syscall.SIGKILL},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := newProcessPipe(t)
			ctx, stop := context.WithCancel(bounded(t))
			defer stop()
			c := Command("sh", "-c", stopsLauncher)
			o.attach(c)
			c.Grace = test.grace
			run := begin(ctx, c)
			o.await(t, patience, "up\n")
			launcher := number(t, o.seen, "launcher")
			until(t, patience, "the launcher is stopped", func() bool { return isStopped(launcher) })
			stop()
			if exit, err := run.end(t, patience); err != nil || !exit.Canceled || exit.Signal != test.signal {
				t.Errorf("Run: %v, %v; want canceled by %v", exit, err, test.signal)
			}
			o.w.Close()
			o.awaitEnd(t, patience)
		})
	}
}

func TestHostOfStoppedLauncherIsKilled(t *testing.T) {
	o := newProcessPipe(t)
	host := exec.Command(self(t), stopsLauncher)
	host.Env = append(os.Environ(), roleVar+"=host", o.mark)
	host.Stdout, host.Stderr = o.w, o.w
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	o.w.Close()
	o.await(t, patience, "up\n")
	launcher := number(t, o.seen, "launcher")
	until(t, patience, "the launcher is stopped", func() bool { return isStopped(launcher) })
	_ = host.Process.Kill()
	_ = host.Wait()
	o.awaitEnd(t, patience)
	until(t, patience, "the launcher ends", func() bool { return !alive(launcher) })
}

// handles reports whether the system reports the end of a process that is not a child.
func handles() bool {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	_ = unix.Close(fd)
	return err == nil
}

// stopping runs a program that leaves a process in its own session, and stops the launcher: once, or without end.
func stopping(t *testing.T, ctx context.Context, namespace, again bool) (o *processPipe, run *outcome, program int) {
	t.Helper()
	o = newProcessPipe(t)
	c := Command("sh", "-c", "setsid sleep 1000 & echo up; read line; exit 3")
	o.attach(c)
	started := make(chan int, 1)
	c.Sandbox.Namespaces, c.Started = namespace, func(pid int) { started <- pid }
	input, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { input.Close(); end.Close() })
	c.Stdin = input
	run = begin(ctx, c)
	o.await(t, patience, "up\n")
	program = <-started
	launcher := parent(program)
	awaitSettled(t, launcher)
	handle, err := os.FindProcess(launcher)
	if err != nil {
		t.Fatal(err)
	}
	stop := func() { _ = handle.Signal(syscall.SIGSTOP) }
	stop()
	if again {
		go func() {
			for !within(run.done, 0) {
				stop()
			}
		}()
	}
	until(t, patience, "the launcher is stopped", func() bool { return isStopped(launcher) })
	return o, run, program
}

// A program that ends while its launcher is stopped is reported at once, with how it ended: nothing has to end the
// wait. A launcher that is stopped again and again reports nothing.
func TestProgramOfStoppedLauncherEnds(t *testing.T) {
	tests := []struct {
		name             string
		namespace, again bool
	}{{name: "once"}, {name: "again and again", again: true}, {"once, in a namespace", true, false},
		{"again and again, in a namespace", true, true}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.namespace && !allowed(t) {
				return
			}
			ctx, cancel := context.WithCancel(bounded(t))
			defer cancel()
			o, run, program := stopping(t, ctx, test.namespace, test.again)
			if err := syscall.Kill(program, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if !handles() {
				cancel() // then it takes a cancellation
			}
			exit, err := run.end(t, patience)
			reported := err == nil && exit.Signal == syscall.SIGKILL && exit.Killed == 1
			if lost := errors.Is(err, ErrLost); !reported && !(test.again && lost) {
				t.Errorf("Run: %#v, %v", exit, err)
			}
			o.w.Close()
			o.awaitEnd(t, patience)
		})
	}
}

// A launcher that cannot be woken is given up.
func TestLauncherIsGivenUp(t *testing.T) {
	o := newProcessPipe(t)
	c := Command("sh", "-c", "echo launcher $PPID; exec sleep 1000")
	o.attach(c)
	p, err := c.resolve()
	if err != nil {
		t.Fatal(err)
	}
	tree, err := start(p, [3]*os.File{nil, o.w, o.w})
	if err != nil {
		t.Fatal(err)
	}
	o.await(t, patience, "launcher ")
	o.awaitLines(t, patience, 1)
	launcher := number(t, o.seen, "launcher")
	awaitSettled(t, launcher)
	if err := syscall.Kill(launcher, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, patience, "the launcher is stopped", func() bool { return isStopped(launcher) })
	tree.abandon()
	if !within(tree.done, patience) {
		t.Fatal("the launcher is still there")
	}
	if _, err := tree.result(); !errors.Is(err, ErrLost) || !errors.Is(err, ErrLoose) || err.Error() != lostText {
		t.Errorf("error is %v", err)
	}
	o.w.Close()
	o.awaitEnd(t, patience)
}

// The name that ps and top show, which would otherwise be that of the link to this executable.
func TestLauncherHasAName(t *testing.T) {
	c, out := script("cat /proc/$PPID/comm")
	mustRun(t, c)
	if out.String() != "toolhost-launch\n" {
		t.Errorf("its name is %q", out)
	}
}
