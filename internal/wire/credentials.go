package wire

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

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
	conn, info, err := c.check(conn)
	if err != nil {
		err = fmt.Errorf("it does not serve in the process that was started (a script ends with exec): %w", err)
	}
	return conn, info, err
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

// askSocket calls ask with the descriptor of a Unix socket.
func askSocket(conn net.Conn, ask func(fd uintptr) error) error {
	socket, is := conn.(*net.UnixConn)
	if !is {
		return noSocket(conn)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = ask(fd) })
	return cmp.Or(err, failed)
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

// A session is a second connection to the plugin's socket, which carries Frames of SessionRequest and SessionEvent. The
// host begins it with sessionPreface, where gRPC has its own preface of as many bytes, and the token behind its length;
// the plugin answers with one byte.
const (
	sessionPreface = "toolhost session v1 \r\n\r\n"
	sessionAnswer  = '+'

	openTime = 5 * time.Second // for the answer
)

// OpenSession begins a session on a new connection to a plugin that has the token.
func OpenSession(conn net.Conn, token string) (*Frames, error) {
	if len(token) > 255 {
		return nil, fmt.Errorf("a token of %d bytes; the limit is 255", len(token))
	}
	_ = conn.SetDeadline(time.Now().Add(openTime))
	answer := make([]byte, 1)
	_, err := conn.Write(append(append([]byte(sessionPreface), byte(len(token))), token...))
	if err == nil {
		_, err = io.ReadFull(conn, answer)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("beginning a session: %w", err)
	case answer[0] != sessionAnswer:
		return nil, errWrongAnswer
	}
	return newFrames(conn), conn.SetDeadline(time.Time{})
}

var errWrongAnswer = errors.New("beginning a session: the plugin gave another answer than it should")

// RefusedSession reports whether a session could not be opened because of the plugin: it has ended, closed the
// connection, or broke the protocol. Otherwise the host may be out of files, or the plugin was stopped for a while.
func RefusedSession(err error) bool {
	return slices.ContainsFunc([]error{errWrongAnswer, io.EOF, net.ErrClosed, syscall.ECONNREFUSED, syscall.ECONNRESET,
		syscall.EPIPE}, func(cause error) bool { return errors.Is(err, cause) })
}

// WithSessions are credentials of a server that also accepts sessions of hosts that have the token; an empty one admits
// all. Serve has the session served, and returns at once.
func WithSessions(creds credentials.TransportCredentials, token string,
	serve func(*Frames)) credentials.TransportCredentials {
	return sessionCredentials{creds, token, serve}
}

type sessionCredentials struct {
	credentials.TransportCredentials
	token string
	serve func(*Frames)
}

// ServerHandshake looks at the first bytes of a connection, and takes those that begin a session away from gRPC, which
// sets and removes the deadline.
func (c sessionCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ServerHandshake(conn)
	if err != nil {
		return nil, nil, err
	}
	first := make([]byte, len(sessionPreface))
	n, _ := io.ReadFull(conn, first) // where it ends too early, gRPC reads as much again, and its error
	if string(first[:n]) != sessionPreface {
		return &replayed{conn, first[:n]}, info, nil
	}
	size := make([]byte, 1)
	if _, err := io.ReadFull(conn, size); err != nil {
		return nil, nil, err
	}
	sent := make([]byte, size[0])
	if _, err := io.ReadFull(conn, sent); err != nil {
		return nil, nil, err
	}
	if c.token != "" && subtle.ConstantTimeCompare(sent, []byte(c.token)) != 1 {
		return nil, nil, errors.New("this plugin answers only the host that has started it")
	}
	if _, err := conn.Write([]byte{sessionAnswer}); err != nil {
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	c.serve(newFrames(conn))
	return nil, nil, credentials.ErrConnDispatched
}

// Clone returns a copy.
func (c sessionCredentials) Clone() credentials.TransportCredentials {
	c.TransportCredentials = c.TransportCredentials.Clone()
	return c
}

// replayed is a connection of which something was read.
type replayed struct {
	net.Conn
	first []byte
}

func (c *replayed) Read(b []byte) (int, error) {
	if len(c.first) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.first)
	c.first = c.first[n:]
	return n, nil
}
