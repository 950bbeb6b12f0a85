package wire

import (
	"net"

	"golang.org/x/sys/unix"
)

// PeerOf asks SO_PEERCRED (unix(7)) for the process that connected, or listens.
func PeerOf(conn net.Conn) (out Peer, err error) {
	err = askSocket(conn, func(fd uintptr) error {
		cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil {
			out = Peer{UID: int(cred.Uid), PID: int(cred.Pid)}
		}
		return err
	})
	return out, err
}
