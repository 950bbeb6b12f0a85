package wire

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"time"

	"google.golang.org/grpc/credentials"
)

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
