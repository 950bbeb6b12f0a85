package server

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// checkPeer fails unless the other end is a process of this user that neither this one nor a predecessor has started.
func checkPeer(c *net.UnixConn, predecessors []string) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	switch {
	case err != nil:
		return err
	case failed != nil:
		return failed
	case int(peer.Uid) != os.Geteuid():
		return fmt.Errorf("a process of user %d", peer.Uid)
	}
	if int(peer.Pid) == os.Getpid() {
		return nil
	}
	return notDescendant(int(peer.Pid), predecessors)
}

// maxAncestors bounds the walk up, in case it meets numbers that are used again meanwhile.
const maxAncestors = 1000

// notDescendant fails for a process that this one or a predecessor has started, directly or not. What a plugin starts
// is a descendant of its launcher even after its parent has ended.
func notDescendant(pid int, predecessors []string) error {
	own := os.Getpid()
	for range maxAncestors {
		if pid <= 1 {
			return nil
		}
		name, parent, err := process(pid)
		if err != nil {
			return err
		}
		if pid == own || slices.Contains(predecessors, name) {
			return errors.New("a process that this host has started")
		}
		pid = parent
	}
	return errors.New("a process with too many ancestors")
}

// Self names this process for the Predecessors of another; "" where the system does not tell who has started a process.
func Self() string {
	name, _, err := process(os.Getpid())
	if err != nil {
		return ""
	}
	return name
}

// process names a process by its number and when it began, since numbers are used again, and finds its parent.
func process(pid int) (name string, parent int, err error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", 0, err
	}
	const state, ppid, start = 3, 4, 22 // as proc(5) numbers them
	_, rest, _ := bytes.Cut(stat[max(bytes.LastIndexByte(stat, ')'), 0):], []byte(") "))
	fields := bytes.Fields(rest)
	if len(fields) <= start-state {
		return "", 0, fmt.Errorf("/proc/%d/stat has another form", pid)
	}
	parent, err = strconv.Atoi(string(fields[ppid-state]))
	return fmt.Sprintf("%d/%s", pid, fields[start-state]), parent, err
}
