//go:build linux || darwin

package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"

	"github.com/toolhost/toolhost/host/api/local"
	"github.com/toolhost/toolhost/internal/wire"
)

// checkPeer fails unless the other end is a process of this user and, on Linux, one that neither this one nor a
// predecessor has started.
func checkPeer(c *net.UnixConn, predecessors []string) error {
	peer, err := wire.PeerOf(c)
	switch {
	case err != nil:
		return err
	case peer.UID != os.Geteuid():
		return fmt.Errorf("a process of user %d", peer.UID)
	case runtime.GOOS != "linux" || peer.PID == os.Getpid():
		return nil
	}
	return notDescendant(peer.PID, predecessors)
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
