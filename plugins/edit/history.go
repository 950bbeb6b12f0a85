package main

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"sync"
	"time"
)

const (
	maxHistory = 64 << 20 // bytes of the contents kept
	maxEntries = 10_000   // calls, of all sessions
)

// A history keeps what the edits of each session did, for diff and undo. It lives as long as the process. Beyond its
// limits the oldest edits of any session are dropped. The zero value is ready.
type history struct {
	limit int // in place of maxHistory, for tests

	mu       sync.Mutex
	entries  []*historyEntry // oldest first
	contents map[[sha256.Size]byte]*content
	bytes    int
	dropped  map[string]int // by session
}

// A historyEntry records one call.
type historyEntry struct {
	session, tool string
	at            time.Time
	files         []fileRecord
}

// A fileRecord records one call's change of one file.
type fileRecord struct {
	path          string // as the call named it
	real          string
	before, after *content // nil where there was no file
}

// A content is the content of one or more files, kept once.
type content struct {
	data  []byte
	key   [sha256.Size]byte
	users int
}

func (c *content) is(data []byte) bool { return c != nil && c.key == sha256.Sum256(data) }

// add records what a call did. It returns false when that is too large to be kept.
func (h *history) add(session, tool string, changes []*change) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := &historyEntry{session: session, tool: tool, at: time.Now()}
	for _, c := range changes {
		r := fileRecord{path: c.place.Path, real: c.place.Real()}
		if c.before != nil {
			r.before = h.keep(c.before.data)
		}
		if !c.remove {
			r.after = h.keep(c.after)
		}
		e.files = append(e.files, r)
	}
	h.entries = append(h.entries, e)
	limit := cmp.Or(h.limit, maxHistory)
	if e.size() > limit { // older entries go too: undo must not take back another edit instead of this one
		h.drop(func(old *historyEntry) bool { return old.session == session })
		return false
	}
	for h.bytes > limit || len(h.entries) > maxEntries {
		oldest := h.entries[0]
		h.drop(func(old *historyEntry) bool { return old == oldest })
	}
	return true
}

// size is the bytes that an entry would keep on its own.
func (e *historyEntry) size() (n int) {
	seen := map[*content]bool{nil: true}
	for _, r := range e.files {
		for _, c := range []*content{r.before, r.after} {
			if !seen[c] {
				seen[c] = true
				n += len(c.data)
			}
		}
	}
	return n
}

func (h *history) keep(data []byte) *content {
	key := sha256.Sum256(data)
	c := h.contents[key]
	if c == nil {
		if h.contents == nil {
			h.contents = map[[sha256.Size]byte]*content{}
		}
		c = &content{data: data, key: key}
		h.contents[key] = c
		h.bytes += len(data)
	}
	c.users++
	return c
}

// drop removes entries, and counts them by session.
func (h *history) drop(which func(*historyEntry) bool) {
	for _, e := range h.take(which) {
		if len(h.dropped) >= maxEntries || h.dropped == nil {
			h.dropped = map[string]int{}
		}
		h.dropped[e.session]++
	}
}

// take removes entries and returns them.
func (h *history) take(which func(*historyEntry) bool) (taken []*historyEntry) {
	h.entries = slices.DeleteFunc(h.entries, func(e *historyEntry) bool {
		found := which(e)
		if found {
			h.release(e)
			taken = append(taken, e)
		}
		return found
	})
	return taken
}

func (h *history) release(e *historyEntry) {
	for _, r := range e.files {
		for _, c := range []*content{r.before, r.after} {
			if c == nil {
				continue
			}
			if c.users--; c.users == 0 {
				delete(h.contents, c.key)
				h.bytes -= len(c.data)
			}
		}
	}
}

// forget removes entries that were undone.
func (h *history) forget(taken []*historyEntry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.take(func(e *historyEntry) bool { return slices.Contains(taken, e) })
}

// of returns the entries of a session, newest first, and how many older ones were dropped.
func (h *history) of(session string) (out []*historyEntry, dropped int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range slices.Backward(h.entries) {
		if e.session == session {
			out = append(out, e)
		}
	}
	return out, h.dropped[session]
}
