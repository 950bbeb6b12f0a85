package wire

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerOf asks SO_PEERCRED (unix(7)) for the process that connected, or listens.
func peerOf(conn net.Conn) (peer, error) {
	socket, is := conn.(*net.UnixConn)
	if !is {
		return peer{}, noSocket(conn)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return peer{}, err
	}
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return peer{}, err
	}
	if failed != nil {
		return peer{}, failed
	}
	return peer{uid: int(cred.Uid), pid: int(cred.Pid)}, nil
}
