//go:build !proctree_group

package proctree

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// What left the process group of a program whose launcher is killed is found by its mark,
// and nothing else is touched.
func TestLauncherIsKilledAndAllElseEnds(t *testing.T) {
	bystander := exec.Command("sleep", "1000")
	bystander.Env = append(os.Environ(), newMark())
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bystander.Process.Kill(); _ = bystander.Wait() }()
	for _, l := range leftovers {
		if strings.HasPrefix(l.name, "hopper") {
			continue // its number changes faster than one can look
		}
		t.Run(l.name, func(t *testing.T) {
			o := newOutlet(t)
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

// Each run has its own mark, also in a program that has one already.
func TestMarks(t *testing.T) {
	c, out := script("env | grep ^PROCTREE_ID")
	c.Env = append(os.Environ(), markName+"another's")
	mustRun(t, c)
	first := out.String()
	out.Reset()
	mustRun(t, c)
	if strings.Count(first, "\n") != 1 || len(first) < 30 || first == out.String() || strings.Contains(first, "another's") {
		t.Errorf("first %q, then %q", first, out)
	}
}
