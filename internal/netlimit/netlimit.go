// Package netlimit bounds what the clients of an HTTP server take of it.
package netlimit

import (
	"container/list"
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// Spare connections are left for those that serve no request: they learn that they are too many.
const Spare = 32

// A Listener is a listener with a limit of connections. At the limit, a new connection ends the one that has served no
// request for longest. Make one with New.
type Listener struct {
	net.Listener
	limit int // of connections that serve requests

	mu      sync.Mutex
	open    int
	serving int
	of      map[string]int // those that serve, by identity
	idle    list.List      // of *connection, the one that has been idle for longest first
}

// New returns a listener with a limit of connections that serve requests.
func New(l net.Listener, limit int) *Listener { return &Listener{Listener: l, limit: limit} }

// A connection is one of a listener with a limit.
type connection struct {
	net.Conn
	of       *Listener
	requests int           // being served
	identity string        // for which it counts while it serves requests: that of the first of them
	place    *list.Element // among the idle ones; nil while it serves a request
	closed   bool
}

// connectionKey is the context key of the *connection of a request.
type connectionKey struct{}

// WithConnection is for http.Server.ConnContext: it lets Serving know the connection of a request.
func WithConnection(ctx context.Context, c net.Conn) context.Context {
	if t, is := c.(interface{ NetConn() net.Conn }); is { // TLS
		c = t.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// Of returns what the listener below accepted, nil for a request of another server.
func Of(ctx context.Context) net.Conn {
	if c, is := ctx.Value(connectionKey{}).(*connection); is {
		return c.Conn
	}
	return nil
}

// Serving notes that a connection serves a request of an identity whose client may make it, until done is called; ok is
// false if too many do, or as many as most for this identity. Before that, and between requests, it is idle.
func Serving(ctx context.Context, identity string, most int) (done func(), ok bool) {
	c, is := ctx.Value(connectionKey{}).(*connection)
	if !is {
		return func() {}, true
	}
	l := c.of
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.requests == 0 {
		if l.serving >= l.limit || l.of[identity] >= most {
			return nil, false
		}
		if l.of == nil {
			l.of = map[string]int{}
		}
		l.serving++
		l.of[identity]++
		c.identity = identity
		c.leaveIdle()
	}
	c.requests++
	return c.done, true
}

func (c *connection) done() {
	l := c.of
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.requests--; c.requests > 0 {
		return
	}
	l.serving--
	if l.of[c.identity]--; l.of[c.identity] == 0 {
		delete(l.of, c.identity)
	}
	c.becomeIdle()
}

// becomeIdle puts the connection behind the idle ones. The caller holds the lock.
func (c *connection) becomeIdle() {
	if !c.closed {
		c.place = c.of.idle.PushBack(c)
	}
}

// leaveIdle takes the connection from the idle ones. The caller holds the lock.
func (c *connection) leaveIdle() {
	if c.place != nil {
		c.of.idle.Remove(c.place)
		c.place = nil
	}
}

// Accept returns the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: accepted, of: l}
	l.mu.Lock()
	var oldest *connection
	if first := l.idle.Front(); first != nil && l.open >= l.limit+Spare {
		oldest = first.Value.(*connection)
	}
	l.open++
	c.becomeIdle()
	l.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
	return c, nil
}

// Close ends the connection.
func (c *connection) Close() error {
	c.of.mu.Lock()
	if !c.closed {
		c.closed = true
		c.of.open--
		c.leaveIdle()
	}
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// A Load counts what the clients of each identity take of the server. The zero value is ready for use.
type Load struct {
	mu     sync.Mutex
	of     map[string]*share
	bodies int // bytes
}

// A share is the load of one identity's clients.
type share struct{ requests, bodies int }

// Limits bound the requests that are served at a time, and the bytes of their bodies.
type Limits struct {
	Requests  int // of one identity
	Bodies    int // bytes, of one identity
	AllBodies int // bytes, of all identities
}

// Taken is a request's part of the load.
type Taken struct {
	load     *Load
	limits   *Limits
	identity string
	share    *share
	body     int // bytes
}

// Begin counts a request; ok is false when there are too many.
func (l *Load) Begin(identity string, limits *Limits) (t *Taken, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string]*share{}
	}
	s := l.of[identity]
	if s == nil {
		s = &share{}
		l.of[identity] = s
	}
	if s.requests >= limits.Requests {
		return nil, false
	}
	s.requests++
	return &Taken{load: l, limits: limits, identity: identity, share: s}, true
}

// End counts the request and its body no longer.
func (t *Taken) End() {
	t.load.mu.Lock()
	defer t.load.mu.Unlock()
	t.share.requests--
	t.share.bodies -= t.body
	t.load.bodies -= t.body
	if t.share.requests == 0 {
		delete(t.load.of, t.identity)
	}
}

// ErrBodies is the error of a body for which there is no room beside those of other requests.
var ErrBodies = errors.New("too many bytes of other requests are being read or served; try again soon")

// Reader counts a body while it is read.
func (t *Taken) Reader(body io.ReadCloser) io.ReadCloser { return &bodyReader{body, t} }

type bodyReader struct {
	io.ReadCloser
	taken *Taken
}

func (r *bodyReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	t := r.taken
	t.load.mu.Lock()
	defer t.load.mu.Unlock()
	t.body += n
	t.share.bodies += n
	t.load.bodies += n
	if t.share.bodies > t.limits.Bodies || t.load.bodies > t.limits.AllBodies {
		return n, ErrBodies
	}
	return n, err
}

// Now returns how many identities have requests that are being served, and how many bytes the bodies have together.
func (l *Load) Now() (identities, bodies int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.of), l.bodies
}
