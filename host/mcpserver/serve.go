package mcpserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/toolhost/toolhost/internal/loopback"
	"github.com/toolhost/toolhost/internal/netlimit"
)

const (
	// Path is where Serve answers.
	Path = "/mcp"

	maxHeader = 64 << 10
	// stopGrace is how long calls may take to end once the server stops.
	stopGrace = 5 * time.Second
)

// Listen listens on an address for Serve. It refuses one that others can reach unless there are identities. A port
// alone is one of the loopback address.
func (s *Server) Listen(address string) (net.Listener, error) {
	s.mu.Lock()
	guarded := s.guarded
	s.mu.Unlock()
	return loopback.Listen(s.ctx, address, guarded, "no token is required",
		"set TOOLHOST_MCP_TOKEN, name identities in an mcp block of the configuration")
}

// EndStreams ends the streams of HTTP that carry no calls, for a program that serves Handler and stops.
func (s *Server) EndStreams() { s.endStreams() }

// Serve serves HTTP on the listener, at Path, until ctx ends. Then it lets calls end, for five seconds at most, and
// closes the server.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.Handle(Path, s.Handler())
	server := &http.Server{Handler: s.bounded(mux), ReadHeaderTimeout: s.limits.header, IdleTimeout: s.limits.idle,
		MaxHeaderBytes: maxHeader, ConnContext: netlimit.WithConnection}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(netlimit.New(l, s.limits.connections)) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		s.endStreams()
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
		defer cancel()
		_ = server.Shutdown(limited) // what has not ended is ended below
	}
	err = errors.Join(err, s.Close(), server.Close())
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}
