package mcpserver

import (
	"container/list"
	"context"
	"net"
	"sync"
)

// spareConnections are left for connections that serve no request: they learn that they are too many.
const spareConnections = 32

// connections is a listener with a limit. At the limit, a new connection ends the one that has served no request for
// longest.
type connections struct {
	net.Listener
	limit int // of those that serve requests

	mu      sync.Mutex
	open    int
	serving int
	idle    list.List // of *connection, the one that has been idle for longest first
}

// A connection is one of a listener with a limit.
type connection struct {
	net.Conn
	of     *connections
	place  *list.Element // among the idle ones; nil while it serves a request
	closed bool
}

// connectionKey is the context key of the *connection of a request.
type connectionKey struct{}

func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// serving notes that a connection serves a request whose client may make it, until done is called; ok is false if too
// many do. Before that, and between requests, it is idle.
func serving(ctx context.Context) (done func(), ok bool) {
	c, is := ctx.Value(connectionKey{}).(*connection)
	if !is {
		return func() {}, true
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.of.serving >= c.of.limit {
		return nil, false
	}
	c.of.serving++
	c.leaveIdle()
	return func() {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.of.serving--
		c.becomeIdle()
	}, true
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
func (l *connections) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: accepted, of: l}
	l.mu.Lock()
	var oldest *connection
	if first := l.idle.Front(); first != nil && l.open >= l.limit+spareConnections {
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
