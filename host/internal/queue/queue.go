// Package queue limits calls and orders waiting ones: each has a slot while it runs, and callers take turns. It
// identifies calls by their member (a tool, or a plugin) and caller only.
package queue

import (
	"container/heap"
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// MaxWait is how long a call waits for its slot.
const MaxWait = 5 * time.Minute

// A Queue limits the calls of one group, such as a plugin, and of its members, such as the plugin's tools. A call
// takes both slots at once, so that none blocks others while it waits for the second. It is safe for concurrent use.
type Queue struct {
	kind string // of the members, for errors

	mu      sync.Mutex
	group   *limiter
	members atomic.Pointer[map[string]*limiter] // replaced as a whole
	others  *limiter                            // members without limits
	round   int                                 // of the last waiting call that got its slot
	joined  uint64                              // how many calls have waited
}

// New returns a queue without limits. Errors name the group unquoted, and a member by the kind and its quoted name.
func New(group, kind string) *Queue {
	q := &Queue{kind: kind, group: newLimiter(group), others: newLimiter("")}
	q.members.Store(&map[string]*limiter{})
	return q
}

// SetLimits replaces all limits. Running and waiting calls count under the new ones.
func (q *Queue) SetLimits(group Limits, members map[string]Limits) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.group.set(group)
	now := map[string]*limiter{}
	for name, m := range *q.members.Load() {
		m.set(members[name])
		if _, limited := members[name]; limited || m.running+m.waiting > 0 { // it may have limits again before its calls end
			now[name] = m
		}
	}
	for name, l := range members {
		if now[name] == nil {
			now[name] = newLimiter(fmt.Sprintf("%s %q", q.kind, name))
			now[name].set(l)
		}
	}
	q.members.Store(&now)
	q.grant()
}

// Busy reports whether calls run or wait.
func (q *Queue) Busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.group.running+q.group.waiting > 0
}

// Counts returns how many calls have a slot, and how many wait for one.
func (q *Queue) Counts() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.group.running, q.group.waiting
}

// A Waiter is a call in a Queue, which waits for a slot or has one. Its methods are not safe for concurrent use.
type Waiter struct {
	limiters
	queue  *Queue
	caller Caller
	began  time.Time // zero until Wait has returned without an error
	used   bool

	// Guarded by the queue's lock.
	state   state
	round   int
	number  uint64 // in the order in which they came
	index   int    // in the member's heap
	inShare [2]*list.Element
	refused *Refusal      // set before ready is closed
	ready   chan struct{} // closed when the call gets its slot, or is refused; nil if it had a slot at once
}

type state uint8

const (
	waiting state = iota
	granted
	left // also refused
)

// Join takes a free slot or a waiting place, until Leave, or returns why there is none. It never blocks. A refused
// call takes up nothing. In a full queue the last call of the caller with most waiting gives way to a caller with
// fewer.
func (q *Queue) Join(member string, by Caller) (*Waiter, *Refusal) {
	if refusal := q.lock(member, by); refusal != nil {
		return nil, refusal
	}
	defer q.mu.Unlock()
	of := q.limiters(member)
	now := of.now()
	if refusal := of.tooEarly(now); refusal != nil {
		return nil, refusal
	}
	free := of.free()
	for l := of.full(); !free && l != nil; l = of.full() {
		last := l.excess(by)
		if last == nil {
			return nil, l.refusal(Full)
		}
		last.refused = l.refusal(Full)
		q.remove(last)
		last.giveBack()
		close(last.ready)
	}
	of.take(now)
	p := &Waiter{limiters: of, queue: q, caller: by}
	if free {
		p.begin()
		p.state = granted
		return p, nil
	}
	p.ready = make(chan struct{})
	q.add(p)
	return p, nil
}

// Check returns why Join would refuse a call now; nil when it would not.
func (q *Queue) Check(member string, by Caller) *Refusal {
	if refusal := q.lock(member, by); refusal != nil {
		return refusal
	}
	defer q.mu.Unlock()
	of := q.limiters(member)
	now := of.now()
	if refusal := of.tooEarly(now); refusal != nil {
		return refusal
	}
	if l := of.full(); !of.free() && l != nil && l.excess(by) == nil {
		return l.refusal(Full)
	}
	return nil
}

// lock takes the lock, unless the call is refused without it.
func (q *Queue) lock(member string, by Caller) *Refusal {
	of := q.limiters(member)
	for _, l := range of {
		if refusal := l.refuses(by); refusal != nil {
			return refusal
		}
	}
	for _, l := range of {
		l.arrive(by, +1)
	}
	q.mu.Lock()
	for _, l := range of {
		l.arrive(by, -1)
	}
	return nil
}

func (q *Queue) limiters(member string) limiters {
	if m := (*q.members.Load())[member]; m != nil {
		return limiters{m, q.group}
	}
	return limiters{q.others, q.group}
}

// Immediate reports whether Join found a free slot.
func (p *Waiter) Immediate() bool { return p.ready == nil }

// Wait returns when the call has its slot. Its error is a *Refusal, or that of the context; then the place is given
// up.
func (p *Waiter) Wait(ctx context.Context) error {
	var tooLong bool
	if p.ready != nil {
		select {
		case <-p.ready:
		case <-ctx.Done():
		case <-time.After(MaxWait):
			tooLong = true
		}
	}
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	switch {
	case p.refused != nil:
		return p.refused
	case ctx.Err() != nil:
		p.leave()
		return ctx.Err()
	case tooLong && p.state == waiting:
		refusal := p.waitedTooLong()
		p.leave()
		return refusal
	}
	p.began = time.Now()
	return nil
}

// Use records that the call runs now.
func (p *Waiter) Use() { p.used = true }

// Leave releases the slot or the place. Leaving again does nothing. A call that has not run, since Use was not called,
// does not count against a rate.
func (p *Waiter) Leave() {
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	p.leave()
}

func (p *Waiter) leave() {
	switch p.state {
	case waiting:
		p.queue.remove(p)
	case granted:
		p.end(p.began)
	case left:
		return
	}
	p.state = left
	if !p.used {
		p.giveBack()
	}
	p.queue.grant()
}

// grant gives free slots to waiting calls, in order. Each member has a heap, so the next call is the first of the
// heaps' heads that can run.
func (q *Queue) grant() {
	for q.group.waiting > 0 && q.group.free() {
		var next *Waiter
		consider := func(l *limiter) {
			if len(l.heap) > 0 && l.free() && (next == nil || l.heap[0].before(next)) {
				next = l.heap[0]
			}
		}
		consider(q.others)
		for _, m := range *q.members.Load() {
			consider(m)
		}
		if next == nil {
			return
		}
		q.remove(next)
		next.begin()
		next.state = granted
		q.round = max(q.round, next.round)
		close(next.ready)
	}
}

// add makes a call wait, in the round after its caller's last waiting one and never in a past round.
func (q *Queue) add(p *Waiter) {
	p.round = q.round
	if s := q.group.shares[p.caller]; s != nil {
		p.round = max(p.round, s.last().round)
	}
	p.round++
	q.joined++
	p.number = q.joined
	heap.Push(&p.limiters[0].heap, p)
	for i, l := range p.limiters {
		p.inShare[i] = l.join(p)
		l.count(0, +1)
	}
}

func (q *Queue) remove(p *Waiter) {
	p.state = left
	heap.Remove(&p.limiters[0].heap, p.index)
	for i, l := range p.limiters {
		l.quit(p.caller, p.inShare[i])
		l.count(0, -1)
	}
}
