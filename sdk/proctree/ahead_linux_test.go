//go:build !proctree_group

package proctree

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"testing"
)

// output is a pipe for a program's output.
func output(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

// A launcher that was started ahead runs one program, and only one with its files and its kind of sandbox.
func TestLauncherAhead(t *testing.T) {
	for name, c := range map[string]struct {
		namespaces, sandboxed, otherFiles, taken bool
	}{
		"without a sandbox":    {taken: true},
		"in namespaces":        {namespaces: true, sandboxed: true, taken: true},
		"for another sandbox":  {sandboxed: true},
		"with other files":     {otherFiles: true},
		"without one it needs": {namespaces: true},
	} {
		t.Run(name, func(t *testing.T) {
			if (c.namespaces || c.sandboxed) && !allowed(t) {
				t.Skip("no namespaces here")
			}
			r, w := output(t)
			in, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			l := StartLauncher(in, w, w, c.namespaces)
			defer l.Close()
			pid := l.tree.proc.Pid
			cmd := Command("sh", "-c", "echo done")
			cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Launcher = in, w, w, l
			cmd.Sandbox.Namespaces = c.sandboxed
			if c.otherFiles {
				_, other := output(t)
				cmd.Stderr = other
			}
			var parentPID int
			cmd.Started = func(program int) { parentPID = parent(program) }
			for range 2 {
				if exit, err := cmd.Run(bounded(t)); err != nil || exit.Code != 0 {
					t.Fatalf("it ended with %+v, %v", exit, err)
				}
				line, _ := bufio.NewReader(r).ReadString('\n')
				if line != "done\n" || (parentPID == pid) != c.taken {
					t.Errorf("it printed %q under process %d; the launcher is %d", line, parentPID, pid)
				}
				c.taken = false // the second time
			}
		})
	}
}

// A launcher that no program takes ends with Close, and so does one whose program cannot be run.
func TestLauncherAheadOfNothing(t *testing.T) {
	for name, use := range map[string]func(l *Launcher, c *Cmd){
		"closed": func(*Launcher, *Cmd) {},
		"canceled": func(_ *Launcher, c *Cmd) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, _ = c.Run(ctx)
		},
		"not found": func(_ *Launcher, c *Cmd) {
			c.Path = "/nothing"
			_, _ = c.Run(bounded(t))
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, w := output(t)
			l := StartLauncher(nil, w, w, false)
			pid := l.tree.proc.Pid
			c := Command("true")
			c.Stdout, c.Stderr, c.Launcher = w, w, l
			use(l, c)
			l.Close()
			l.Close()
			until(t, patience, "the end of the launcher", func() bool {
				_, err := os.Stat(fmt.Sprint("/proc/", pid))
				return err != nil
			})
		})
	}
}
