package supervise

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// A forker starts processes from one thread that lives as long as the supervisor. The kernel kills a plugin whose
// parent dies (PR_SET_PDEATHSIG), but means the thread that forked it, and Go ends threads as it likes.
type forker struct{ work chan func() }

func newForker() *forker {
	f := &forker{work: make(chan func())}
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with this goroutine
		for do := range f.work {
			do()
		}
	}()
	return f
}

func (f *forker) do(start func() error) error {
	result := make(chan error)
	f.work <- func() { result <- start() }
	return <-result
}

// close ends the thread. All plugins must have ended.
func (f *forker) close() { close(f.work) }

// processAttributes: a session and process group of its own, and the end when the host dies, whatever state it is in.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// reap waits for the process and ends its group while the dead leader still holds its number, so that no stranger is
// hit.
func (c *child) reap(cmd *exec.Cmd) {
	for errors.Is(unix.Waitid(unix.P_PID, c.pid, nil, unix.WEXITED|unix.WNOWAIT, nil), syscall.EINTR) {
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = syscall.Kill(-c.pid, syscall.SIGKILL)
	_ = cmd.Wait() // the state says it all
	c.state = cmd.ProcessState
}
