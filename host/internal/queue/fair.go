package queue

import (
	"container/heap"
	"container/list"
)

// This file keeps a queue fair: the first waiting call of each caller comes before the second of any.
// However many wait, a call joins and leaves in the time of a look into a heap.

// A Caller is on whose behalf calls are made. Calls without a name and a session share one caller.
type Caller struct{ Name, Session string }

// A share is the waiting calls of one caller at one limiter.
type share struct {
	caller  Caller
	waiters list.List // of *Waiter, in order
	index   int       // in the limiter's ranks
}

func (s *share) last() *Waiter { return s.waiters.Back().Value.(*Waiter) }

// shares are a heap: the caller with most waiting calls first, of several the one whose last call comes last.
type shares []*share

func (s shares) Len() int { return len(s) }
func (s shares) Less(i, j int) bool {
	if a, b := s[i].waiters.Len(), s[j].waiters.Len(); a != b {
		return a > b
	}
	return s[j].last().before(s[i].last())
}
func (s shares) Swap(i, j int) { s[i], s[j] = s[j], s[i]; s[i].index, s[j].index = i, j }
func (s *shares) Push(x any)   { x.(*share).index = len(*s); *s = append(*s, x.(*share)) }
func (s *shares) Pop() any     { return pop((*[]*share)(s)) }

// waiters are a heap ordered by who gets a slot first.
type waiters []*Waiter

func (p waiters) Len() int           { return len(p) }
func (p waiters) Less(i, j int) bool { return p[i].before(p[j]) }
func (p waiters) Swap(i, j int)      { p[i], p[j] = p[j], p[i]; p[i].index, p[j].index = i, j }
func (p *waiters) Push(x any)        { x.(*Waiter).index = len(*p); *p = append(*p, x.(*Waiter)) }
func (p *waiters) Pop() any          { return pop((*[]*Waiter)(p)) }

func pop[T any](list *[]*T) *T {
	n := len(*list) - 1
	last := (*list)[n]
	(*list)[n] = nil
	*list = (*list)[:n]
	return last
}

func (p *Waiter) before(other *Waiter) bool {
	if p.round != other.round {
		return p.round < other.round
	}
	return p.number < other.number
}

// join adds a waiting call to its caller's share.
func (l *limiter) join(p *Waiter) *list.Element {
	s := l.shares[p.caller]
	if s == nil {
		s = &share{caller: p.caller}
		l.shares[p.caller] = s
		at := s.waiters.PushBack(p)
		heap.Push(&l.ranks, s)
		return at
	}
	at := s.waiters.PushBack(p)
	heap.Fix(&l.ranks, s.index)
	return at
}

func (l *limiter) quit(by Caller, at *list.Element) {
	s := l.shares[by]
	if s.waiters.Len() == 1 { // a share in the heap is never empty
		heap.Remove(&l.ranks, s.index)
		delete(l.shares, by)
		return
	}
	s.waiters.Remove(at)
	heap.Fix(&l.ranks, s.index)
}

// excess returns the call that gives way to one more of a caller: the last of the caller with most waiting calls, if
// that one has more even then; otherwise nil.
func (l *limiter) excess(by Caller) *Waiter {
	if len(l.ranks) == 0 {
		return nil
	}
	own := 0
	if s := l.shares[by]; s != nil {
		own = s.waiters.Len()
	}
	if most := l.ranks[0]; most.waiters.Len() > own+1 {
		return most.last()
	}
	return nil
}
