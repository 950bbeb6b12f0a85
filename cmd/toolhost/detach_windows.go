package main

import (
	"os"
	"os/exec"
	"syscall"

	"github.com/toolhost/toolhost/host/api/local"
)

// detachedProcess is DETACHED_PROCESS: without the console of this program.
const detachedProcess = 8

// detach makes a program outlive this one and its console. It holds no file of this one, so it is not waited for.
func detach(cmd *exec.Cmd, ready *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: detachedProcess}
	_, _ = ready.WriteString(local.ReadyText) // the caller finds out by connecting whether it serves
}
