package netlimit

import (
	"errors"
	"io"
	"sync"
)

// A Load counts what the clients of each identity take of the server. The zero value is ready for use.
type Load struct {
	mu     sync.Mutex
	of     map[string]*share
	bodies int // bytes
}

// A share is the load of one identity's clients.
type share struct{ requests, bodies int }

// Limits bound the requests that are served at a time, and the bytes of their bodies.
type Limits struct {
	Requests  int // of one identity
	Bodies    int // bytes, of one identity
	AllBodies int // bytes, of all identities
}

// Taken is a request's part of the load.
type Taken struct {
	load     *Load
	limits   *Limits
	identity string
	share    *share
	body     int // bytes
}

// Begin counts a request; ok is false when there are too many.
func (l *Load) Begin(identity string, limits *Limits) (t *Taken, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string]*share{}
	}
	s := l.of[identity]
	if s == nil {
		s = &share{}
		l.of[identity] = s
	}
	if s.requests >= limits.Requests {
		return nil, false
	}
	s.requests++
	return &Taken{load: l, limits: limits, identity: identity, share: s}, true
}

// End counts the request and its body no longer.
func (t *Taken) End() {
	t.load.mu.Lock()
	defer t.load.mu.Unlock()
	t.share.requests--
	t.share.bodies -= t.body
	t.load.bodies -= t.body
	if t.share.requests == 0 {
		delete(t.load.of, t.identity)
	}
}

// ErrBodies is the error of a body for which there is no room beside those of other requests.
var ErrBodies = errors.New("too many bytes of other requests are being read or served; try again soon")

// Reader counts a body while it is read.
func (t *Taken) Reader(body io.ReadCloser) io.ReadCloser { return &bodyReader{body, t} }

type bodyReader struct {
	io.ReadCloser
	taken *Taken
}

func (r *bodyReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	t := r.taken
	t.load.mu.Lock()
	defer t.load.mu.Unlock()
	t.body += n
	t.share.bodies += n
	t.load.bodies += n
	if t.share.bodies > t.limits.Bodies || t.load.bodies > t.limits.AllBodies {
		return n, ErrBodies
	}
	return n, err
}

// Now returns how many identities have requests that are being served, and how many bytes the bodies have together.
func (l *Load) Now() (identities, bodies int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.of), l.bodies
}
