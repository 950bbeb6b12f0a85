package main

import (
	"io"
	"sync"

	"github.com/toolhost/toolhost/sdk"
)

// A stream takes what a program prints: those who watch get all of it as it comes, the result its start.
type stream struct {
	live io.WriteCloser
	mu   sync.Mutex // a process that cannot be killed may print while the result is made
	head head
}

func newStream(r *sdk.Request, name string, keep int) *stream {
	return &stream{live: r.Writer(name), head: head{limit: keep}}
}

// Write never fails: a program must not end because its output is long.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	_, _ = s.head.Write(p)
	s.mu.Unlock()
	return s.live.Write(p)
}

// close passes on the rest and gives what was kept.
func (s *stream) close() head {
	_ = s.live.Close() // never fails
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head
}
