package launcher

import (
	"os"
	"strconv"
	"syscall"
	"time"
)

// The pauses of a sweep, while processes that were killed have not ended yet.
const (
	firstPause = 50 * time.Microsecond
	lastPause  = 100 * time.Millisecond
)

// tick is how often the launcher looks for orphans to reap, if no signal tells
// it; blindTick, for the program too, where the kernel has no pidfd (before 5.3).
const (
	tick      = time.Second
	blindTick = 10 * time.Millisecond
)

// follow returns when the program has ended, or its parent, or when that orders
// the end. Until then it reaps orphans.
func (l *launcher) follow() {
	if !l.meet() {
		return
	}
	fds := []pollFD{{fd: controlFile, events: pollIn}, {fd: int32(l.pidfd), events: pollIn}}
	limit := tick
	if l.pidfd < 0 {
		limit = blindTick
	}
	for {
		poll(fds, limit)
		if l.reap(); l.ended {
			return
		}
		if fds[0].revents != 0 && !l.obey() {
			return
		}
	}
}

// meet waits until the parent has heard of the program, so that its pid is not
// another's by then. It returns false if the parent has ended, or orders the end.
func (l *launcher) meet() bool {
	fds := []pollFD{{fd: controlFile, events: pollIn}}
	for !l.found {
		poll(fds, tick)
		if fds[0].revents != 0 && !l.obey() {
			return false
		}
	}
	return true
}

// obey follows one order of the parent. It returns false if that has ended.
func (l *launcher) obey() bool {
	order := make([]byte, 1)
	_, err := l.control.Read(order)
	switch order[0] {
	case TerminateOrder:
		l.signalTree(syscall.SIGTERM, syscall.SIGCONT)
	case FoundOrder:
		l.found = true
	}
	return err == nil
}

// sweep kills until no process is left, and says how the program ended. If the
// killing takes too long it says so, and goes on.
func (l *launcher) sweep() {
	l.sweeping = true
	l.say(sweepLine)
	limit, told := time.Now().Add(SweepLimit), false
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		l.signalTree(syscall.SIGKILL)
		reaped, left := l.reap()
		if !left {
			break
		}
		if !told && time.Now().After(limit) {
			l.tell(true)
			told = true
		}
		if reaped > 0 { // their orphans are here already
			pause = firstPause
			continue
		}
		poll(nil, pause)
	}
	if !told {
		l.tell(false)
	}
}

// tell writes the last of the status.
func (l *launcher) tell(left bool) {
	if l.ended {
		l.say(endedLine, l.wait, l.took, l.killed)
	}
	if left {
		children := l.look()(os.Getpid())
		l.say(leftLine, max(1, len(children)), joined(children))
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
