package netlimit

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// A Writer is the response to a client that may be too slow: the body of its request has a time limit, and so has each
// write. Make one with NewWriter.
//
// Each deadline that is set for a stream of HTTP/2 is a message to the goroutine that serves its connection. So it is
// set only when the time is over, by a timer. Deadlines of HTTP/1 cost little, and hold also after the handler, when
// net/http reads some of a body that was not read.
type Writer struct {
	http.ResponseWriter
	control        *http.ResponseController
	body, write    time.Duration
	reads, writes  timer // of a stream of HTTP/2
	stream, unsent bool  // it is one of HTTP/2; something was written, but not flushed
}

// NewWriter returns a response with time limits for the body of the request and for each write. The handler calls End
// when it returns.
func NewWriter(w http.ResponseWriter, r *http.Request, body, write time.Duration) *Writer {
	c := http.NewResponseController(w)
	out := &Writer{ResponseWriter: w, control: c, body: body, write: write, stream: r.ProtoMajor == 2}
	out.reads.expire, out.writes.expire = c.SetReadDeadline, c.SetWriteDeadline
	if !out.stream && r.Body != http.NoBody {
		_ = c.SetReadDeadline(time.Now().Add(body)) // a writer of a test may have none
	}
	return out
}

// End ends the limits. What was not flushed has a last one, since net/http sends it after the handler.
func (w *Writer) End() {
	w.reads.stop()
	w.writes.stop()
	if w.stream && w.unsent {
		_ = w.control.SetWriteDeadline(time.Now().Add(w.write))
	}
}

// Write writes within the limit.
func (w *Writer) Write(b []byte) (int, error) {
	w.begin()
	defer w.writes.stop()
	w.unsent = true
	return w.ResponseWriter.Write(b)
}

// Flush sends what was written.
func (w *Writer) Flush() { _ = w.FlushError() }

// FlushError sends what was written within the limit.
func (w *Writer) FlushError() error {
	w.begin()
	defer w.writes.stop()
	w.unsent = false
	return w.control.Flush()
}

func (w *Writer) begin() {
	if w.stream {
		w.writes.start(w.write)
	} else {
		_ = w.control.SetWriteDeadline(time.Now().Add(w.write))
	}
}

// Unwrap is for http.ResponseController.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Body returns the body of the request with its time limit, which ends with the body. After an error in it the
// connection is closed with the response: net/http would take the rest of the body for the next request once a handler
// has closed the body.
func (w *Writer) Body(body io.ReadCloser) io.ReadCloser { return &timedBody{body, w} }

type timedBody struct {
	io.ReadCloser
	w *Writer
}

// Read reads, and lets a connection of HTTP/1 be read without a limit after the end.
func (b *timedBody) Read(p []byte) (int, error) {
	if b.w.stream && b.w.reads.timer == nil {
		b.w.reads.start(b.w.body)
	}
	n, err := b.ReadCloser.Read(p)
	switch err {
	case nil:
	case io.EOF:
		b.w.reads.stop()
		if !b.w.stream {
			_ = b.w.control.SetReadDeadline(time.Time{})
		}
	default:
		b.w.Header().Set("Connection", "close")
	}
	return n, err
}

// A timer lets a deadline expire once the time is over, unless it is stopped before.
type timer struct {
	expire func(time.Time) error

	mu    sync.Mutex // held while the deadline is set, so that stop waits for that
	timer *time.Timer
	until time.Time // zero while it is stopped
}

func (t *timer) start(limit time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until = time.Now().Add(limit)
	if t.timer == nil {
		t.timer = time.AfterFunc(limit, t.over)
	} else {
		t.timer.Reset(limit)
	}
}

func (t *timer) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until = time.Time{}
	if t.timer != nil {
		t.timer.Stop()
	}
}

func (t *timer) over() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.until.IsZero() && !time.Now().Before(t.until) { // otherwise it was stopped or started again meanwhile
		_ = t.expire(time.Unix(1, 0))
	}
}
