package sdk

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerOf asks LOCAL_PEERCRED (unix(4)), which tells the user, and LOCAL_PEERPID, which tells the process.
func peerOf(conn *net.UnixConn) (peer, error) {
	var out peer
	err := onSocket(conn, func(fd int) error {
		cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err != nil {
			return err
		}
		out.uid = int(cred.Uid)
		out.pid, err = unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
		return err
	})
	return out, err
}
