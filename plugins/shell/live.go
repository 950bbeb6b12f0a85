package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/toolhost/toolhost/sdk"
)

// What those who watch a call see of its output at most: a flood would keep the host busy and the command waiting, for
// what nobody can read.
const (
	liveRate  = 4 << 20 // bytes a second
	liveBurst = 4 << 20
)

// A live passes output on to those who watch, up to a rate. It tells how much it has left out. The result and the file know
// nothing of that.
type live struct {
	to  io.WriteCloser
	now func() time.Time

	mu      sync.Mutex
	closed  bool // nobody watches any longer, though a job may go on
	limit   *rate.Limiter
	dropped int64
}

func newLive(to io.WriteCloser) *live {
	return &live{to: to, now: time.Now, limit: rate.NewLimiter(liveRate, liveBurst)}
}

func (l *live) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return len(p), nil
	}
	if !l.limit.AllowN(l.now(), len(p)) {
		l.dropped += int64(len(p))
		return len(p), nil
	}
	rest := p
	if l.dropped > 0 {
		rest = sdk.WholeStart(p)
		l.dropped += int64(len(p) - len(rest))
	}
	l.tell()
	_, err := l.to.Write(rest)
	return len(p), err
}

// tell says what was left out until now.
func (l *live) tell() {
	if l.dropped > 0 {
		fmt.Fprintf(l.to, "\n[... %d bytes not shown while it runs ...]\n", l.dropped)
		l.dropped = 0
	}
}

// Close passes on the rest.
func (l *live) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tell()
	err := l.to.Close()
	l.to, l.closed = nil, true
	return err
}
