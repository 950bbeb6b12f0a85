package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"github.com/toolhost/toolhost/host/api/local"
)

// mayWrite reports whether a file or folder is not marked as read-only. Access control lists are not examined.
func mayWrite(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o200 != 0
}

// detachedProcess is DETACHED_PROCESS: without the console of this program.
const detachedProcess = 8

// detach makes a program outlive this one and its console. It holds no file of this one, so it is not waited for.
func detach(cmd *exec.Cmd, ready *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: detachedProcess}
	_, _ = ready.WriteString(local.ReadyText) // the caller finds out by connecting whether it serves
}

// replaceProcess runs a program, and ends as it ends.
func replaceProcess(program string, args []string) error {
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if ended, is := errors.AsType[*exec.ExitError](err); is {
		return &exitError{code: ended.ExitCode()}
	}
	return err
}
