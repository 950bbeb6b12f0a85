package sdk

import (
	"context"
	"fmt"
	"net"
	"os"

	"google.golang.org/grpc/credentials"
)

// peerCredentials are gRPC transport credentials that ask the kernel who is at the other end of a Unix socket: the same
// user, and, when pid is not zero, that very process. Within a private folder this is what mutual TLS would prove, for
// microseconds instead of milliseconds. Nothing is encrypted, and nothing leaves the machine.
type peerCredentials struct{ pid int }

// A peer is what the kernel says of the other end. A pid of zero is one that the system does not tell.
type peer struct{ uid, pid int }

type peerInfo struct{ credentials.CommonAuthInfo }

// AuthType names the scheme.
func (peerInfo) AuthType() string { return "peercred" }

// ClientHandshake checks the plugin.
func (c peerCredentials) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.check(conn)
}

// ServerHandshake checks the host.
func (c peerCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.check(conn)
}

func (c peerCredentials) check(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, nil, fmt.Errorf("peer credentials need a Unix socket, not %s", conn.RemoteAddr().Network())
	}
	p, err := peerOf(socket)
	if err != nil {
		return nil, nil, fmt.Errorf("asking who is at the other end of the socket: %w", err)
	}
	if err := c.accepts(p); err != nil {
		return nil, nil, err
	}
	return conn, peerInfo{credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}, nil
}

func (c peerCredentials) accepts(p peer) error {
	switch {
	case p.uid != os.Getuid():
		return fmt.Errorf("the other end of the socket belongs to user %d, not to %d", p.uid, os.Getuid())
	case c.pid != 0 && p.pid != 0 && p.pid != c.pid:
		return fmt.Errorf("the other end of the socket is process %d, not %d", p.pid, c.pid)
	}
	return nil
}

// Info names the scheme to gRPC.
func (c peerCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "peercred"}
}

// Clone gives a copy.
func (c peerCredentials) Clone() credentials.TransportCredentials { return c }

// OverrideServerName does nothing: there are no names.
func (c peerCredentials) OverrideServerName(string) error { return nil }
