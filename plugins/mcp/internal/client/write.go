package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
)

// maxQueued is how many bytes may wait for a server that does not read its input.
const maxQueued = 64 << 20

// A writer writes lines to the input of a process. Writing does not wait for earlier lines that the process does not
// read.
type writer struct {
	file *os.File

	mu     sync.Mutex
	queue  []*queued // in order; the first may be partly written. While there is one, flush runs
	size   int       // bytes of queue
	failed error     // nothing can be written any more
}

// A queued is a line, or the rest of one.
type queued struct {
	rest    []byte
	begun   bool // a part of the line is written, so that the rest must follow
	done    chan struct{}
	failure error // to be read after done
}

// write writes a line, or returns when ctx ends. Then a line that is not begun is withdrawn. A line of which the
// process got a part has not been delivered unless all of it follows.
func (w *writer) write(ctx context.Context, line []byte) error {
	q, err := w.enqueue(line)
	if q == nil {
		return err
	}
	select {
	case <-q.done:
		return q.failure
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-q.done:
		return q.failure
	default:
	}
	if q.begun {
		return &CallError{Delivered: true, Err: context.Cause(ctx)}
	}
	w.size -= len(q.rest)
	q.rest = nil // flush skips it
	return context.Cause(ctx)
}

// enqueue writes what the pipe takes at once, and queues the rest. It returns nil if there is none.
func (w *writer) enqueue(line []byte) (*queued, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return nil, w.failed
	}
	n := 0
	if len(w.queue) == 0 {
		var err error
		if n, err = writeNow(w.file, line); err != nil {
			w.failed = err
			return nil, err
		}
		if n == len(line) {
			return nil, nil
		}
	}
	rest := line[n:]
	if n == 0 && w.size+len(rest) > maxQueued && len(w.queue) > 0 {
		return nil, fmt.Errorf("the server does not read its input: %d MiB wait for it", w.size>>20)
	}
	q := &queued{rest: rest, begun: n > 0, done: make(chan struct{})}
	w.queue, w.size = append(w.queue, q), w.size+len(rest)
	if len(w.queue) == 1 {
		go w.flush()
	}
	return q, nil
}

func (w *writer) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) > 0 {
		q := w.queue[0]
		size := len(q.rest)
		var err error
		if size > 0 {
			q.begun = true
			w.mu.Unlock()
			_, err = w.file.Write(q.rest)
			w.mu.Lock()
		}
		if err != nil {
			w.failed = err
			for _, q := range w.queue {
				q.failure = err
				close(q.done)
			}
			w.queue, w.size = nil, 0
			return
		}
		w.queue, w.size = w.queue[1:], w.size-size
		close(q.done)
	}
}

// close ends the input. Lines that wait are not written.
func (w *writer) close() error {
	w.mu.Lock()
	w.failed = cmp.Or(w.failed, errClosed)
	w.mu.Unlock()
	if err := w.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
