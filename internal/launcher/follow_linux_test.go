package launcher

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/procstat"
)

func TestKillGroup(t *testing.T) {
	c := exec.Command("sh", "-c", "sleep 1000 & sleep 1000 | sleep 1000 & echo up; wait")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(out)
	if line, err := reader.ReadString('\n'); line != "up\n" {
		t.Fatalf("the group says %q, %v", line, err)
	}
	killGroup(c.Process.Pid, syscall.Getpgrp())
	stuck := time.AfterFunc(time.Minute, func() { _ = out.Close() })
	defer stuck.Stop()
	if _, err := reader.ReadByte(); err != io.EOF {
		t.Errorf("some of the group are alive: %v", err)
	}
	if err := c.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("the leader ended with %v", err)
	}
}

func TestKillGroupSparesTheCaller(t *testing.T) {
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	killGroup(c.Process.Pid, syscall.Getpgrp())
	_ = in.Close()
	if err := c.Wait(); err != nil {
		t.Errorf("a child in our own group ended with %v", err)
	}
}

// Both ways to list the tree must find the same processes, in a tree with sessions and with a program whose name is
// made to confuse the parser.
func TestListers(t *testing.T) {
	sleep := filepath.Join(t.TempDir(), "a) S (1 2")
	if err := os.Symlink("/bin/sleep", sleep); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh", "-c", `setsid sh -c '"$0" 1000 & sleep 1000 & wait' "$0" & sleep 1000 & "$0" 1000 & wait`,
		sleep)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, pid := range append(pidsBelow(c.Process.Pid, childrenByTask), c.Process.Pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_ = c.Wait()
	}()
	var byTask, byParent []int
	deadline := time.After(time.Minute)
	for len(byTask) != 5 || !slices.Equal(byTask, byParent) {
		select {
		case <-deadline:
			t.Fatalf("by task: %v, by parent: %v, want the same 5", byTask, byParent)
		default:
			byTask, byParent = pidsBelow(c.Process.Pid, childrenByTask), pidsBelow(c.Process.Pid, childrenByParent())
		}
	}
}

func pidsBelow(root int, list lister) (pids []int) {
	for _, m := range below(root, list) {
		pids = append(pids, m.pid)
	}
	slices.Sort(pids)
	return pids
}

func TestBelowEndsOnALoop(t *testing.T) {
	list := func(pid int) []int { return map[int][]int{1: {2, 3}, 2: {3, 4}, 4: {1, 2}}[pid] }
	want := []member{{2, 1}, {3, 1}, {4, 2}}
	if got := below(1, list); !slices.Equal(got, want) {
		t.Errorf("below 1 are %v, want %v", got, want)
	}
}

func TestParentOf(t *testing.T) {
	if parent := procstat.ParentOf(os.Getpid()); parent != os.Getppid() {
		t.Errorf("our parent is %d, want %d", parent, os.Getppid())
	}
	limit, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if err != nil {
		t.Fatal(err)
	}
	most, err := strconv.Atoi(string(limit[:len(limit)-1]))
	if err != nil {
		t.Fatal(err)
	}
	if parent := procstat.ParentOf(most + 1); parent != 0 {
		t.Errorf("the parent of no process is %d, want 0", parent)
	}
}
