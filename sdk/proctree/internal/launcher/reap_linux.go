package launcher

import (
	"errors"
	"os"
	"slices"
	"syscall"
	"time"
)

// reap collects the children that have ended, without waiting for any. It
// reports how many there were, and whether others are left.
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

func (l *launcher) note(pid int, w syscall.WaitStatus) {
	if pid == l.pid {
		l.ended, l.wait, l.took = true, w, time.Since(l.started)
	} else if l.sweeping && w.Signaled() && w.Signal() == syscall.SIGKILL {
		l.killed++
	}
}

// member is a process of the tree and the parent it was found under.
type member struct{ pid, parent int }

// signalTree sends the signals to every process of the tree that can be seen.
//
// A pid may change hands between the look and the signal. That cannot happen to
// our children, which stay until we reap them. Others are signalled through a
// handle, after a check that it is still a process of the tree.
func (l *launcher) signalTree(signals ...syscall.Signal) {
	self := os.Getpid()
	if self == namespaceInit {
		signalNamespace(signals)
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

// below lists all processes under root, parents first. One that moves to
// another parent meanwhile may be found twice, and is listed once.
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
	if parent := parentOf(m.pid); parent != m.parent && parent != self {
		return
	}
	for _, s := range signals {
		_ = p.Signal(s)
	}
}

// killGroup kills the process group of a child. That happens in one step, so a
// process of the group that starts others at this very moment does not escape.
// All in the group are ours: groups do not reach over sessions, and the program
// began its own.
func killGroup(child, self int) {
	if group, err := syscall.Getpgid(child); err == nil && group > 1 && group != self {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}
