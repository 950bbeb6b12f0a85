package client

import (
	"bytes"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/textutil"
)

const (
	maxStderrLine  = 4 << 10 // bytes of a line that are kept
	maxStderrLines = 20      // lines that an error shows
	maxStderrTail  = 8 << 10 // and their bytes
)

// A stderrTail is written to by a process. It reports each line and keeps the last ones.
type stderrTail struct {
	report func(string) // or nil

	mu    sync.Mutex
	line  []byte // the beginning of the current line
	tail  []string
	bytes int // of tail
}

// Write never fails.
func (t *stderrTail) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		piece, rest, ended := bytes.Cut(b, []byte("\n"))
		t.mu.Lock()
		t.line = append(t.line, piece[:min(len(piece), maxStderrLine-len(t.line))]...)
		t.mu.Unlock()
		if b = rest; ended {
			t.flush()
		}
	}
	return n, nil
}

// flush ends the current line. Lines without text are dropped.
func (t *stderrTail) flush() {
	t.mu.Lock()
	line := strings.TrimRight(textutil.Cut(strings.ToValidUTF8(string(t.line), "\uFFFD"), maxStderrLine), "\r \t")
	t.line = t.line[:0]
	if line != "" {
		t.tail, t.bytes = append(t.tail, line), t.bytes+len(line)
		for len(t.tail) > 1 && (len(t.tail) > maxStderrLines || t.bytes > maxStderrTail) {
			t.bytes -= len(t.tail[0])
			t.tail = t.tail[1:]
		}
	}
	t.mu.Unlock()
	if line != "" && t.report != nil {
		t.report(line)
	}
}

// String returns the last lines.
func (t *stderrTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.tail, "\n")
}

func (t *stderrTail) quoted() string { return quotedLines(t.String()) }
