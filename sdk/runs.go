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
	mu      sync.Mutex
	running map[*handlerRun]struct{}
}

type handlerRun struct {
	ctx   context.Context
	ended time.Time // when ctx ended; zero until that is noticed
}

// watch counts a handler from the end of its ctx until returned is called.
func (o *overdue) watch(ctx context.Context) (returned func()) {
	h := &handlerRun{ctx: ctx}
	o.add(h)
	stop := context.AfterFunc(ctx, func() { o.notice(h) })
	return func() { stop(); o.remove(h) }
}

// add counts a handler until remove. Its owner calls notice when it ends the handler's ctx before the deadline.
func (o *overdue) add(h *handlerRun) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.running == nil {
		o.running = map[*handlerRun]struct{}{}
	}
	o.running[h] = struct{}{}
}

func (o *overdue) remove(h *handlerRun) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.running, h)
}

func (o *overdue) notice(h *handlerRun) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h.notice()
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

// count returns how many there are, and how many of them have run for grace or longer since their ctx ended. It
// checks each ctx itself: the function that runs after its end may be late.
func (o *overdue) count(grace time.Duration) (handlers, late int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for h := range o.running {
		if h.ctx.Err() == nil {
			continue
		}
		h.notice()
		handlers++
		if time.Since(h.ended) >= grace {
			late++
		}
	}
	return handlers, late
}
