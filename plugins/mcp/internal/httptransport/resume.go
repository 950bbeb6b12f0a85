package httptransport

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	// maxFailures is how many connections in a row may fail before a stream is given up. A stream that the server ends is
	// no failure: servers do so to be polled, and proxies when nothing comes.
	maxFailures  = 5
	defaultRetry = time.Second
	minRetry     = 10 * time.Millisecond
	maxRetry     = time.Minute
)

// resume connects again to a stream that ended before the response, after the last event that came, for as long as the
// request may take. Asking for the rest of an answer runs nothing twice.
func (s *stream) resume(ctx context.Context) error {
	t := s.t
	for failures := 0; failures < maxFailures; failures++ {
		if err := s.pause(ctx, failures); err != nil {
			return err
		}
		a, err := s.get(ctx)
		if err != nil {
			if ctx.Err() != nil || t.ctx.Err() != nil {
				return err
			}
			continue
		}
		if !isStream(a) {
			_ = a.Body.Close()
			if isPassing(a.StatusCode) {
				continue
			}
			return t.broken(errLost)
		}
		answered, err := s.read(ctx, a)
		_ = a.Body.Close()
		if answered || err != nil {
			return err
		}
		failures = -1
	}
	return t.broken(errLost)
}

func isStream(a *response) bool { return a.StatusCode == http.StatusOK && mediaType(a) == contentSSE }

// isPassing says whether a server, or a proxy before it, may soon answer otherwise.
func isPassing(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
}

func (s *stream) get(ctx context.Context) (*response, error) {
	h := s.t.header(contentSSE)
	if s.lastID != "" {
		h.Set(headerLastEvent, s.lastID)
	}
	return s.t.exchange(ctx, outgoing{method: http.MethodGet, url: s.t.base, header: h})
}

// pause waits before the next connection: as long as the server asked for, and twice as long for each of the doublings.
// Streams that bring nothing are polled once a second at most, whatever the server asked for.
func (s *stream) pause(ctx context.Context, doublings int) error {
	wait := s.retry
	if wait < 0 {
		wait = defaultRetry
	}
	wait = max(wait, min(minRetry<<min(s.empty, 10), defaultRetry))
	wait = min(wait<<doublings, maxRetry)
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.t.ctx.Done():
		return context.Cause(s.t.ctx)
	}
}

// streamWait is how long a session begins later so that the stream beside requests is open before the first call: what
// a server asks on it before that is lost.
const streamWait = 500 * time.Millisecond

func (t *Transport) openStream(ctx context.Context) {
	open := make(chan struct{})
	if !t.start(func(ctx context.Context) { t.listen(ctx, sync.OnceFunc(func() { close(open) })) }) {
		return
	}
	select {
	case <-open:
	case <-time.After(streamWait):
	case <-ctx.Done():
	}
}

// listen reads the stream of messages that belong to no request, as sessions of the handshake era have it, for as long
// as the server offers it. It calls answered when the server has said whether it does.
func (t *Transport) listen(ctx context.Context, answered func()) {
	defer answered()
	s := &stream{t: t, retry: -1}
	const maxShort = 6
	short := 0 // connections in a row that ended as soon as they began, though the server does not ask to be polled
	for failures, first := 0, true; failures < maxFailures; failures, first = failures+1, false {
		if !first && s.pause(ctx, max(failures, short)) != nil {
			return
		}
		began := time.Now()
		a, err := s.get(ctx)
		answered()
		if err != nil {
			continue
		}
		if !isStream(a) {
			_ = a.Body.Close()
			if isPassing(a.StatusCode) {
				continue
			}
			break // 405, or any other way to say that there is none
		}
		_, err = s.read(ctx, a)
		_ = a.Body.Close()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			failures = -1
		}
		if short = min(short+1, maxShort); s.retry >= 0 || s.empty == 0 || time.Since(began) >= defaultRetry {
			short = 0
		}
	}
	if ctx.Err() == nil {
		close(t.deaf)
	}
}
