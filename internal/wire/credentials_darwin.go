package wire

import (
	"net"

	"golang.org/x/sys/unix"
)

// PeerOf asks LOCAL_PEERCRED (unix(4)) for the user, and LOCAL_PEERPID for the process.
func PeerOf(conn net.Conn) (out Peer, err error) {
	socket, is := conn.(*net.UnixConn)
	if !is {
		return Peer{}, noSocket(conn)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		var cred *unix.Xucred
		if cred, failed = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); failed != nil {
			return
		}
		out.UID = int(cred.Uid)
		out.PID, failed = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	})
	if err != nil {
		return Peer{}, err
	}
	return out, failed
}
