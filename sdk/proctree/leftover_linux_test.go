//go:build !proctree_group

package proctree

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// leftovers are processes that a program may leave behind. Each says "up" when
// it is in place. $0 is the test binary.
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

// testLeftover ends a program once what it leaves behind is in place.
func testLeftover(t *testing.T, text string, cancel bool) {
	o := newOutlet(t)
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
	c := Command("seq", "1", "5000") // less than a pipe holds
	c.Stdout = w
	mustRun(t, c)
	if !strings.HasSuffix(w.passed.String(), "\n4999\n5000\n") {
		t.Errorf("the output is cut off after %d bytes", w.passed.Len())
	}
}

func TestTermReachesAll(t *testing.T) {
	o := newOutlet(t)
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
