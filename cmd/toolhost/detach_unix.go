//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"

	"github.com/toolhost/toolhost/host/api/local"
)

// detach makes a program outlive this one and its terminal, and tells it the file to write to when it serves.
func detach(cmd *exec.Cmd, ready *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.ExtraFiles = []*os.File{ready}
	cmd.Env = append(os.Environ(), local.ReadyVar+"=3")
}
