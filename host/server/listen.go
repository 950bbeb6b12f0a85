package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/api/local"
	"github.com/toolhost/toolhost/internal/loopback"
	"github.com/toolhost/toolhost/internal/netlimit"
)

const maxHeader = 64 << 10 // how many bytes the header of a request may have

// ListenTCP listens on an address for Serve. Without TLS it refuses one that others can reach. A port alone is one of
// the loopback address.
func ListenTCP(ctx context.Context, address string, secure *tls.Config) (net.Listener, error) {
	return loopback.Listen(ctx, address, secure != nil, "connections to it would be unencrypted",
		"give the serve block tls_cert and tls_key")
}

// ListenUnix listens on a socket that only the user can reach, for Serve. A socket that a process has left is replaced;
// one that is served, and a file of another kind, are not. Its folder must be the user's own.
func ListenUnix(ctx context.Context, path string) (net.Listener, error) {
	if len(path) > local.MaxSocket {
		return nil, fmt.Errorf("the path of the socket has %d bytes, and the limit is %d: %s; name a shorter one", len(path),
			local.MaxSocket, path)
	}
	l, err := listenUnix(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("the socket %s %w", path, err)
	}
	return l, nil
}

// listenUnix words errors as what is true of the socket.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if err := removeLeft(ctx, path); err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("cannot be made: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot be made: %w", err), l.Close())
	}
	return l, nil
}

// probeTimeout is how long a socket may take to say whether a process serves it: it does so at once.
const probeTimeout = 2 * time.Second

// removeLeft removes a socket that a process has left, which refuses connections.
func removeLeft(ctx context.Context, path string) error {
	there, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot be made: %w", err)
	case there.IsDir():
		return errors.New("cannot be made: a folder is there; name another one")
	case there.Mode().Type() != fs.ModeSocket:
		return errors.New("cannot be made: a file is there that is not a socket; name another one, or move the file")
	}
	probe, err := (&net.Dialer{Timeout: probeTimeout}).DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		_ = probe.Close()
		return errServed
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EPROTOTYPE): // it is busy, or one for datagrams
		return errServed
	case !isRefused(err):
		return fmt.Errorf("cannot be made: %w", err)
	}
	if now, err := os.Lstat(path); err == nil && !os.SameFile(there, now) {
		return errServed // since a moment ago
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot be made: %w", err)
	}
	return nil
}

var errServed = errors.New("is served by another process; name another one, or end it")

// isRefused reports whether no process serves a socket.
func isRefused(err error) bool {
	const onWindows = syscall.Errno(10061) // which package syscall does not name
	return errors.Is(err, syscall.ECONNREFUSED) || runtime.GOOS == "windows" && errors.Is(err, onWindows)
}

// A localConn is a connection over a Unix socket, whose other end is a process of this user.
type localConn struct{ net.Conn }

// peers is a listener of a Unix socket that serves the processes of this user. On Linux it refuses those that this
// process or a predecessor has started, such as plugins: they would have the user's rights over the host that confines
// them.
type peers struct {
	net.Listener
	predecessors []string
}

// Accept returns the next connection of such a process.
func (l peers) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		u, is := c.(*net.UnixConn)
		if is && checkPeer(u, l.predecessors) == nil {
			return &localConn{c}, nil
		}
		_ = c.Close()
	}
}

// isLocal reports whether a request came over a Unix socket.
func isLocal(ctx context.Context) bool {
	_, is := netlimit.Of(ctx).(*localConn)
	return is
}

// A Listener is one that Serve serves. With TLS it is served over that.
type Listener struct {
	net.Listener
	TLS *tls.Config
}

// Serve serves the listeners until ctx ends, one fails, or LeaveTime has passed since Leave. Then it takes no new
// connections and no new calls, ends watches, and waits for the calls that run: after Leave until they end, which their
// own timeouts see to; once ctx has ended at most as long as drain says then. It cancels those that have not ended.
func (s *Server) Serve(ctx context.Context, drain func() time.Duration, listeners ...Listener) error {
	s.name(listeners)
	server := s.httpServer()
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() {
			limited := netlimit.New(l.Listener, s.limits.connections)
			switch {
			case l.Addr().Network() == "unix":
				limited = netlimit.New(peers{l.Listener, s.options.Predecessors}, s.limits.connections)
				failed <- server.Serve(limited)
			case l.TLS != nil:
				secure := server.TLSConfig.Clone()
				secure.Certificates, secure.GetCertificate = l.TLS.Certificates, l.TLS.GetCertificate
				failed <- server.Serve(tls.NewListener(limited, secure))
			default:
				failed <- server.Serve(limited)
			}
		}()
	}
	var err error
	var shut error // not nil: calls still run
	select {
	case err = <-failed:
	case <-ctx.Done():
	case <-s.handedOver.Done():
	}
	if s.handedOver.Err() != nil {
		err = nil // Leave has closed the listeners
		select {
		case <-time.After(LeaveTime):
		case <-ctx.Done():
		}
		s.beginStop()
		shut = server.Shutdown(ctx)
	}
	s.beginStop()
	if ctx.Err() != nil || err != nil {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain())
		defer cancel()
		shut = server.Shutdown(limited)
	}
	if shut != nil {
		s.calls.cancel("the host stops, and waits no longer", func(*tracked) bool { return true })
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastGrace)
		defer cancel()
		shut = server.Shutdown(last)
	}
	if shut != nil {
		_ = server.Close() // what has not ended by now is cut off
	}
	s.inFlight.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// LeaveTime is how long a server that leaves serves the connections that it has.
const LeaveTime = 2 * time.Second

// Leave closes the listeners, which another process serves from now on, and serves for LeaveTime what comes on the
// connections that there are, so that no request is lost on its way: each is closed with its next answer. Serve returns
// when the calls have ended.
func (s *Server) Leave() {
	s.handOver()
	s.mu.Lock() // they are closed before it returns: who is sent to the successor must not come back here
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		_ = l.Close() // it may be closed
	}
}

// Idle is for how long no call has run, no watch was open, and no client of MCP has asked for anything.
func (s *Server) Idle() time.Duration {
	running, since := s.calls.Running()
	if running > 0 || s.watches.open() > 0 {
		return 0
	}
	return min(time.Since(since), time.Since(time.Unix(0, s.asked.Load())))
}

const lastGrace = 5 * time.Second // how long canceled calls may take to send their results

// beginStop refuses new calls, and ends watches.
func (s *Server) beginStop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

func (s *Server) httpServer() *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{Handler: s.handler, ReadHeaderTimeout: s.limits.header, IdleTimeout: s.limits.idle,
		MaxHeaderBytes: maxHeader, ConnContext: netlimit.WithConnection, Protocols: protocols,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}},
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: s.limits.streams, SendPingTimeout: s.limits.idle / 2,
			PingTimeout: s.limits.header, WriteByteTimeout: s.limits.write},
		ErrorLog: slog.NewLogLogger(s.options.Logger.Handler(), slog.LevelDebug)} // of what clients do wrong
}

// name notes the listeners, and under which names the server is reached.
func (s *Server) name(listeners []Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = listeners
	for _, n := range s.options.Hosts { // as they are too, for a proxy at another port
		s.hosts[strings.ToLower(n)] = true
	}
	for _, l := range listeners {
		if l.Addr().Network() == "unix" {
			s.addresses = append(s.addresses, l.Addr().String())
			continue
		}
		scheme := "http://"
		if l.TLS != nil {
			scheme = "https://"
		}
		s.addresses = append(s.addresses, scheme+l.Addr().String())
		host, port, _ := net.SplitHostPort(l.Addr().String())
		names := append([]string{host}, s.options.Hosts...)
		if ip := net.ParseIP(host); loopback.Is(host) || ip.IsUnspecified() { // which is reached at all addresses
			names = append(names, "localhost", "127.0.0.1", "::1")
		}
		for _, n := range names {
			n = strings.ToLower(n)
			s.hosts[net.JoinHostPort(n, port)] = true
			if l.TLS != nil && port == "443" || l.TLS == nil && port == "80" {
				s.hosts[n] = true
			}
		}
	}
}
