package supervise

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/client"
)

// connect launches the process and connects to it with go-plugin's client. That has no context: the end of ctx kills
// the process, which makes it return. It may panic at a plugin's input. The launcher comes up beside all else.
func (g *generation) connect(ctx context.Context, s *Supervisor, spec Spec) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("go-plugin panicked during the handshake: %v", cause)
		}
	}()
	r := &runner{ctx: ctx, spec: spec, supervisor: s, generation: g, log: s.log.With("plugin", spec.Name),
		prepared: func(how sandbox.Prepared) { g.confinement, g.sandboxHint = &how.Confinement, how.Hint }}
	defer func() {
		if r.stdio != nil { // it was not launched
			r.stdio.close()
		}
	}()
	if !spec.Attach {
		if r.stdio, err = openStdio(spec, spec.Sandbox.HasNamespaces(s.capabilities())); err != nil {
			return err
		}
		g.cacheEntry = s.cache.Entry(ctx, s.cacheKey(spec, g.program))
	}
	config := r.clientConfig()
	g.goPlugin = goplugin.NewClient(config)
	_, err = g.goPlugin.Start()
	if g.socketDir = r.socketDir; err != nil {
		return err
	}
	// The peer is the process that we started. Behind a wrapper it may be another one of this user; the socket is in a
	// private folder.
	pid := g.child.pid
	if g.confinement.Wrapper != "" {
		pid = 0
	}
	dial := g.child.dialer(addressIn(r.handshake))
	config.GRPCDialOptions = append(wire.DialOptions(pid), wire.WithToken(r.token), // read by Client, below
		grpc.WithContextDialer(dial), grpc.WithStreamInterceptor(refuseBroker))
	config.GRPCDialOptions = append(config.GRPCDialOptions, wire.LimitStrays(pid, func() {
		g.child.kill("it sent without end what belongs to no call")
	})...)
	defer context.AfterFunc(ctx, func() { g.child.kill("") })()
	protocol, err := g.goPlugin.Client()
	if err != nil {
		return fmt.Errorf("%w: %w", errConnecting, err)
	}
	raw, err := protocol.Dispense("plugin")
	if err != nil {
		return err
	}
	g.client, g.conn = raw.(*client.Client), protocol.(*goplugin.GRPCClient).Conn
	g.client.EndCallsWith(g.calls.life)
	g.client.OnFlood = func() { g.child.kill("it sent without end to calls that had ended") }
	g.client.UseSessions(func(ctx context.Context) (net.Conn, error) {
		conn, err := dial(ctx, "")
		if err != nil {
			return nil, err
		}
		if _, _, err = wire.PeerCredentials(pid).ClientHandshake(ctx, "", conn); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return conn, nil
	}, r.token)
	return nil
}

// clientConfig has go-plugin launch the process with the runner, and nothing else that toolhost does itself.
func (r *runner) clientConfig() *goplugin.ClientConfig {
	return &goplugin.ClientConfig{
		HandshakeConfig:  client.Handshake,
		VersionedPlugins: map[int]goplugin.PluginSet{1: client.PluginSet()},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		RunnerFunc:       r.make,
		SkipHostEnv:      true,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: r.supervisor.runDir.path},
		StartTimeout:     r.spec.StartTimeout + time.Second, // our timeout comes first
		SyncStdout:       newOutputLog(r.log, "stdout", nil, r.spec.References),
		SyncStderr:       newOutputLog(r.log, "stderr", nil, r.spec.References),
		// go-plugin does not parse the plugin's output; logs.go does.
		Logger:              hclog.NewNullLogger(),
		PluginLogBufferSize: 1,
	}
}

// dialer connects to the plugin's socket. The connections end with the process, even if another process holds the
// socket: go-plugin waits without limit for one that is open and silent.
func (c *child) dialer(at address) func(context.Context, string) (net.Conn, error) {
	open := &connections{}
	go func() { <-c.treeEnded; open.close() }()
	return func(ctx context.Context, _ string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, at.network, at.name)
		if err == nil {
			open.add(conn)
		}
		return conn, err
	}
}

// connections are those to one process, which end with it. They are not wrapped to find out when one is closed before:
// whoever asks for the peer of a socket, or writes to it without waiting, needs the connection itself.
type connections struct {
	mu     sync.Mutex
	open   []net.Conn // some may be closed
	closed bool
}

// add closes a connection of a process that has ended. It forgets those that have been closed.
func (c *connections) add(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(slices.DeleteFunc(c.open, isClosedConnection), conn)
	if c.closed {
		_ = conn.Close()
	}
}

func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, conn := range c.open {
		_ = conn.Close()
	}
	c.open = nil
}

func isClosedConnection(conn net.Conn) bool {
	s, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	return err != nil || raw.Control(func(uintptr) {}) != nil
}

// refuseBroker refuses go-plugin's broker, which is not used and keeps everything that a plugin sends to it.
func refuseBroker(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer,
	o ...grpc.CallOption) (grpc.ClientStream, error) {
	if strings.HasPrefix(method, "/plugin.GRPCBroker/") {
		return nil, status.Error(codes.Unimplemented, "the broker is not used")
	}
	return next(ctx, d, cc, method, o...)
}
