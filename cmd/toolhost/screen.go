package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// A screen is standard error. While a question is open there, only the question is written: whatever else goes to
// standard error or standard output is held back until it is answered. So no text of a plugin replaces a part of a
// question, or stands between its lines.
type screen struct {
	w    io.Writer
	turn chan struct{} // holds a token while a question is open

	mu      sync.Mutex
	asking  bool
	held    []heldWrite // in order
	size    int         // bytes of them
	dropped int         // bytes for standard error that were not held
	lines   []string    // the last lines of the running call, below everything else
	drawn   int         // how many lines are on the terminal
}

// A heldWrite is written when the question is answered.
type heldWrite struct {
	to   func([]byte) (int, error)
	text []byte
}

func newScreen(w io.Writer) *screen { return &screen{w: w, turn: make(chan struct{}, 1)} }

// Write writes text that stays, above the lines of the running call.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking {
		if s.size+len(p) > maxHeld {
			s.dropped += len(p)
			return len(p), nil
		}
		s.hold(s.w.Write, p)
		return len(p), nil
	}
	_, _ = io.WriteString(s.w, s.wipe())
	n, err := s.w.Write(p)
	if bytes.HasSuffix(p, []byte("\n")) {
		s.paint()
	}
	return n, err
}

// output writes to standard output. One that is not a terminal may block, and must not stop the log then.
func (s *screen) output(to *stdoutWriter, p []byte) {
	s.mu.Lock()
	switch {
	case s.asking:
		s.hold(to.write, p) // whatever its size: it may be a result
	case isTerminal(to.w):
		_, _ = to.write(p)
	default:
		defer func() { _, _ = to.write(p) }()
	}
	s.mu.Unlock()
}

func (s *screen) hold(to func([]byte) (int, error), p []byte) {
	s.held, s.size = append(s.held, heldWrite{to, bytes.Clone(p)}), s.size+len(p)
}

// full reports whether so much is held that events of a call are left out.
func (s *screen) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size > maxHeld
}

// ask begins a question once no other is open, and returns what ends it.
func (s *screen) ask(ctx context.Context) (answered func(), err error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.w, s.wipe())
	s.asking = true
	return func() {
		s.release()
		<-s.turn
	}, nil
}

// release writes what is held.
func (s *screen) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.held {
		_, _ = h.to(h.text)
	}
	if s.dropped > 0 {
		fmt.Fprintf(s.w, "[... %d bytes of the log are left out ...]\n", s.dropped)
	}
	s.asking, s.held, s.size, s.dropped = false, nil, 0, 0
	s.paint()
}

// settle ends with what is held written. A question that the end of its call has ended needs a moment to go away.
func (s *screen) settle() {
	select {
	case s.turn <- struct{}{}:
	case <-time.After(time.Second):
	}
	s.release()
}

// draw replaces the lines of the running call.
func (s *screen) draw(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = lines
	if !s.asking {
		s.paint()
	}
}

func (s *screen) paint() {
	if text := s.wipe() + strings.Join(s.lines, "\r\n"); text != "" {
		_, _ = io.WriteString(s.w, text)
	}
	s.drawn = len(s.lines)
}

// wipe clears the drawn lines.
func (s *screen) wipe() string {
	before := s.drawn
	s.drawn = 0
	switch before {
	case 0:
		return ""
	case 1:
		return "\r\x1b[K"
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", before-1)
}
