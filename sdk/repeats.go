package sdk

import (
	"context"
	"hash/maphash"
	"sync"
	"time"
)

// maxEnded is how many ended calls a plugin recognizes. A repeated call comes soon: gRPC resends a request that the
// other end reports as not processed, even without retries.
const maxEnded = 4096

// runIDs recognizes the running calls and the last ended ones by their hashed ids: long ids take no more memory,
// about 100 KiB for all.
type runIDs struct {
	mu    sync.Mutex
	known map[uint64]struct{}
	ended []uint64 // a ring, once it is full
	next  int
}

var runIDSeed = maphash.MakeSeed()

// begin reports whether the call is new, and records it; end ends it. Calls without an id are all new.
func (m *runIDs) begin(id string) bool {
	if id == "" {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := maphash.String(runIDSeed, id)
	if _, seen := m.known[key]; seen {
		return false
	}
	if m.known == nil {
		m.known = map[uint64]struct{}{}
	}
	m.known[key] = struct{}{}
	return true
}

// end records that the call has ended, and forgets the oldest ended one if there are more than maxEnded.
func (m *runIDs) end(id string) {
	if id == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := maphash.String(runIDSeed, id)
	if len(m.ended) < maxEnded {
		m.ended = append(m.ended, key)
		return
	}
	delete(m.known, m.ended[m.next])
	m.ended[m.next] = key
	m.next = (m.next + 1) % maxEnded
}

// overdue counts the running handlers, and those that still run though their context has ended. The zero value is
// empty.
type overdue struct {
	mu       sync.Mutex
	running  map[*handlerRun]struct{}
	sessions map[*session]struct{} // which know their own calls
}

type handlerRun struct {
	ctx   context.Context
	ended time.Time // when ctx ended; zero until that is noticed
	freed bool      // it does not end with ctx any more
}

// watch counts a handler from the end of its ctx until returned is called.
func (o *overdue) watch(ctx context.Context) (returned func()) {
	h := &handlerRun{ctx: ctx}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.running == nil {
		o.running = map[*handlerRun]struct{}{}
	}
	o.running[h] = struct{}{}
	stop := context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		h.notice()
	})
	return func() {
		stop()
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.running, h)
	}
}

// addSession counts the handlers of a session until it is removed.
func (o *overdue) addSession(s *session) (remove func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sessions == nil {
		o.sessions = map[*session]struct{}{}
	}
	o.sessions[s] = struct{}{}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.sessions, s)
	}
}

// notice records when ctx ended, which is now unless its deadline has passed.
func (h *handlerRun) notice() {
	if !h.ended.IsZero() {
		return
	}
	h.ended = time.Now()
	if deadline, ok := h.ctx.Deadline(); ok && deadline.Before(h.ended) {
		h.ended = deadline
	}
}

// late reports whether ctx has ended, and whether that was grace ago or longer.
func (h *handlerRun) late(grace time.Duration) (ended, late int) {
	if h.freed || h.ctx.Err() == nil {
		return 0, 0
	}
	h.notice()
	if time.Since(h.ended) >= grace {
		late = 1
	}
	return 1, late
}

// release stops counting the handler with this ctx: another one carries it from now on.
func (o *overdue) release(ctx context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.each(func(h *handlerRun) {
		if h.ctx == ctx {
			h.freed = true
		}
	})
}

// each calls f with all handlers. The lock is held.
func (o *overdue) each(f func(*handlerRun)) {
	for h := range o.running {
		f(h)
	}
	for s := range o.sessions {
		s.mu.Lock()
		for _, call := range s.running {
			f(&call.handler)
		}
		s.mu.Unlock()
	}
}

// count returns how many there are, and how many of them have run for grace or longer since their ctx ended. It
// checks each ctx itself: the function that runs after its end may be late.
func (o *overdue) count(grace time.Duration) (handlers, late int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.each(func(h *handlerRun) {
		ended, isLate := h.late(grace)
		handlers, late = handlers+ended, late+isLate
	})
	return handlers, late
}
