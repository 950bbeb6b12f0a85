package server

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// checkPeer fails unless the other end is a process of this user.
func checkPeer(c *net.UnixConn, _ []string) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Xucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		peer, failed = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	})
	switch {
	case err != nil:
		return err
	case failed != nil:
		return failed
	case int(peer.Uid) != os.Geteuid():
		return fmt.Errorf("a process of user %d", peer.Uid)
	}
	return nil
}
