//go:build !linux && !darwin

package sdk

import (
	"errors"
	"net"
)

// peerOf refuses: without a way to ask there is no connection.
func peerOf(*net.UnixConn) (peer, error) {
	return peer{}, errors.New("this system does not tell; toolhost runs on Linux and macOS")
}
