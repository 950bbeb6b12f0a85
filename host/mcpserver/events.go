package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// Limits of the events that are kept for clients that lose their connection.
const (
	maxEvents         = 64 << 20 // bytes, of all identities
	maxIdentityEvents = 16 << 20 // bytes, of one identity
	maxStreams        = 2000     // of calls of one identity
	eventCost         = 128      // bytes that an event takes beside its data
)

// errEventsGone is the error for a client that asks for events that are kept no longer.
var errEventsGone = errors.New("events of this stream are kept no longer: make the call again")

// An eventStore keeps what was sent over HTTP to sessions, so that a client that loses its connection in the middle of
// a call gets the rest. It is bounded; the oldest events of the identity that has the most go first.
type eventStore struct {
	limit         int // bytes, of all identities
	identityLimit int // bytes, of one identity

	mu    sync.Mutex
	bytes int
	all   map[*identityEvents]bool
}

func newEventStore() *eventStore {
	return &eventStore{limit: maxEvents, identityLimit: maxIdentityEvents, all: map[*identityEvents]bool{}}
}

// identityEvents are those of one identity, as the mcp.EventStore of its sessions.
type identityEvents struct {
	store   *eventStore
	bytes   int
	streams map[streamKey]*storedStream
	calls   []streamKey   // streams of calls, in the order in which they began
	inOrder []storedEvent // of all streams, also of those that are forgotten
}

// A streamKey names a stream. The ID of the one that belongs to no call is "".
type streamKey struct{ session, id string }

// A storedStream is the events of one stream, of which the oldest may be gone.
type storedStream struct {
	key   streamKey
	first int // the index of data[0]
	data  [][]byte

	single   bool // it is of one call
	answered bool // that has its answer
}

type storedEvent struct {
	stream *storedStream
	size   int
}

func (s *eventStore) identity() *identityEvents {
	e := &identityEvents{store: s, streams: map[streamKey]*storedStream{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[e] = true
	return e
}

func (s *eventStore) drop(e *identityEvents) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes -= e.bytes
	e.bytes, e.streams, e.calls, e.inOrder = 0, map[streamKey]*storedStream{}, nil, nil
	delete(s.all, e)
}

// Open begins a stream.
func (e *identityEvents) Open(ctx context.Context, session, id string) error {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	key := streamKey{session, id}
	if !e.store.all[e] || e.streams[key] != nil {
		return nil
	}
	w, _ := ctx.Value(writerKey{}).(*streamWriter)
	s := &storedStream{key: key, single: w != nil && w.single}
	e.streams[key] = s
	if id == "" { // as many as there are sessions
		return nil
	}
	e.calls = append(e.calls, key)
	if len(e.calls) > maxStreams {
		delete(e.streams, e.calls[0])
		e.calls = e.calls[1:]
	}
	return nil
}

// Append keeps an event. One that alone is over the limit is dropped at once.
func (e *identityEvents) Append(_ context.Context, session, id string, data []byte) error {
	answer := isAnswer(data) // which reads all of a large one, so without the lock
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	s := e.streams[streamKey{session, id}]
	if s == nil { // it was forgotten, and cannot be resumed
		return nil
	}
	size := len(data) + eventCost
	s.data = append(s.data, data)
	s.answered = s.answered || s.single && answer
	e.inOrder = append(e.inOrder, storedEvent{s, size})
	e.bytes += size
	e.store.bytes += size
	for e.bytes > e.store.identityLimit {
		e.dropOldest()
	}
	for e.store.bytes > e.store.limit {
		largest := e
		for other := range e.store.all {
			if other.bytes > largest.bytes {
				largest = other
			}
		}
		largest.dropOldest()
	}
	return nil
}

// dropOldest drops the oldest event of the identity, which is the first of its stream.
func (e *identityEvents) dropOldest() {
	oldest := e.inOrder[0]
	e.inOrder[0] = storedEvent{}
	e.inOrder = e.inOrder[1:]
	e.bytes -= oldest.size
	e.store.bytes -= oldest.size
	oldest.stream.data[0] = nil
	oldest.stream.data = oldest.stream.data[1:]
	oldest.stream.first++
}

// isAnswer reports whether a message is a response.
func isAnswer(message []byte) bool {
	for m := rawjson.MembersOf(message); m.Next(); {
		if name := string(m.Name); name == "method" || name == "result" || name == "error" {
			return name != "method"
		}
	}
	return false
}

// After returns the events of a stream after an index. It fails if one of them is gone; the stream that belongs to no
// call then has those that are left, as its events only say that a list has changed. A client that has all of a stream
// is answered with status 204, which ends it: the TypeScript SDK 1 takes an answer that is an error for none, and would
// ask again each second.
func (e *identityEvents) After(ctx context.Context, session, id string, index int) iter.Seq2[[]byte, error] {
	rest, answered, ok := e.rest(session, id, index)
	if !ok {
		return func(yield func([]byte, error) bool) { yield(nil, errEventsGone) }
	}
	switch w, _ := ctx.Value(writerKey{}).(*streamWriter); {
	case w == nil || id == "":
	case answered && len(rest) == 0:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.resume()
	}
	return func(yield func([]byte, error) bool) {
		for _, data := range rest {
			if !yield(data, nil) {
				return
			}
		}
	}
}

func (e *identityEvents) rest(session, id string, index int) (rest [][]byte, answered, ok bool) {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	s := e.streams[streamKey{session, id}]
	if s == nil || index >= s.first+len(s.data) {
		return nil, false, false
	}
	if id == "" && (index < 0 || index+1 < s.first) {
		e.renumber(s, index)
	}
	if index+1 < s.first {
		return nil, false, false
	}
	return slices.Clone(s.data[index+1-s.first:]), s.answered, true
}

// renumber makes what is left of a stream follow an index, which the client that reads it now counts on from. What it
// says twice it says once.
func (e *identityEvents) renumber(s *storedStream, index int) {
	var left [][]byte
	for i, data := range s.data {
		if !slices.ContainsFunc(s.data[i+1:], func(later []byte) bool { return bytes.Equal(later, data) }) {
			left = append(left, data)
		}
	}
	e.forgetEvents(func(of *storedStream) bool { return of == s })
	s.first, s.data = index+1, left
	for _, data := range left {
		size := len(data) + eventCost
		e.inOrder = append(e.inOrder, storedEvent{s, size})
		e.bytes += size
		e.store.bytes += size
	}
}

// SessionClosed forgets the streams of a session.
func (e *identityEvents) SessionClosed(_ context.Context, session string) error {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	e.forgetEvents(func(s *storedStream) bool { return s.key.session == session })
	maps.DeleteFunc(e.streams, func(key streamKey, _ *storedStream) bool { return key.session == session })
	e.calls = slices.DeleteFunc(e.calls, func(key streamKey) bool { return key.session == session })
	return nil
}

func (e *identityEvents) forgetEvents(which func(*storedStream) bool) {
	e.inOrder = slices.DeleteFunc(e.inOrder, func(event storedEvent) bool {
		if !which(event.stream) {
			return false
		}
		e.bytes -= event.size
		e.store.bytes -= event.size
		return true
	})
}
