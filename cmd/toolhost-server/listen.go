package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"

	"github.com/toolhost/toolhost/host/server"
)

// A socket listens on a Unix socket, and on a new one at the same path after restore.
type socket struct {
	path string

	mu     sync.Mutex
	l      *net.UnixListener
	file   fs.FileInfo // of the listener; nil once it is another process's to remove
	closed bool
}

func listenSocket(ctx context.Context, path string) (*socket, error) {
	s := &socket{path: path}
	return s, s.listen(ctx)
}

// listen makes the file. No other process can make one with the same identity while this one listens.
func (s *socket) listen(ctx context.Context) error {
	l, err := server.ListenUnix(ctx, s.path)
	if err != nil {
		return err
	}
	s.l = l.(*net.UnixListener)
	s.l.SetUnlinkOnClose(false)
	s.file, _ = os.Lstat(s.path) // a file that is gone is not removed
	return nil
}

func (s *socket) current() *net.UnixListener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.l
}

// Accept returns the next connection.
func (s *socket) Accept() (net.Conn, error) {
	for {
		l := s.current()
		c, err := l.Accept()
		if err == nil || l == s.current() {
			return c, err
		}
	}
}

// Addr is the path.
func (s *socket) Addr() net.Addr { return &net.UnixAddr{Name: s.path, Net: "unix"} }

// SyscallConn leads to the open file.
func (s *socket) SyscallConn() (syscall.RawConn, error) { return s.current().SyscallConn() }

// Close ends it, and removes its file unless handOver was called; a file that another process has put there stays.
func (s *socket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if now, err := os.Lstat(s.path); err == nil && s.file != nil && os.SameFile(s.file, now) {
		_ = os.Remove(s.path) // the next host replaces it
	}
	s.file = nil
	return s.l.Close()
}

// handOver leaves the file to another process.
func (s *socket) handOver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.file = nil
}

// restore recreates the file if it is gone, and reports whether it was.
func (s *socket) restore(ctx context.Context) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Lstat(s.path); s.closed || !errors.Is(err, fs.ErrNotExist) {
		return false, nil // what another process has put there is not ours
	}
	old := s.l
	if err := s.listen(ctx); err != nil {
		return true, err
	}
	return true, old.Close() // Accept goes on with the new one
}

// defaultAddress is where HTTP is served unless something else is said, or the port is taken.
const defaultAddress = "127.0.0.1:7411"

// listen listens on the sockets, and on an address, unless an earlier host has handed over its listeners.
func (p *program) listen(ctx context.Context, given *inherited) (all []server.Listener, err error) {
	secure, err := p.loadTLS()
	if err != nil {
		return nil, err
	}
	if given != nil {
		for i, l := range given.listeners {
			one := server.Listener{Listener: l, TLS: secure}
			if u, is := l.(*net.UnixListener); is {
				one = server.Listener{Listener: &socket{path: l.Addr().String(), l: u, file: given.files[i]}}
			}
			all = append(all, one)
		}
		return all, nil
	}
	defer func() {
		for _, l := range all {
			if err != nil {
				_ = l.Close()
			}
		}
	}()
	for i, path := range []string{p.place.Socket(), p.block().Socket} {
		if path == "" || i > 0 && path == p.place.Socket() {
			continue
		}
		l, err := listenSocket(ctx, path)
		if err != nil && path != p.place.Socket() {
			err = fmt.Errorf("socket of the serve block, %s: %w", p.block().Source, err)
		}
		if err != nil {
			return all, err
		}
		all = append(all, server.Listener{Listener: l})
	}
	address, from := p.address, "--address"
	if address == "" {
		address, from = p.block().Address, "address of the serve block, "+p.block().Source
	}
	if p.background && address == "" {
		return all, nil
	}
	l, err := server.ListenTCP(ctx, cmp.Or(address, defaultAddress), secure)
	if err != nil && address == "" {
		from = "the default address"
		l, err = server.ListenTCP(ctx, "127.0.0.1:0", secure)
	}
	if err != nil {
		return all, fmt.Errorf("%s: %w", from, err)
	}
	return append(all, server.Listener{Listener: l, TLS: secure}), nil
}

// announce prints where it serves. The token is in a part of the URL that browsers send to no one.
func (p *program) announce(w io.Writer) {
	for _, l := range p.place.listeners {
		at, isTCP := l.Addr().(*net.TCPAddr)
		if !isTCP {
			fmt.Fprintf(w, "serving at %s\n", l.Addr())
			continue
		}
		scheme, place := "http", at.String()
		if l.TLS != nil {
			scheme = "https"
		}
		if at.IP.IsUnspecified() { // no address that a browser could open
			place = net.JoinHostPort("localhost", strconv.Itoa(at.Port))
		}
		fmt.Fprintf(w, "serving at %s://%s/#token=%s\n", scheme, place, p.place.token)
	}
}
