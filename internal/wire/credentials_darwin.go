package wire

import (
	"net"

	"golang.org/x/sys/unix"
)

// PeerOf asks LOCAL_PEERCRED (unix(4)) for the user, and LOCAL_PEERPID for the process.
func PeerOf(conn net.Conn) (out Peer, err error) {
	err = askSocket(conn, func(fd uintptr) error {
		cred, err := unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err != nil {
			return err
		}
		out.UID = int(cred.Uid)
		out.PID, err = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
		return err
	})
	return out, err
}
