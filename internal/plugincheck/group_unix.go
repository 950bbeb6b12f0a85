//go:build unix

package plugincheck

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// groupAlive reports whether a process of the group still runs.
func groupAlive(p *os.Process) bool { return syscall.Kill(-p.Pid, 0) == nil }
