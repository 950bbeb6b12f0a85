//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/api/local"
)

// mayWrite reports whether this user may write to a file or folder.
func mayWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }

// detach makes a program outlive this one and its terminal, and names the file to write to when it serves.
func detach(cmd *exec.Cmd, ready *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.ExtraFiles = []*os.File{ready}
	cmd.Env = append(cmd.Env, local.ReadyVar+"=3")
}

// replaceProcess runs a program in place of this one.
func replaceProcess(program string, args []string) error {
	return syscall.Exec(program, append([]string{program}, args...), os.Environ())
}
