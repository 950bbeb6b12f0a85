//go:build !proctree_group

package proctree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/procstat"
)

// leftovers are processes that a program may leave behind. Each prints "up" when it is ready. $0 is the test binary.
var leftovers = []struct{ name, text string }{
	{"background job", `sh -c 'echo up; exec sleep 1000' &`},
	{"own process group", `PROCTREE_ROLE=group "$0" &`},
	{"own session", `setsid sh -c 'echo up; exec sleep 1000' &`},
	{"daemon", `setsid sh -c '(trap "" HUP TERM INT; (echo up; exec sleep 1000) &) &' &`},
	{"pipeline", `sh -c '(echo up >&2; exec sleep 1000) | sleep 1000 | sleep 1000' &`},
	{"stopped", `sh -c 'echo up; kill -STOP $$' &`},
	{"stopped session", `setsid sh -c 'echo up; kill -STOP $$' &`},
	{"deep line", `sh -c 'sh -c "sh -c \"sh -c \\\"echo up; sleep 1000; :\\\"; :\"; :"; :' &`},
	{"hopper", `PROCTREE_ROLE=hopper "$0" &`},
	{"hopper in sessions", `PROCTREE_ROLE=hopper-setsid "$0" &`},
	{"user of proctree", `PROCTREE_ROLE=host "$0" 'setsid sh -c "echo up; exec sleep 1000" & sleep 1000' &`},
}

// A shell with job control would take the terminal from the program, if there is one.
func init() {
	roles["group"] = func() {
		_ = syscall.Setpgid(0, 0)
		fmt.Println("up")
		_ = syscall.Exec("/bin/sh", []string{"sh", "-c", "exec sleep 1000"}, os.Environ())
	}
}

func TestLeftovers(t *testing.T) {
	for _, l := range leftovers {
		t.Run(l.name+", program ends", func(t *testing.T) { testLeftover(t, l.text, false) })
		t.Run(l.name+", context ends", func(t *testing.T) { testLeftover(t, l.text, true) })
	}
}

// testLeftover ends a program once its leftover is ready.
func testLeftover(t *testing.T, text string, cancel bool) {
	o := newProcessPipe(t)
	input, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	defer end.Close()
	ctx, stop := context.WithCancel(bounded(t))
	defer stop()

	c := Command("sh", "-c", "echo launcher $PPID\n"+text+"\nread line; exit 3", self(t))
	o.attach(c)
	c.Stdin, c.Grace = input, 20*time.Millisecond
	run := begin(ctx, c)
	o.await(t, patience, "up\n")
	if cancel {
		stop()
	} else {
		end.Close()
	}
	exit, err := run.end(t, patience)
	o.mustBeOver(t)
	if err != nil || exit.Canceled != cancel || !cancel && (exit.Code != 3 || exit.Killed < 1) {
		t.Errorf("Run: %#v, %v", exit, err)
	}
	if launcher := number(t, o.seen, "launcher"); alive(launcher) {
		t.Errorf("the launcher is alive, pid %d", launcher)
	}
}

func TestLeftoverHoldsOutput(t *testing.T) {
	c, out := script("setsid sleep 1000 & sleep 1000 & echo done")
	if exit := mustRun(t, c); exit.Killed != 2 || out.String() != "done\n" {
		t.Errorf("exit is %#v, output %q; want 2 killed", exit, out)
	}
}

func TestSlowWriterGetsAll(t *testing.T) {
	opened := make(chan struct{})
	time.AfterFunc(drainLimit+200*time.Millisecond, func() { close(opened) })
	w := &gate{opened: opened}
	c := Command("seq", "1", "5000") // less than the capacity of a pipe
	c.Stdout = w
	mustRun(t, c)
	if !strings.HasSuffix(w.passed.String(), "\n4999\n5000\n") {
		t.Errorf("the output is cut off after %d bytes", w.passed.Len())
	}
}

func TestSIGTERMReachesAllProcesses(t *testing.T) {
	o := newProcessPipe(t)
	ctx, stop := context.WithCancel(bounded(t))
	defer stop()
	const child = `trap "echo child ended; exit" TERM; echo up; while :; do sleep 0.01; done`
	c := Command("sh", "-c", "trap 'wait; exit 3' TERM; setsid sh -c '"+child+"' & wait")
	c.Grace = time.Hour
	o.attach(c)
	run := begin(ctx, c)
	o.await(t, patience, "up\n")
	stop()
	exit, err := run.end(t, patience)
	o.mustBeOver(t)
	if err != nil || exit.Code != 3 || !strings.Contains(o.seen, "child ended\n") {
		t.Errorf("Run: %v, %v; output %q", exit, err, o.seen)
	}
}

func init() {
	roles["hopper"] = func() { forkForever(false) }
	roles["hopper-setsid"] = func() { forkForever(true) }
}

// forkForever forks and exits continually, so that its pid keeps changing. Only raw system calls are safe in a Go
// process that has forked without exec.
func forkForever(newSession bool) {
	_, _ = os.Stdout.WriteString("up\n")
	for {
		pid, _, _ := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if pid != 0 {
			_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
		if newSession {
			_, _, _ = syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
		}
	}
}

// processPipe is a pipe for the output of a tree of processes. Each of them holds its write end open, so its end proves
// that none is left: no list of processes is as exact, since some fork faster than one can read it.
type processPipe struct {
	r, w *os.File
	mark string // in the environment of the tree, to name survivors
	seen string
}

func newProcessPipe(t *testing.T) *processPipe {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := &processPipe{r: r, w: w, mark: fmt.Sprintf("PROCTREE_MARK=%d.%d", os.Getpid(), time.Now().UnixNano())}
	t.Cleanup(func() {
		r.Close()
		w.Close()
		for _, pid := range o.survivors() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return o
}

// attach gives the outlet to a Cmd.
func (o *processPipe) attach(c *Cmd) {
	c.Stdout, c.Stderr = o.w, o.w
	c.Env = append(os.Environ(), o.mark)
}

// await waits until the text appears in the output.
func (o *processPipe) await(t *testing.T, limit time.Duration, text string) {
	t.Helper()
	o.read(t, limit, text, func() bool { return strings.Contains(o.seen, text) })
}

// awaitLines waits for that many lines.
func (o *processPipe) awaitLines(t *testing.T, limit time.Duration, lines int) {
	t.Helper()
	o.read(t, limit, "enough lines", func() bool { return strings.Count(o.seen, "\n") >= lines })
}

// awaitEnd waits until no process holds the pipe.
func (o *processPipe) awaitEnd(t *testing.T, limit time.Duration) {
	t.Helper()
	o.read(t, limit, "end", func() bool { return false })
}

// read reads until it has seen enough, or the pipe ends.
func (o *processPipe) read(t *testing.T, limit time.Duration, what string, enough func() bool) {
	t.Helper()
	_ = o.r.SetReadDeadline(time.Now().Add(limit))
	buf := make([]byte, 4096)
	for !enough() {
		n, err := o.r.Read(buf)
		o.seen += string(buf[:n])
		if errors.Is(err, io.EOF) && what == "end" {
			return
		}
		if err != nil {
			t.Fatalf("no %q in %v (%v); output %q, alive: %s", what, limit, err, o.seen, o.describe())
		}
	}
}

// mustBeOver fails the test unless no process holds the pipe at this moment.
func (o *processPipe) mustBeOver(t *testing.T) {
	t.Helper()
	o.w.Close()
	raw, err := o.r.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	buf, n := make([]byte, 4096), 0
	err = raw.Read(func(fd uintptr) bool {
		for {
			if n, err = syscall.Read(int(fd), buf); n <= 0 {
				return true
			}
			o.seen += string(buf[:n])
		}
	})
	if n != 0 || err != nil {
		t.Errorf("processes are left: %s", o.describe())
	}
}

// survivors lists the processes with the mark.
func (o *processPipe) survivors() (pids []int) {
	for _, pid := range procstat.NumbersIn("/proc", -1) {
		env, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if bytes.Contains(env, []byte(o.mark)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (o *processPipe) describe() string {
	var all []string
	for _, pid := range o.survivors() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		all = append(all, fmt.Sprintf("%d %q", pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	return strings.Join(all, ", ")
}

// alive reports whether the process exists and is not a zombie.
func alive(pid int) bool {
	state := procstat.Read(pid).Text(procstat.State)
	return state != "" && state != "Z"
}

// number returns the number that follows the word in a text.
func number(t *testing.T, text, word string) int {
	t.Helper()
	_, rest, _ := strings.Cut(text, word+" ")
	digits, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatalf("no %q with a number in %q", word, text)
	}
	return n
}
