package supervise

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// When the host is killed its plugin and the plugin's child end by themselves, also when the plugin is stopped, and the
// next host removes the folder that is left.
func TestHostKilled(t *testing.T) {
	for name, env := range map[string]string{"serving": "STOP=", "stopped": "STOP=1"} {
		t.Run(name, func(t *testing.T) {
			run := shortDir(t)
			h := playedHost(t, "RUN="+run, env)
			var plugin, child int
			if _, err := fmt.Sscan(h.line(t), &plugin, &child); err != nil {
				t.Fatal(err)
			}
			launcher := launcherOf(plugin)
			h.line(t) // it is as it should be
			h.kill(t)
			soon(t, "the plugin ends", patience, func() bool { return !alive(plugin) })
			soon(t, "its child ends", patience, func() bool { return !alive(child) })
			soon(t, "its launcher ends", patience, func() bool { return !alive(launcher) })
			checkSwept(t, run)
		})
	}
}

// A program that is no plugin knows of no lifeline: its launcher ends it with the host.
func TestHostKilledWhileItStartsAStranger(t *testing.T) {
	h := playedHost(t, "RUN="+shortDir(t), "STRANGER=sleep")
	var stranger int
	soon(t, "the stranger runs", patience, func() bool {
		stranger = childOf(childOf(h.cmd.Process.Pid))
		return stranger != 0
	})
	h.kill(t)
	soon(t, "the stranger ends", patience, func() bool { return !alive(stranger) })
}

func checkSwept(t *testing.T, run string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(run, "*")); len(left) != 1 {
		t.Fatalf("a killed host leaves its folder: %v", left)
	}
	// A process that was being started when the host was killed may hold the lock for another moment.
	soon(t, "the next host removes it", patience, func() bool {
		s, err := New(Options{RunDir: run})
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
		left, _ := filepath.Glob(filepath.Join(run, "*"))
		return len(left) == 0
	})
}

type hostProcess struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func playedHost(t *testing.T, env ...string) *hostProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "PLAY=host"), env...)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &hostProcess{cmd, bufio.NewScanner(out)}
}

func (h *hostProcess) line(t *testing.T) string {
	t.Helper()
	if !h.lines.Scan() {
		t.Fatal("the host ended")
	}
	return h.lines.Text()
}

func (h *hostProcess) kill(t *testing.T) {
	t.Helper()
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = h.cmd.Wait()
}

// childOf gives a child of a process, or 0.
func childOf(pid int) (child int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		if _, err := fmt.Sscan(string(text), &child); err == nil {
			return child
		}
	}
	return 0
}
