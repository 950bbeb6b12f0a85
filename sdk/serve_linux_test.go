package sdk_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/sdk"
)

// family is a plugin with a child in its process group. The child holds the pipe that the test watches.
func family() {
	child := as(context.Background(), "hang")
	child.ExtraFiles = []*os.File{os.NewFile(3, "watched")}
	if err := child.Start(); err != nil {
		panic(err)
	}
	sdk.Serve(sdk.New("family", "1.0.0"))
}

// host starts a plugin, stops it, prints its process id, and hangs until it is killed.
func host() {
	plugin := as(context.Background(), "greet", append(lifelineEnv(), cookie)...)
	plugin.ExtraFiles = []*os.File{os.NewFile(3, "watched")}
	lifeline, stdout := must(plugin.StdinPipe()), bufio.NewReader(must(plugin.StdoutPipe()))
	if err := plugin.Start(); err != nil {
		panic(err)
	}
	must(stdout.ReadString('\n'))
	_ = plugin.Process.Signal(syscall.SIGSTOP)
	must(syscall.Wait4(plugin.Process.Pid, nil, syscall.WUNTRACED, nil))
	must(fmt.Println(plugin.Process.Pid))
	hang()
	_ = lifeline.Close()
}

// watched returns a pipe to start processes with, and a function that waits until the last of them has ended.
func watched(t *testing.T) (w *os.File, gone func() error) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return w, func() error {
		_ = w.Close()
		if err := r.SetReadDeadline(time.Now().Add(soon)); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, r)
		return err
	}
}

func TestExitTakesTheGroupAlong(t *testing.T) {
	for name, hostPID := range map[string]int{"when the host is gone": 1, "when the host is there": os.Getpid()} {
		t.Run(name, func(t *testing.T) {
			w, gone := watched(t)
			p := start(t, "family", func(c *exec.Cmd) {
				c.ExtraFiles, c.SysProcAttr = []*os.File{w}, &syscall.SysProcAttr{Setpgid: true}
			}, wire.EnvLifeline+"=stdin", wire.EnvHostPID+"="+strconv.Itoa(hostPID))
			_ = p.lifeline.Close()
			if err := gone(); err != nil {
				t.Errorf("the plugin's child lives on: %v", err)
				_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
			}
		})
	}
}

// A plugin that was stopped when its host died wakes up, finds its lifeline closed, and ends.
func TestStoppedPluginOutlivesNoHost(t *testing.T) {
	w, gone := watched(t)
	cmd := as(t.Context(), "host", socketDir(t))
	cmd.ExtraFiles = []*os.File{w}
	stdout := bufio.NewReader(must(cmd.StdoutPipe()))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var plugin int
	if _, err := fmt.Fscanln(stdout, &plugin); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err := gone(); err != nil {
		t.Errorf("the plugin lives on: %v", err)
		_ = syscall.Kill(plugin, syscall.SIGKILL)
	}
}
