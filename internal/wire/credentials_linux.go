package wire

import (
	"net"

	"golang.org/x/sys/unix"
)

// PeerOf asks SO_PEERCRED (unix(7)) for the process that connected, or listens.
func PeerOf(conn net.Conn) (Peer, error) {
	socket, is := conn.(*net.UnixConn)
	if !is {
		return Peer{}, noSocket(conn)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return Peer{}, err
	}
	if failed != nil {
		return Peer{}, failed
	}
	return Peer{UID: int(cred.Uid), PID: int(cred.Pid)}, nil
}
