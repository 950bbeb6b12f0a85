package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/api/local"
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
		name, parent, err := local.Process(pid)
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
