//go:build !proctree_group

package proctree

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/toolhost/toolhost/internal/procstat"
	"golang.org/x/sys/unix"
)

const (
	// stoppedLooks is how often a launcher is found stopped, and woken, until it is given up. The pause between two
	// checks grows only while it is running.
	stoppedLooks = 20
	firstPause   = 10 * time.Millisecond
	lastPause    = 100 * time.Millisecond
	// shortRun is how long a program runs before its end is awaited by more than its launcher: most have ended by then.
	shortRun = 50 * time.Millisecond
)

// superviseLauncher waits for the end of the program, and makes sure that the launcher reports it, even if the launcher
// was stopped. Where the kernel does not report it (before 5.3), only the launcher knows.
func (t *tree) superviseLauncher() {
	if t.pid <= 0 || within(t.done, shortRun) || !t.programEnds() {
		return
	}
	t.wake()
	for looks, pause := 0, firstPause; !within(t.done, pause); {
		if !procstat.IsStopped(t.proc.Pid) {
			pause = min(2*pause, lastPause)
			continue
		}
		if looks++; looks == stoppedLooks {
			t.abandon()
			return
		}
		t.wake()
	}
}

// programEnds waits until the program has ended. It is false if the launcher ended first, or if the kernel does not
// report the end. A reused pid does no harm: its end only wakes a launcher that is running.
func (t *tree) programEnds() bool {
	fd, err := unix.PidfdOpen(t.pid, 0)
	if err != nil {
		return errors.Is(err, unix.ESRCH)
	}
	_ = unix.SetNonblock(fd, true) // makes the runtime wait for it; the flag for that is newer than the call
	f := os.NewFile(uintptr(fd), "program")
	defer f.Close()
	ended := make(chan bool, 1)
	go func() { ended <- awaitEnd(f) }()
	select {
	case yes := <-ended:
		return yes
	case <-t.done:
		return false
	}
}

// awaitEnd waits until the process of a handle has ended. It is false if the handle is closed before.
func awaitEnd(f *os.File) bool {
	c, err := f.SyscallConn()
	if err != nil {
		return false
	}
	return c.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return err == nil && n > 0
	}) == nil
}

// markName is the variable by which the processes of one run are found if their launcher was killed. Children inherit
// it, unless they are given another environment.
const markName = "PROCTREE_ID="

const (
	// markLimit is how long the search may take.
	markLimit = 2 * time.Second
	// markLooks is how often nothing must be found before the search ends: processes start others meanwhile.
	markLooks = 3
)

func newMark() string { return markName + rand.Text() }

// endMarked kills the processes with the mark until none is found several times, within the limit: reading another
// process's environment may hang.
func endMarked(mark string) {
	done, deadline := make(chan struct{}), time.Now().Add(markLimit)
	go func() {
		defer close(done)
		for none := 0; none < markLooks && time.Now().Before(deadline); none++ {
			if killMarked(mark) {
				none = -1
			}
			within(nil, time.Millisecond) // killed processes take a moment to end
		}
	}()
	within(done, markLimit)
}

// killMarked kills the processes that it finds, and reports whether there were any, or may be one. Each is checked
// again once there is a handle of it, since a pid may be reused.
func killMarked(mark string) (found bool) {
	for _, pid := range procstat.NumbersIn("/proc", -1) {
		marked, unknown := isMarked(pid, mark)
		found = found || marked || unknown
		if !marked {
			continue
		}
		p, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if marked, _ := isMarked(pid, mark); marked {
			_ = p.Kill()
		}
		_ = p.Release()
	}
	return found
}

// isMarked reports whether a process has the mark. That is unknown during an exec, which takes long on a busy machine:
// the environment reads as empty then.
func isMarked(pid int, mark string) (marked, unknown bool) {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || len(environ) > 0 {
		return bytes.Contains(environ, []byte(mark)), false
	}
	return false, !hasNoEnvironment(pid)
}

// hasNoEnvironment reports whether the environment of a process is really empty, or the process has no memory, like
// those that have ended. In an exec the kernel sets the start of the code last; the environment is empty for a moment
// before.
func hasNoEnvironment(pid int) bool {
	f := procstat.Read(pid)
	return f.Int(procstat.Memory) == 0 || f.Int(procstat.Code) != 0 && f.Text(procstat.EnvStart) == f.Text(procstat.EnvEnd)
}
