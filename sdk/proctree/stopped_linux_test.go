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
)

// stopsLauncher leaves the tree without a watcher before it says "up".
const stopsLauncher = "setsid sleep 1000 & echo launcher $PPID; kill -STOP $PPID; echo up; exec sleep 1000"

func isStopped(pid int) bool { return strings.Contains(procStatus(pid, "State"), "T (stopped)") }

// A stopped launcher is woken to do what it is there for.
func TestStoppedLauncherIsCanceled(t *testing.T) {
	tests := []struct {
		name   string
		grace  time.Duration
		signal syscall.Signal
	}{
		{"with a grace", 20 * time.Second, syscall.SIGTERM},
		{"without", -1, syscall.SIGKILL},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := newOutlet(t)
			ctx, stop := context.WithCancel(bounded(t))
			defer stop()
			c := Command("sh", "-c", stopsLauncher)
			o.attach(c)
			c.Grace = test.grace
			run := begin(ctx, c)
			o.await(t, 10*time.Second, "up\n")
			launcher := number(t, o.seen, "launcher")
			until(t, 10*time.Second, "the launcher is stopped", func() bool { return isStopped(launcher) })
			stop()
			if exit, err := run.end(t, 5*time.Second); err != nil || !exit.Canceled || exit.Signal != test.signal {
				t.Errorf("Run: %v, %v; want canceled by %v", exit, err, test.signal)
			}
			o.w.Close()
			o.awaitEnd(t, 2*time.Second)
		})
	}
}

func TestHostOfStoppedLauncherIsKilled(t *testing.T) {
	o := newOutlet(t)
	host := exec.Command(self(t), stopsLauncher)
	host.Env = append(os.Environ(), roleVar+"=host", o.mark)
	host.Stdout, host.Stderr = o.w, o.w
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	o.w.Close()
	o.await(t, 10*time.Second, "up\n")
	launcher := number(t, o.seen, "launcher")
	until(t, 10*time.Second, "the launcher is stopped", func() bool { return isStopped(launcher) })
	_ = host.Process.Kill()
	_ = host.Wait()
	o.awaitEnd(t, 2*time.Second)
	until(t, 2*time.Second, "the launcher ends", func() bool { return !alive(launcher) })
}

// A launcher that cannot be woken is given up.
func TestLauncherIsGivenUp(t *testing.T) {
	o := newOutlet(t)
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
	o.await(t, 10*time.Second, "launcher ")
	o.awaitLines(t, 10*time.Second, 1)
	launcher := number(t, o.seen, "launcher")
	awaitSettled(t, launcher)
	if err := syscall.Kill(launcher, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, 10*time.Second, "the launcher is stopped", func() bool { return isStopped(launcher) })
	tree.abandon()
	if !within(tree.done, 5*time.Second) {
		t.Fatal("the launcher is still there")
	}
	if _, err := tree.result(); !errors.Is(err, ErrLost) || err.Error() != lostText {
		t.Errorf("error is %v", err)
	}
	o.w.Close()
	o.awaitEnd(t, 2*time.Second)
}

// What ps and top show, which would be the name of the link to this executable.
func TestLauncherHasAName(t *testing.T) {
	c, out := script("cat /proc/$PPID/comm")
	mustRun(t, c)
	if out.String() != "toolhost-launch\n" {
		t.Errorf("its name is %q", out)
	}
}
