package launcher

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"github.com/toolhost/toolhost/internal/procstat"
)

// The pauses of a sweep, while processes that were killed have not ended yet.
const (
	firstPause = 50 * time.Microsecond
	lastPause  = 100 * time.Millisecond
)

// tick is how often the launcher looks for orphans to reap without a signal;
// blindTick, for the program too, where the kernel has no pidfd (before 5.3).
const (
	tick      = time.Second
	blindTick = 10 * time.Millisecond
)

// follow returns when the program has ended, or its parent, or on the command to
// end. Until then it reaps orphans.
func (l *launcher) follow() {
	fds := []pollFD{{fd: controlFile, events: pollIn}}
	for !l.found { // so that the pid is not that of another process when the parent receives it
		poll(fds, tick)
		if fds[0].revents != 0 && !l.runCommand() {
			return
		}
	}
	fds = append(fds, pollFD{fd: int32(l.pidfd), events: pollIn})
	limit := tick
	if l.pidfd < 0 {
		limit = blindTick
	}
	for {
		poll(fds, limit)
		if l.reap(); l.ended {
			return
		}
		if fds[0].revents != 0 && !l.runCommand() {
			return
		}
	}
}

// runCommand executes one command of the parent. It returns false if the parent has ended.
func (l *launcher) runCommand() bool {
	command := make([]byte, 1)
	_, err := l.control.Read(command)
	switch command[0] {
	case TerminateCommand:
		l.signalTree(syscall.SIGTERM, syscall.SIGCONT)
	case FoundCommand:
		l.found = true
	}
	return err == nil
}

// sweep kills until no process is left, and reports how the program ended. If the killing takes too long, it reports
// that and continues.
func (l *launcher) sweep() {
	l.sweeping = true
	l.report(sweepLine)
	limit, done := time.Now().Add(SweepLimit), false
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		l.signalTree(syscall.SIGKILL)
		reaped, left := l.reap()
		if !left {
			break
		}
		if !done && time.Now().After(limit) {
			l.finish(true)
			done = true
		}
		if reaped > 0 { // their orphans are here already
			pause = firstPause
			continue
		}
		poll(nil, pause)
	}
	if !done {
		l.finish(false)
	}
}

// finish writes the end of the status.
func (l *launcher) finish(left bool) {
	if l.ended {
		l.report(endedLine, l.wait, l.took, l.killed)
	}
	if left {
		children := l.look()(os.Getpid())
		l.report(leftLine, max(1, len(children)), joined(children))
	}
	_ = l.status.Close()
}

// joined names the first few pids, if they can be seen.
func joined(pids []int) string {
	if len(pids) == 0 {
		return "unknown"
	}
	var text []byte
	for _, pid := range pids[:min(len(pids), 8)] {
		text = append(strconv.AppendInt(text, int64(pid), 10), ',')
	}
	return string(text[:len(text)-1])
}

// reap collects the children that have ended, without waiting for any. It returns their number, and whether others
// are left.
func (l *launcher) reap() (reaped int, left bool) {
	for {
		var w syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &w, syscall.WNOHANG|syscall.WALL, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return reaped, false // ECHILD: no children at all
		case pid == 0:
			return reaped, true
		default:
			reaped++
			l.note(pid, w)
		}
	}
}

// note records the end of a child. That of the program is reported at once: calls that wait for it need not wait for
// the rest of its tree. It may come during the sweep, since a parent that kills the program ends the control pipe too.
func (l *launcher) note(pid int, w syscall.WaitStatus) {
	if pid == l.pid {
		l.ended, l.wait, l.took = true, w, time.Since(l.started)
		l.report(exitedLine, l.wait, l.took)
	} else if l.sweeping && w.Signaled() && w.Signal() == syscall.SIGKILL {
		l.killed++
	}
}

// member is a process of the tree and the parent it was found under.
type member struct{ pid, parent int }

// signalTree sends the signals to every process of the tree that can be found.
// A pid may be reused between the listing and the signal. That cannot happen to our children, which remain until we
// reap them. Others are signalled through a handle, after a check that it is still a process of the tree.
func (l *launcher) signalTree(signals ...syscall.Signal) {
	self := os.Getpid()
	if self == namespaceInit {
		for _, s := range signals {
			_ = syscall.Kill(-1, s) // every process of the namespace except this one, in one step
		}
		return
	}
	for _, m := range below(self, l.look()) {
		if m.parent != self {
			signalOther(m, self, signals)
			continue
		}
		if slices.Contains(signals, syscall.SIGKILL) {
			killGroup(m.pid, self)
		}
		for _, s := range signals {
			_ = syscall.Kill(m.pid, s)
		}
	}
}

// below lists all processes under root, parents first. A process that gets another parent meanwhile may be found
// twice, and is listed once.
func below(root int, list lister) []member {
	members := []member{{pid: root}}
	seen := map[int]bool{root: true}
	for i := 0; i < len(members); i++ {
		for _, pid := range list(members[i].pid) {
			if !seen[pid] {
				seen[pid] = true
				members = append(members, member{pid, members[i].pid})
			}
		}
	}
	return members[1:]
}

func signalOther(m member, self int, signals []syscall.Signal) {
	p, err := os.FindProcess(m.pid)
	if err != nil {
		return
	}
	defer func() { _ = p.Release() }()
	if parent := procstat.ParentOf(m.pid); parent != m.parent && parent != self {
		return
	}
	for _, s := range signals {
		_ = p.Signal(s)
	}
}

// killGroup kills the process group of a child. That happens in one step, so a process of the group that is just
// starting others does not escape. All processes in the group are ours: groups do not extend over sessions, and the
// program began its own.
func killGroup(child, self int) {
	if group, err := syscall.Getpgid(child); err == nil && group > 1 && group != self {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}

// pollFD is struct pollfd of poll(2), and pollIn its POLLIN.
type pollFD struct {
	fd      int32 // ignored if negative
	events  int16
	revents int16
}

const pollIn = 1

// poll waits until one of the files is ready or has ended, a child has ended, or the limit is over. SIGCHLD, which a
// child sends when it ends, interrupts the wait, but may arrive just before it.
func poll(fds []pollFD, limit time.Duration) {
	for i := range fds {
		fds[i].revents = 0
	}
	timeout := syscall.NsecToTimespec(limit.Nanoseconds())
	first := unsafe.Pointer(unsafe.SliceData(fds))
	_, _, _ = syscall.Syscall6(syscall.SYS_PPOLL, uintptr(first), uintptr(len(fds)),
		uintptr(unsafe.Pointer(&timeout)), 0, 0, 0)
}
