package supervise

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

type inFlightCall struct {
	generation    *generation
	ctx           context.Context // the caller's
	process       *Process
	stoppedByHost atomic.Bool // its process was, before ctx ended
}

// errStopping is why a call ends whose process is being stopped.
var errStopping = errors.New("the plugin's process is being stopped")

// beginCall registers a call in a generation that accepts calls, and starts one if necessary: it adds the time of that
// to starting. The caller calls end.
func (p *Process) beginCall(ctx context.Context, starting *time.Duration) (*inFlightCall, error) {
	for g := p.running(); ; g = nil {
		if g == nil {
			began := time.Now()
			next, err := p.acquire(ctx)
			*starting += time.Since(began)
			if err != nil {
				return nil, err
			}
			g = next
		}
		// the next generation starts when nothing of this one is left
		if g.child.killed.Load() || isClosed(g.child.programEnded) {
			select {
			case <-g.done():
			case <-g.replaced: // by one that ran already
			case <-ctx.Done():
				return nil, sdk.EndedError(ctx)
			case <-p.closing:
				return nil, p.closedError()
			}
			continue
		}
		if !g.takesCalls(ctx) {
			continue // with the next generation, or an error
		}
		c := &inFlightCall{generation: g, process: p, ctx: ctx}
		if added, watch := g.calls.add(c); added {
			if watch && !g.child.attached { // a person may have stopped that
				g.watchForStop(p.stopCheck, false)
			}
			p.calls.Add(1)
			return c, nil
		}
		// it has just been replaced
	}
}

// end may be called more than once.
func (c *inFlightCall) end() {
	if c.generation.calls.remove(c) {
		c.process.calls.Add(-1)
	}
}

// stopped reports whether the call ended because its process is being stopped.
func (c *inFlightCall) stopped() bool { return c.stoppedByHost.Load() }

// asBroken reports whether the call got no answer because its plugin or connection ended, or its process is being
// stopped.
func (c *inFlightCall) asBroken(err error) (*client.BrokenError, bool) {
	if b, ok := errors.AsType[*client.BrokenError](err); ok || err == nil || !c.stopped() {
		return b, ok
	}
	e, _ := errors.AsType[*sdk.Error](err)
	if e != nil && e.Outcome == sdk.OutcomeFailed { // the plugin answered first
		return nil, false
	}
	return &client.BrokenError{Delivered: e == nil || e.Outcome != sdk.OutcomeNotSent, Err: errStopping}, true
}

type inFlightCalls struct {
	mu         sync.Mutex
	running    map[*inFlightCall]struct{}
	lastAnswer time.Time     // when the process last answered something
	watched    bool          // by watchForStop
	closed     bool          // accepts no more calls
	empty      chan struct{} // made by close; closed when the last call has ended

	life context.Context // of all running calls; one for each would be five allocations
	end  context.CancelFunc
}

func newInFlightCalls() *inFlightCalls {
	life, end := context.WithCancel(context.Background())
	return &inFlightCalls{life: life, end: end}
}

// add refuses calls after close. The caller begins to watch the process if nobody does.
func (s *inFlightCalls) add(c *inFlightCall) (added, watch bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, false
	}
	if s.running == nil {
		s.running = map[*inFlightCall]struct{}{}
	}
	s.running[c] = struct{}{}
	watch, s.watched = !s.watched, true
	return true, watch
}

// keepWatching is false, and the next call begins to watch the process again, if none runs.
func (s *inFlightCalls) keepWatching() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched = len(s.running) > 0
	return s.watched
}

// remove reports whether the call was still registered.
func (s *inFlightCalls) remove(c *inFlightCall) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.running[c]; !there {
		return false
	}
	delete(s.running, c)
	if len(s.running) == 0 { // while others run, the process is not idle
		s.lastAnswer = time.Now()
		if s.closed {
			close(s.empty)
		}
	}
	return true
}

func (s *inFlightCalls) recordAnswer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastAnswer = time.Now()
}

// idle is how long the process has had no calls.
func (s *inFlightCalls) idle() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.running) > 0 || s.lastAnswer.IsZero() {
		return 0
	}
	return time.Since(s.lastAnswer)
}

func (s *inFlightCalls) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running)
}

// close refuses further calls. It returns a channel that closes when the last call has ended, and the time until the
// last deadline, at most limit.
func (s *inFlightCalls) close(limit time.Duration) (empty <-chan struct{}, longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.empty = true, make(chan struct{})
	if len(s.running) == 0 {
		close(s.empty)
	}
	for c := range s.running {
		if deadline, ok := c.ctx.Deadline(); ok {
			longest = max(longest, time.Until(deadline)+exitDelay)
		} else {
			longest = limit
		}
	}
	return s.empty, min(longest, limit)
}

func (s *inFlightCalls) cancelAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.running {
		c.stoppedByHost.Store(c.ctx.Err() == nil)
	}
	s.end()
}

func (s *inFlightCalls) wereCanceled() bool { return s.life.Err() != nil }
