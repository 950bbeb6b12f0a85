//go:build !linux && !darwin && !windows

package wire

import (
	"errors"
	"net"
)

// peerOf refuses: without a way to identify the peer there is no connection.
func peerOf(net.Conn) (peer, error) {
	return peer{}, errors.New("this system does not identify the process at the other end; toolhost runs on Linux, " +
		"macOS and Windows")
}
