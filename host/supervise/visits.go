package supervise

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// A visit is one call in a generation.
type visit struct {
	generation *generation
	ctx        context.Context // ends with the caller's, or when the generation gives the call no more time
	cancel     context.CancelCauseFunc
	process    *Process
}

// errCut ends the context of a call whose process is about to be stopped.
var errCut = errors.New("the plugin's process is being stopped")

// enter gives a call its place in a generation that takes calls, starting one if need be. Whoever enters leaves.
func (p *Process) enter(ctx context.Context) (*visit, error) {
	for {
		g, err := p.acquire(ctx)
		if err != nil {
			return nil, err
		}
		if !g.awake(ctx) {
			continue // to the next generation, or to why there is none
		}
		v := &visit{generation: g, process: p}
		v.ctx, v.cancel = context.WithCancelCause(ctx)
		if g.visits.add(v) {
			p.calls.Add(1)
			return v, nil
		}
		v.cancel(nil) // it was replaced a moment ago
	}
}

// leave ends the visit; again, it does nothing.
func (v *visit) leave() {
	v.cancel(nil)
	if v.generation.visits.remove(v) {
		v.process.calls.Add(-1)
	}
}

// cut says whether the call was ended because its process is being stopped.
func (v *visit) cut() bool { return errors.Is(context.Cause(v.ctx), errCut) }

// broken tells a call that got no answer because its plugin, its connection or its time in the process ended.
func (v *visit) broken(err error) (*sdk.BrokenError, bool) {
	if b, ok := errors.AsType[*sdk.BrokenError](err); ok || err == nil || !v.cut() {
		return b, ok
	}
	switch e, _ := errors.AsType[*sdk.Error](err); {
	case e == nil || e.Outcome != sdk.OutcomeFailed:
		return &sdk.BrokenError{Delivered: e == nil || e.Outcome != sdk.OutcomeNotSent, Err: errCut}, true
	default: // the plugin was faster
		return nil, false
	}
}

// visits are the calls that run in a generation. The zero value has none and takes some.
type visits struct {
	mu    sync.Mutex
	in    map[*visit]struct{}
	last  time.Time     // when the process was last heard of
	shut  bool          // no more of them
	cut   bool          // those that ran were ended
	empty chan struct{} // made when shut, closed when the last has left
}

func (s *visits) add(v *visit) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return false
	}
	if s.in == nil {
		s.in = map[*visit]struct{}{}
	}
	s.in[v] = struct{}{}
	return true
}

// remove says whether the visit was there.
func (s *visits) remove(v *visit) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.in[v]; !there {
		return false
	}
	delete(s.in, v)
	s.last = time.Now()
	if s.shut && len(s.in) == 0 {
		close(s.empty)
	}
	return true
}

// heard notes that the process has given a sign of life.
func (s *visits) heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
}

// idle says how long the process has had nothing to do.
func (s *visits) idle() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.in) > 0 || s.last.IsZero() {
		return 0
	}
	return time.Since(s.last)
}

// count gives how many there are.
func (s *visits) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.in)
}

// close lets no more calls in. It gives a channel that closes when the last has left, and when the last of their
// deadlines is, but not more than limit from now.
func (s *visits) close(limit time.Duration) (empty <-chan struct{}, longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut, s.empty = true, make(chan struct{})
	if len(s.in) == 0 {
		close(s.empty)
	}
	for v := range s.in {
		if deadline, ok := v.ctx.Deadline(); ok {
			longest = max(longest, time.Until(deadline)+settle)
		} else {
			longest = limit
		}
	}
	return s.empty, min(longest, limit)
}

// end ends the calls that are left.
func (s *visits) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = true
	for v := range s.in {
		v.cancel(errCut)
	}
}

func (s *visits) wereCut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}
