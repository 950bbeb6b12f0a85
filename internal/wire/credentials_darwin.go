package wire

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerOf asks LOCAL_PEERCRED (unix(4)) for the user, and LOCAL_PEERPID for the process.
func peerOf(conn net.Conn) (out peer, err error) {
	socket, is := conn.(*net.UnixConn)
	if !is {
		return peer{}, noSocket(conn)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return peer{}, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		var cred *unix.Xucred
		if cred, failed = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); failed != nil {
			return
		}
		out.uid = int(cred.Uid)
		out.pid, failed = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	})
	if err != nil {
		return peer{}, err
	}
	return out, failed
}
