//go:build !linux && !darwin && !windows

package wire

import (
	"errors"
	"net"
)

// PeerOf refuses: without a way to identify the peer there is no connection.
func PeerOf(net.Conn) (Peer, error) {
	return Peer{}, errors.New("this system does not identify the process at the other end; toolhost runs on Linux, " +
		"macOS and Windows")
}
