package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"syscall"
	"time"
)

const (
	maxIdle        = 16 // connections kept open, of all hosts
	maxIdlePerHost = 2
	idleTime       = 30 * time.Second
	maxReplyHeader = 128 << 10
	dialTime       = 15 * time.Second
)

// A client sends requests to where its guard lets it. Clients do not share connections, since their guards differ.
type client struct {
	guard     guard
	transport *http.Transport
	strict    *client // for redirects to other hosts
}

// A seam is what tests put in the place of the world outside; the zero value is the world.
type seam struct {
	resolver *net.Resolver
	tls      *tls.Config
	// connecting sees every address that a guard has let pass, before it is connected to; its error keeps that from
	// happening.
	connecting func(network, address string) error
}

func newClient(g guard, s seam) *client {
	c := &client{guard: g}
	if !g.strict {
		c.strict = newClient(guard{allow: g.allow, deny: g.deny, strict: true}, s)
	}
	dialer := &net.Dialer{Timeout: dialTime, Resolver: s.resolver,
		ControlContext: func(ctx context.Context, network, address string, raw syscall.RawConn) error {
			if err := c.guard.control(ctx, network, address, raw); err != nil || s.connecting == nil {
				return err
			}
			return s.connecting(network, address)
		}}
	c.transport = &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialer.DialContext(dialing(ctx, address), network, address)
		},
		TLSClientConfig: s.tls, ForceAttemptHTTP2: true, TLSHandshakeTimeout: dialTime,
		MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdlePerHost, IdleConnTimeout: idleTime,
		MaxResponseHeaderBytes: maxReplyHeader,
	} // and no Proxy: one from the environment would be asked in the place of every guarded address
	return c
}

func (c *client) close() {
	c.transport.CloseIdleConnections()
	c.strict.transport.CloseIdleConnections()
}
