package elicit

import "sync"

// Waiting are the calls of a plugin that wait for answers, by the ids that their callers have.
type Waiting[T comparable] struct {
	mu   sync.Mutex
	byID map[string]T
}

// maxWaiting is how many calls of a plugin may wait.
const maxWaiting = 64

// Add reports false if too many wait.
func (w *Waiting[T]) Add(id string, call T) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.byID) >= maxWaiting {
		return false
	}
	if w.byID == nil {
		w.byID = map[string]T{}
	}
	w.byID[id] = call
	return true
}

// Get returns a call, which stays; the zero value if there is none.
func (w *Waiting[T]) Get(id string) T {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.byID[id]
}

// Take ends the wait of a call. It reports false if another one has taken it; of those that report true then runs.
func (w *Waiting[T]) Take(id string, call T, then func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if own, is := w.byID[id]; !is || own != call {
		return false
	}
	delete(w.byID, id)
	then()
	return true
}
