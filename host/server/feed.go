package server

import (
	"context"
	"sync"

	"connectrpc.com/connect"
)

// maxPending is how many changes wait for a slow reader of a watch.
const maxPending = 1000

// A feed sends changes to all who watch. The zero value is ready for use.
type feed[T any] struct {
	mu       sync.Mutex
	watchers map[*watcher[T]]struct{}
}

// A watcher is one of a feed. Changes wait for it up to a limit; then the oldest are dropped.
type watcher[T any] struct {
	of      *feed[T]
	pending []T           // guarded by the lock of the feed, as lost
	lost    int           // dropped since the last take
	ready   chan struct{} // holds a token while something is pending
}

// watch begins to watch, and runs snapshot while nothing can be published. The caller calls end.
func (f *feed[T]) watch(snapshot func()) *watcher[T] {
	w := &watcher[T]{of: f, ready: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watchers == nil {
		f.watchers = map[*watcher[T]]struct{}{}
	}
	f.watchers[w] = struct{}{}
	if snapshot != nil {
		snapshot()
	}
	return w
}

// publish never waits. The change is made only if someone watches.
func (f *feed[T]) publish(change func() T) {
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

// next waits for changes, and returns all that are pending.
func (w *watcher[T]) next(ctx context.Context) (changes []T, lost int, err error) {
	select {
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	case <-w.ready:
	}
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	changes, lost = w.pending, w.lost
	w.pending, w.lost = nil, 0
	return changes, lost, nil
}

// end ends the watch.
func (w *watcher[T]) end() {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	delete(w.of.watchers, w)
}

// watchCounter bounds the watches that are open at once.
type watchCounter struct {
	mu  sync.Mutex
	all int
	of  map[string]int // by principal
}

// Watch admits a stream that lasts: of each token at most 200, and of all 800. The context that it returns also ends
// when the server stops; done must be called at the end.
func (s *Server) Watch(ctx context.Context) (_ context.Context, done func(), err error) {
	key, most := who(ctx).key(), s.limits.watches
	c := &s.watches
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[key] >= most || c.all >= 4*most {
		return nil, nil, fail(connect.CodeResourceExhausted, "", "too many watches are open", "Close some, and open fewer.")
	}
	if s.stopping.Err() != nil {
		return nil, nil, fail(connect.CodeUnavailable, "", "the host is stopping", "Watch again in a moment.")
	}
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.all++
	c.of[key]++
	ctx, cancel := context.WithCancel(ctx)
	unlink := context.AfterFunc(s.stopping, cancel)
	return ctx, func() {
		unlink()
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
		if c.of[key]--; c.of[key] == 0 {
			delete(c.of, key)
		}
	}, nil
}
