package host

import "slices"

// This file keeps a line fair: each caller's first call in it comes before anybody's second, whoever came first. A caller
// is told by its name and session; calls without either are of one.

// A caller is on whose behalf calls are made.
type caller struct{ name, session string }

func (c *Call) by() caller { return caller{c.Caller, c.SessionID} }

// add puts a call in line: into the round after its caller's last one there, and never into one that is over.
func (l *line) add(w *waiter) {
	w.round = l.round
	for _, other := range l.waiting {
		if other.caller == w.caller {
			w.round = max(w.round, other.round)
		}
	}
	w.round++
	i := slices.IndexFunc(l.waiting, func(other *waiter) bool { return other.round > w.round })
	if i < 0 {
		i = len(l.waiting)
	}
	l.waiting = slices.Insert(l.waiting, i, w)
	w.wait(+1)
}

// makeRoom frees a place in a full line for a caller who has fewer calls in it than another one, even with this call. That
// one's last call is refused.
func (l *line) makeRoom(b *bound, by caller) bool {
	calls := map[caller]int{}
	var last *waiter // of the caller with most
	for _, w := range l.waiting {
		if !slices.Contains(w.pair[:], b) {
			continue
		}
		if calls[w.caller]++; last == nil || calls[w.caller] >= calls[last.caller] {
			last = w
		}
	}
	if last == nil || calls[last.caller] <= calls[by]+1 {
		return false
	}
	last.refused = b.queueFull()
	l.remove(last)
	close(last.ready)
	return true
}

// remove takes a call out of the line; false when it is not there any more.
func (l *line) remove(w *waiter) bool {
	i := slices.Index(l.waiting, w)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	w.wait(-1)
	return true
}
