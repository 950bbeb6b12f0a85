package wire

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// PeerCredentials are gRPC transport credentials that ask the kernel for the peer of a Unix socket: it must be the
// same user and, when pid is not zero, exactly that process. Within a private folder this proves what mutual TLS
// would, in microseconds instead of milliseconds. Nothing is encrypted, and nothing leaves the machine. On Windows
// they also take TCP connections within the machine.
func PeerCredentials(pid int) credentials.TransportCredentials { return peerCredentials{pid: pid} }

type peerCredentials struct{ pid int }

// A Peer is the kernel's information about the other end. A pid of zero is unknown.
type Peer struct{ UID, PID int }

type peerInfo struct{ credentials.CommonAuthInfo }

// AuthType names the scheme.
func (peerInfo) AuthType() string { return "peercred" }

// ClientHandshake checks the plugin.
func (c peerCredentials) ClientHandshake(_ context.Context, _ string, conn net.Conn) (
	net.Conn, credentials.AuthInfo, error) {
	return c.check(conn)
}

// ServerHandshake checks the host.
func (c peerCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.check(conn)
}

func (c peerCredentials) check(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	p, err := PeerOf(conn)
	if err != nil {
		return nil, nil, fmt.Errorf("asking who is at the other end of the socket: %w", err)
	}
	if err := c.accepts(p); err != nil {
		return nil, nil, err
	}
	return conn, peerInfo{credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}, nil
}

func (c peerCredentials) accepts(p Peer) error {
	switch {
	case p.UID != os.Getuid():
		return fmt.Errorf("the other end of the socket belongs to user %d, not to %d", p.UID, os.Getuid())
	case c.pid != 0 && p.PID != 0 && p.PID != c.pid:
		return fmt.Errorf("the other end of the socket is process %d, not %d", p.PID, c.pid)
	}
	return nil
}

// noSocket refuses a connection of another kind.
func noSocket(conn net.Conn) error {
	return fmt.Errorf("peer credentials need a Unix socket, not %s", conn.RemoteAddr().Network())
}

// Info names the scheme to gRPC.
func (peerCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "peercred"}
}

// Clone returns a copy.
func (c peerCredentials) Clone() credentials.TransportCredentials { return c }

// OverrideServerName does nothing: there are no names.
func (peerCredentials) OverrideServerName(string) error { return nil }

// A token is sent by a host with each request to the plugin that received it in EnvToken. In its own process
// namespace a plugin cannot tell processes of the same user apart: every process outside has the pid 0.
type token string

const tokenHeader = "toolhost-token"

// WithToken is the host's option for a connection to a plugin with the token.
func WithToken(text string) grpc.DialOption { return grpc.WithPerRPCCredentials(token(text)) }

// GetRequestMetadata returns the metadata that gRPC sends.
func (t token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{tokenHeader: string(t)}, nil
}

// RequireTransportSecurity is false: nothing leaves the machine.
func (t token) RequireTransportSecurity() bool { return false }

// RequireToken makes a server refuse every request without the token. An empty token accepts all.
func RequireToken(text string) []grpc.ServerOption {
	t := token(text)
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, in any, _ *grpc.UnaryServerInfo,
			next grpc.UnaryHandler) (any, error) {
			if err := t.check(ctx); err != nil {
				return nil, err
			}
			return next(ctx, in)
		}),
		grpc.ChainStreamInterceptor(func(in any, s grpc.ServerStream, _ *grpc.StreamServerInfo,
			next grpc.StreamHandler) error {
			if err := t.check(s.Context()); err != nil {
				return err
			}
			return next(in, s)
		}),
	}
}

func (t token) check(ctx context.Context) error {
	sent := metadata.ValueFromIncomingContext(ctx, tokenHeader)
	if t == "" || len(sent) == 1 && subtle.ConstantTimeCompare([]byte(sent[0]), []byte(t)) == 1 {
		return nil
	}
	return status.Error(codes.Unauthenticated, "this plugin answers only the host that has started it")
}
