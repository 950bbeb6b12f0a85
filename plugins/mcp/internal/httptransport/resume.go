package httptransport

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	// maxFailures is how many connections in a row may fail, or bring nothing, before a stream is given up.
	maxFailures  = 5
	defaultRetry = time.Second
	minRetry     = 10 * time.Millisecond
	maxRetry     = time.Minute
)

// resume connects again to a stream that ended before the response, after the last event that came. Asking for the rest
// of an answer runs nothing twice.
func (s *stream) resume(ctx context.Context) error {
	t := s.t
	for failures := 0; failures < maxFailures; failures++ {
		if err := s.pause(ctx, failures); err != nil {
			return err
		}
		before := s.lastID
		a, err := s.get(ctx)
		if err != nil {
			if ctx.Err() != nil || t.ctx.Err() != nil {
				return err
			}
			continue
		}
		if a.StatusCode != http.StatusOK || mediaType(a) != contentSSE {
			_ = a.Body.Close()
			if a.StatusCode == http.StatusServiceUnavailable || a.StatusCode == http.StatusTooManyRequests {
				continue
			}
			return t.broken(errLost)
		}
		answered, err := s.read(ctx, a)
		_ = a.Body.Close()
		if answered || err != nil {
			return err
		}
		if s.lastID != before || s.messages > 0 {
			failures = -1 // it continues, if slowly
		}
	}
	return t.broken(errLost)
}

// get connects to the stream.
func (s *stream) get(ctx context.Context) (*response, error) {
	h := s.t.header(contentSSE)
	if s.lastID != "" {
		h.Set(headerLastEvent, s.lastID)
	}
	return s.t.exchange(ctx, outgoing{method: http.MethodGet, url: s.t.base, header: h})
}

// pause waits before the next connection: as long as the server asked for, and longer after failures.
func (s *stream) pause(ctx context.Context, failures int) error {
	wait := s.retry
	if wait < 0 {
		wait = defaultRetry
	}
	wait = min(max(wait, minRetry)<<failures, maxRetry)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
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

// openStream begins to listen.
func (t *Transport) openStream(ctx context.Context) {
	open := make(chan struct{})
	if !t.start(func(ctx context.Context) { t.listen(ctx, sync.OnceFunc(func() { close(open) })) }) {
		return
	}
	timer := time.NewTimer(streamWait)
	defer timer.Stop()
	select {
	case <-open:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// listen reads the stream of messages that belong to no request, as sessions of the handshake era have it, for as long
// as the server offers it. It calls answered when the server has said whether it does.
func (t *Transport) listen(ctx context.Context, answered func()) {
	defer answered()
	s := &stream{t: t, retry: -1}
	for failures := 0; failures < maxFailures; failures++ {
		if failures > 0 || s.lastID != "" {
			if s.pause(ctx, failures) != nil {
				return
			}
		}
		a, err := s.get(ctx)
		answered()
		if err != nil {
			continue
		}
		if a.StatusCode != http.StatusOK || mediaType(a) != contentSSE {
			_ = a.Body.Close()
			if a.StatusCode >= http.StatusInternalServerError {
				continue
			}
			return // 405, or any other way to say that there is none
		}
		_, err = s.read(ctx, a)
		_ = a.Body.Close()
		if ctx.Err() != nil {
			return
		}
		if err == nil && s.messages > 0 {
			failures = 0
		}
	}
}
