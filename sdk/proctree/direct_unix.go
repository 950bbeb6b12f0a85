//go:build unix && (!linux || proctree_group)

package proctree

import (
	"errors"
	"os"
	"syscall"
)

const containment = inGroup

// startProcess starts the program in a process group of its own.
func startProcess(p program, files [3]*os.File) (*os.Process, error) {
	proc, err := os.StartProcess(p.path, p.argv, &os.ProcAttr{
		Dir:   p.dir,
		Env:   p.env,
		Files: files[:],
		Sys:   &syscall.SysProcAttr{Setpgid: !p.terminal, Setsid: p.terminal, Setctty: p.terminal},
	})
	if err != nil {
		return nil, startError(p, err)
	}
	return proc, nil
}

// startError distinguishes a bad directory from a bad program.
func startError(p program, err error) error {
	if p.dir != "" {
		d, dirErr := os.Open(p.dir + "/.")
		if dirErr != nil {
			return &StartError{p.name, "chdir " + p.dir + ": " + errors.Unwrap(dirErr).Error(), dirErr}
		}
		_ = d.Close()
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return execError(p, errno)
	}
	return &StartError{p.name, err.Error(), err}
}

func (t *tree) terminate() {
	t.signal(syscall.SIGTERM)
	t.signal(syscall.SIGCONT)
}

func (t *tree) kill() { t.signal(syscall.SIGKILL) }

func (t *tree) signal(s syscall.Signal) { _ = syscall.Kill(-t.proc.Pid, s) }
