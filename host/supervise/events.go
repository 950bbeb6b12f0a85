package supervise

import (
	"context"
	"sync"
	"time"
)

// An Event is one change of a plugin's state, or the change to another generation of one that stays ready.
type Event struct {
	Time   time.Time `json:"time"`
	Plugin string    `json:"plugin"`
	// From is "" for a plugin that has just been added.
	From       State  `json:"from"`
	To         State  `json:"to"`
	Generation int    `json:"generation"`
	Reason     string `json:"reason"`
	Error      string `json:"error,omitempty"`
	// Stderr are the last few lines that the plugin has printed, as in Status.
	Stderr  []string  `json:"stderr,omitempty"`
	RetryAt time.Time `json:"retry_at,omitzero"`
	// Lost is how many older events the reader was too slow for, besides those that an earlier event has told of.
	Lost int `json:"lost,omitempty"`
}

// maxEvents is how many events wait for a slow reader.
const maxEvents = 256

// Events tells what happens to plugins from now on, those of each plugin in order. Up to 256 events wait for the reader;
// after that the oldest are dropped, and the next that comes says how many. The channel closes when ctx ends or the
// supervisor has closed, after the last event.
func (s *Supervisor) Events(ctx context.Context) <-chan Event { return s.events.subscribe(ctx) }

// teller tells of one plugin's changes, which come one after the other.
func (s *Supervisor) teller() func(Status) {
	var from State
	return func(now Status) {
		if s.onState != nil {
			s.onState(now)
		}
		s.events.tell(Event{Time: now.Since, Plugin: now.Name, From: from, To: now.State, Generation: now.Generation,
			Reason: now.Reason, Error: now.LastError, Stderr: now.Stderr, RetryAt: now.RetryAt})
		from = now.State
	}
}

// events holds those who listen. The zero value is ready for use.
type events struct {
	mu        sync.Mutex
	closed    bool
	listeners map[*listener]struct{}
}

// A listener is a channel that the teller may also take from, to make room.
type listener struct {
	events chan Event
	lost   int
	stop   func() bool // watching the listener's context
}

func (e *events) subscribe(ctx context.Context) <-chan Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := &listener{events: make(chan Event, maxEvents)}
	if e.closed || ctx.Err() != nil {
		close(l.events)
		return l.events
	}
	if e.listeners == nil {
		e.listeners = map[*listener]struct{}{}
	}
	e.listeners[l] = struct{}{}
	l.stop = context.AfterFunc(ctx, func() { e.drop(l) })
	return l.events
}

func (e *events) drop(l *listener) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, there := e.listeners[l]; there {
		delete(e.listeners, l)
		close(l.events)
	}
}

func (e *events) tell(one Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for l := range e.listeners {
		l.tell(one)
	}
}

// tell never waits. Only one teller is at it at a time.
func (l *listener) tell(one Event) {
	for {
		one.Lost = l.lost
		select {
		case l.events <- one:
			l.lost = 0
			return
		default:
		}
		select {
		case oldest := <-l.events:
			l.lost += 1 + oldest.Lost
		default: // the reader was faster
		}
	}
}

func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for l := range e.listeners {
		l.stop()
		close(l.events)
	}
	e.listeners = nil
}
