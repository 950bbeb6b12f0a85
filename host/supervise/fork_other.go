//go:build unix && !linux

package supervise

import (
	"os/exec"
	"syscall"
)

// A forker starts processes; only Linux needs care.
type forker struct{}

func newForker() *forker                    { return &forker{} }
func (*forker) do(start func() error) error { return start() }
func (*forker) close()                      {}

func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// reap waits for the process and ends what is left of its group.
func (c *child) reap(cmd *exec.Cmd) {
	_ = cmd.Wait() // the state says it all
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = syscall.Kill(-c.pid, syscall.SIGKILL)
	c.state = cmd.ProcessState
}
