//go:build !proctree_group

package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// stoppedLooks is how often a launcher is found stopped, and woken, until it is given up. The pause between two looks
	// grows only while it is at work.
	stoppedLooks = 20
	firstPause   = 10 * time.Millisecond
	lastPause    = 100 * time.Millisecond
	// shortRun is how long a program runs until somebody besides its launcher waits for its end: most have ended by then.
	shortRun = 50 * time.Millisecond
)

// attend waits for the end of the program, and sees to it that the launcher tells of it, even if somebody has stopped the
// launcher. Where the kernel does not tell (before 5.3), the launcher is the only one to know.
func (t *tree) attend() {
	if t.pid <= 0 || within(t.done, shortRun) || !t.programEnds() {
		return
	}
	t.wake()
	for looks, pause := 0, firstPause; !within(t.done, pause); {
		if !t.stopped() {
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

// programEnds waits until the program has ended. It is false if the launcher was first, or if the kernel does not tell. A
// number that is another's by now does no harm: its end has the launcher woken, which is awake.
func (t *tree) programEnds() bool {
	fd, err := unix.PidfdOpen(t.pid, 0)
	if err != nil {
		return errors.Is(err, unix.ESRCH)
	}
	_ = unix.SetNonblock(fd, true) // has the runtime wait for it; the flag for that is younger than the call
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

// stopped reports whether the launcher is stopped at this moment.
func (t *tree) stopped() bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.proc.Pid))
	return bytes.Contains(stat, []byte(") T "))
}
