//go:build !linux && !darwin

package server

import "net"

// checkPeer leaves it to the permissions of the socket's folder.
func checkPeer(*net.UnixConn, []string) error { return nil }
