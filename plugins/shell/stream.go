package main

import (
	"io"
	"sync"
	"unicode/utf8"

	"github.com/toolhost/toolhost/sdk"
)

// A stream takes what a command prints: those who watch get all of it as it comes, the result a bounded part.
type stream struct {
	live io.WriteCloser
	mu   sync.Mutex // a process that cannot be killed may print while the result is made
	kept kept
}

func newStream(r *sdk.Request, name string, keep int) *stream {
	return &stream{live: r.Writer(name), kept: kept{half: keep / 2}}
}

// Write never fails: the command must not end because its output is long.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	s.kept.add(p)
	s.mu.Unlock()
	return s.live.Write(p)
}

// close passes on the rest, and gives what the result shows.
func (s *stream) close() text {
	_ = s.live.Close() // never fails
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept.text()
}

// whole is the length of b without an unfinished UTF-8 sequence at its end.
func whole(b []byte) int {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(b[i]) {
			if utf8.FullRune(b[i:]) {
				return len(b)
			}
			return i
		}
	}
	return len(b)
}
