package sdk

import (
	"io"
	"sync"
	"time"
)

const (
	outputPiece = 32 << 10               // the most that is passed on at once
	outputDelay = 100 * time.Millisecond // the longest that output is held back to pass on more at once
)

// Writer gives a writer for what a program prints on stream, "stdout" or "stderr": it passes everything on as Output does,
// in pieces of up to 32 KiB, at most 100 ms late, and not in the middle of a character. Writing never fails, so that no
// program ends because its output is long. Close passes on the rest; what is written later is dropped.
func (r *Request) Writer(stream string) io.WriteCloser {
	return &outputWriter{request: r, stream: stream}
}

type outputWriter struct {
	request *Request
	stream  string

	mu      sync.Mutex
	pending []byte // not passed on yet
	timer   *time.Timer
	closed  bool
}

func (w *outputWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for rest := p; len(rest) > 0 && !w.closed; {
		n := min(outputPiece-len(w.pending), len(rest))
		w.pending, rest = append(w.pending, rest[:n]...), rest[n:]
		if len(w.pending) == outputPiece {
			w.flush()
		}
	}
	if len(w.pending) > 0 && w.timer == nil {
		w.timer = time.AfterFunc(outputDelay, w.tick)
	}
	return len(p), nil
}

func (w *outputWriter) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = nil
	w.flush()
}

// flush passes on what there is, but for the start of a character whose end has not come.
func (w *outputWriter) flush() {
	n := len(WholeEnd(w.pending))
	w.request.Output(w.stream, w.pending[:n])
	w.pending = append(w.pending[:0], w.pending[n:]...)
}

func (w *outputWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.request.Output(w.stream, w.pending)
	w.pending, w.closed = nil, true
	return nil
}
