package host

import (
	"container/heap"
	"container/list"
)

// This file keeps a line fair: each caller's first call in it comes before anybody's second, whoever came first. A caller
// is told by its name and session; calls without either are of one. Whatever is in line, a call comes and goes in the time
// of a look into a heap: under overload a refusal is as quick as ever.

// A caller is on whose behalf calls are made.
type caller struct{ name, session string }

func (c *Call) by() caller { return caller{c.Caller, c.SessionID} }

// A share is what one caller has in line of one bound.
type share struct {
	caller  caller
	waiters list.List // of *waiter, in order
	index   int       // in the bound's heap
}

func (s *share) last() *waiter { return s.waiters.Back().Value.(*waiter) }

// shares are a heap: the caller with most calls in line first, of several the one whose last call comes last.
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
func (s *shares) Pop() any {
	last := (*s)[len(*s)-1]
	(*s)[len(*s)-1] = nil
	*s = (*s)[:len(*s)-1]
	return last
}

// waiters are a heap: the one that gets its turn first.
type waiters []*waiter

func (w waiters) Len() int           { return len(w) }
func (w waiters) Less(i, j int) bool { return w[i].before(w[j]) }
func (w waiters) Swap(i, j int)      { w[i], w[j] = w[j], w[i]; w[i].index, w[j].index = i, j }
func (w *waiters) Push(x any)        { x.(*waiter).index = len(*w); *w = append(*w, x.(*waiter)) }
func (w *waiters) Pop() any {
	last := (*w)[len(*w)-1]
	(*w)[len(*w)-1] = nil
	*w = (*w)[:len(*w)-1]
	return last
}

func (w *waiter) before(other *waiter) bool {
	if w.round != other.round {
		return w.round < other.round
	}
	return w.number < other.number
}

// add puts a call in line: into the round after its caller's last one there, and never into one that is over.
func (l *line) add(w *waiter) {
	w.round = l.round
	if s := l.plugin.callers[w.caller]; s != nil {
		w.round = max(w.round, s.last().round)
	}
	w.round++
	l.came++
	w.number, w.waits = l.came, true
	heap.Push(&w.pair[0].queue, w)
	for i, b := range w.pair {
		w.places[i] = b.join(w)
	}
	w.wait(+1)
}

func (b *bound) join(w *waiter) *list.Element {
	s := b.callers[w.caller]
	if s != nil {
		place := s.waiters.PushBack(w)
		heap.Fix(&b.ranks, s.index)
		return place
	}
	s = &share{caller: w.caller}
	place := s.waiters.PushBack(w)
	if b.callers == nil {
		b.callers = map[caller]*share{}
	}
	b.callers[w.caller] = s
	heap.Push(&b.ranks, s)
	return place
}

func (b *bound) quit(w *waiter, place *list.Element) {
	s := b.callers[w.caller]
	if s.waiters.Len() == 1 { // a share in the heap is never empty
		heap.Remove(&b.ranks, s.index)
		delete(b.callers, w.caller)
		return
	}
	s.waiters.Remove(place)
	heap.Fix(&b.ranks, s.index)
}

// excess gives the call that makes room for one more of a caller, in a line that is full: the last of the caller who has
// most in it, if that one has more even then; else nil.
func (b *bound) excess(by caller) *waiter {
	if len(b.ranks) == 0 {
		return nil
	}
	own := 0
	if s := b.callers[by]; s != nil {
		own = s.waiters.Len()
	}
	if most := b.ranks[0]; most.waiters.Len() > own+1 {
		return most.last()
	}
	return nil
}

// makeRoom frees a place in a full line for a caller who has fewer calls in it than another one, even with this call. That
// one's last call is refused.
func (l *line) makeRoom(b *bound, by caller) bool {
	last := b.excess(by)
	if last == nil {
		return false
	}
	last.refused = b.read()
	l.remove(last)
	close(last.ready)
	return true
}

// remove takes a call out of the line; false when it is not there any more.
func (l *line) remove(w *waiter) bool {
	if !w.waits {
		return false
	}
	w.waits = false
	heap.Remove(&w.pair[0].queue, w.index)
	for i, b := range w.pair {
		b.quit(w, w.places[i])
	}
	w.wait(-1)
	return true
}
