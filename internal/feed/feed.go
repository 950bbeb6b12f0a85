// Package feed broadcasts changes to all watchers without blocking on any of them.
package feed

import (
	"context"
	"errors"
	"sync"
)

// ErrEnded is the error of Next after the end of its watch, or of the feed.
var ErrEnded = errors.New("the watch has ended")

// maxPending is how many changes wait for a slow reader.
const maxPending = 1000

// A Feed sends changes to all who watch. The zero value is ready for use.
type Feed[T any] struct {
	mu       sync.Mutex
	watchers map[*Watcher[T]]struct{}
	ended    bool
}

// A Watcher is one of a feed. 1000 changes wait for it; then the older half of them is dropped.
type Watcher[T any] struct {
	of      *Feed[T]
	pending []T           // guarded by the lock of the feed, as lost
	lost    int           // dropped since the last Next
	ready   chan struct{} // holds a token while something is pending
	ended   chan struct{} // closed by End
}

// Watch begins to watch. The caller calls End.
func (f *Feed[T]) Watch() *Watcher[T] {
	w := &Watcher[T]{of: f, ready: make(chan struct{}, 1), ended: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		close(w.ended)
		return w
	}
	if f.watchers == nil {
		f.watchers = map[*Watcher[T]]struct{}{}
	}
	f.watchers[w] = struct{}{}
	return w
}

// Publish never waits. The change is made only if someone watches.
func (f *Feed[T]) Publish(change func() T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.watchers) == 0 {
		return
	}
	c := change()
	for w := range f.watchers {
		if len(w.pending) >= maxPending {
			n := copy(w.pending, w.pending[maxPending/2:])
			clear(w.pending[n:])
			w.pending = w.pending[:n]
			w.lost += maxPending / 2
		}
		w.pending = append(w.pending, c)
		select {
		case w.ready <- struct{}{}:
		default:
		}
	}
}

// End ends all watches, and those that begin later.
func (f *Feed[T]) End() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	for w := range f.watchers {
		close(w.ended)
		delete(f.watchers, w)
	}
}

// Next waits for changes, and returns all that are pending, and how many were dropped before them. After the end of the
// watch the error is ErrEnded, once nothing is pending.
func (w *Watcher[T]) Next(ctx context.Context) (changes []T, lost int, err error) {
	select {
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	case <-w.ready:
	case <-w.ended:
		select {
		case <-w.ready:
		default:
			return nil, 0, ErrEnded
		}
	}
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	changes, lost = w.pending, w.lost
	w.pending, w.lost = nil, 0
	return changes, lost, nil
}

// End ends the watch.
func (w *Watcher[T]) End() {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if _, watches := w.of.watchers[w]; watches {
		close(w.ended)
		delete(w.of.watchers, w)
	}
}
