package mcpserver

import (
	"errors"
	"io"
	"sync"
)

// load counts what the clients of each identity take of the server.
type load struct {
	mu     sync.Mutex
	of     map[string]*share
	bodies int // bytes
}

// A share is the load of one identity's clients.
type share struct{ requests, bodies int }

// A request's part of the load.
type taken struct {
	load     *load
	limits   *limits
	identity string
	share    *share
	body     int // bytes
}

// begin counts a request; ok is false when there are too many.
func (l *load) begin(identity string, limits *limits) (t *taken, ok bool) {
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
	if s.requests >= limits.requests {
		return nil, false
	}
	s.requests++
	return &taken{load: l, limits: limits, identity: identity, share: s}, true
}

// end counts the request and its body no longer.
func (t *taken) end() {
	t.load.mu.Lock()
	defer t.load.mu.Unlock()
	t.share.requests--
	t.share.bodies -= t.body
	t.load.bodies -= t.body
	if t.share.requests == 0 {
		delete(t.load.of, t.identity)
	}
}

// errBodies is the error of a body for which there is no room beside those of other requests.
var errBodies = errors.New("too many bytes of other requests are being read or served; try again soon")

// reader counts a body while it is read.
func (t *taken) reader(body io.ReadCloser) io.ReadCloser { return &bodyReader{body, t} }

type bodyReader struct {
	io.ReadCloser
	taken *taken
}

func (r *bodyReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	t := r.taken
	t.load.mu.Lock()
	defer t.load.mu.Unlock()
	t.body += n
	t.share.bodies += n
	t.load.bodies += n
	if t.share.bodies > t.limits.bodies || t.load.bodies > t.limits.allBodies {
		return n, errBodies
	}
	return n, err
}
