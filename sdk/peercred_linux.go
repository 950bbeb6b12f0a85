package sdk

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerOf asks SO_PEERCRED (unix(7)): who connected, or who listens.
func peerOf(conn *net.UnixConn) (peer, error) {
	var cred *unix.Ucred
	err := onSocket(conn, func(fd int) (err error) {
		cred, err = unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		return err
	})
	if err != nil {
		return peer{}, err
	}
	return peer{uid: int(cred.Uid), pid: int(cred.Pid)}, nil
}
