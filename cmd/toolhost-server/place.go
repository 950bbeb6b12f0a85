package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/server"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// placeCheck is how often the files of the place are looked for: what cleans folders of temporary files deletes them.
const placeCheck = 2 * time.Second

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

// Close ends it, and removes its file unless keep was called; a file that another process has put there stays.
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

// keep leaves the file to another process.
func (s *socket) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.file = nil
}

// restore makes the file again if it is gone, and reports whether it was.
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

// keepPlace makes the files of the place again when they were deleted, until ctx ends.
func (p *program) keepPlace(ctx context.Context) {
	tick := time.NewTicker(placeCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p.handover.Lock() // what is handed over stays as it is
		if !p.replaced.Load() {
			p.restorePlace(ctx)
		}
		p.handover.Unlock()
	}
}

// restorePlace makes again what was deleted: the lock, so that no second host starts, the sockets, and the token. A
// host that was faster has the place: sockets of this one in it would keep the next one from starting.
func (p *program) restorePlace(ctx context.Context) {
	note := func(path string, gone bool, err error) {
		switch {
		case gone && err != nil:
			p.log.Error("a file of the running host was deleted, and cannot be made again", "path", path, "error", err)
		case gone:
			p.log.Warn("a file of the running host was deleted, and was made again", "path", path)
		}
	}
	missing := func(path string) bool {
		_, err := os.Lstat(path)
		return errors.Is(err, fs.ErrNotExist)
	}
	if missing(p.place.Lock()) {
		note(p.place.Lock(), true, p.lockAgain())
	}
	if lost := p.lostLock(); lost != p.displaced {
		if p.displaced = lost; lost {
			p.log.Error("the lock of the running host was deleted, and another process has made it again: commands do not "+
				"find this host any more; end it", "path", p.place.Lock(), "pid", os.Getpid())
		}
	}
	if p.displaced {
		return
	}
	for _, l := range p.listeners {
		if s, is := l.Listener.(*socket); is {
			gone, err := s.restore(ctx)
			note(s.path, gone, err)
		}
	}
	if missing(p.place.Token()) {
		note(p.place.Token(), true, p.saveToken(p.own))
	}
}

// lostLock reports whether the lock at the place is another process's.
func (p *program) lostLock() bool {
	ours, err := p.lockFile.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(p.place.Lock())
	return err == nil && !os.SameFile(ours, there)
}

// lockAgain locks a new file in place of one that was deleted.
func (p *program) lockAgain() error {
	if err := p.place.Make(); err != nil {
		return err
	}
	f, err := fsutil.TryLock(p.place.Lock(), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err // such as of a second host, which has started meanwhile
	}
	p.lockMu.Lock()
	old := p.lockFile
	p.lockFile = f
	p.lockMu.Unlock()
	p.holdAgain()
	return old.Close()
}
