//go:build !unix

package plugincheck

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

func killGroup(p *os.Process) { _ = p.Kill() }

func terminate(p *os.Process) error { return p.Kill() }

func groupAlive(*os.Process) bool { return false }
