package launcher

import (
	"bufio"
	"io"
	"os/exec"
	"syscall"
	"testing"
	"time"
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
	stuck := time.AfterFunc(10*time.Second, func() { _ = out.Close() })
	defer stuck.Stop()
	if _, err := reader.ReadByte(); err != io.EOF {
		t.Errorf("some of the group are alive: %v", err)
	}
	if err := c.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("the leader ended with %v", err)
	}
}

func TestKillGroupSparesOurs(t *testing.T) {
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
