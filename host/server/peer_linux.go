package server

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// checkPeer fails unless the other end is a process of this user that is no descendant of this one.
func checkPeer(c *net.UnixConn) error {
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
	return notDescendant(int(peer.Pid))
}

// maxAncestors bounds the walk up, in case it meets numbers that are used again meanwhile.
const maxAncestors = 1000

// notDescendant fails for a process that this one has started, directly or not. What a plugin starts is a descendant of
// its launcher even after its parent has ended.
func notDescendant(pid int) error {
	own := os.Getpid()
	for range maxAncestors {
		switch {
		case pid == own:
			return fmt.Errorf("a process that this host has started")
		case pid <= 1:
			return nil
		}
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			return err
		}
		_, rest, found := bytes.Cut(stat[max(bytes.LastIndexByte(stat, ')'), 0):], []byte(") "))
		fields := bytes.Fields(rest)
		if !found || len(fields) < 2 {
			return fmt.Errorf("/proc/%d/stat has another form", pid)
		}
		if pid, err = strconv.Atoi(string(fields[1])); err != nil {
			return err
		}
	}
	return fmt.Errorf("a process with too many ancestors")
}
