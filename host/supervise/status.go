package supervise

import (
	"context"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// State says where a plugin is in its life.
type State string

// The states. A plugin begins as known; a call or Eager starts it.
const (
	Known       State = "known"       // the next call starts it as if for the first time
	Starting    State = "starting"    // its process runs and has not described itself yet
	Ready       State = "ready"       // takes calls
	Stuck       State = "stuck"       // takes calls until another process replaces this one: too many of its handlers ignore cancellation
	Crashed     State = "crashed"     // died; the next call starts it
	Backoff     State = "backoff"     // died again; calls fail at once until the time has come
	Quarantined State = "quarantined" // died too often; left alone for five minutes, then tried once
	Invalid     State = "invalid"     // cannot work: wrong checksum, refused configuration; see Process.Reset
	Draining    State = "draining"    // takes no more calls, and ends when those that run have ended
	Stopped     State = "stopped"     // ended for good
)

// Status is a snapshot of one plugin.
type Status struct {
	Name string `json:"name"`
	// State is where the plugin is, Since when, and Reason why, in words.
	State  State     `json:"state"`
	Since  time.Time `json:"since,omitzero"`
	Reason string    `json:"reason,omitempty"`
	PID    int       `json:"pid,omitempty"`
	// Containment says what ends along with the process that runs, see proctree.Cmd.Containment.
	Containment string `json:"containment,omitempty"`
	Generation  int    `json:"generation"` // the number of the start that serves, or of the last one
	Restarts    int    `json:"restarts"`   // starts after the first, without reloads
	Crashes     int    `json:"crashes,omitempty"`
	Calls       int    `json:"calls,omitempty"`    // that run now
	Draining    int    `json:"draining,omitempty"` // processes of earlier generations that end when their calls have
	Overdue     int    `json:"overdue,omitempty"`  // calls that were canceled or timed out, and still run in the plugin 10 seconds later
	Version     string `json:"version,omitempty"`
	Tools       int    `json:"tools"`
	Dynamic     bool   `json:"dynamic,omitempty"` // it may change its tools while it runs
	// LastError is how the last process ended, or why the last start or reload failed.
	LastError string `json:"last_error,omitempty"`
	// Stderr are the last few lines that the plugin printed, each cut at 300 bytes.
	Stderr  []string  `json:"stderr,omitempty"`
	RetryAt time.Time `json:"retry_at,omitzero"`
	Notices []string  `json:"notices,omitempty"`
	Source  string    `json:"source,omitempty"`
	// Sandbox is what the running process is kept from; nil when none runs.
	Sandbox *sandbox.Confinement `json:"sandbox,omitempty"`
}

// statusLines is how many of the last lines a status tells.
const statusLines = 5

// A snapshot is a status without what changes from one moment to the next, and where that is found.
type snapshot struct {
	Status
	process *generation // that runs, or nil
	history history
	readyAt time.Time
	ran     binaries.Identity
}

// Status tells where the plugin is in its life.
func (p *Process) Status() Status {
	now := p.status.Load()
	s := now.Status
	s.Calls, s.Crashes = int(p.calls.Load()), now.history.count(time.Now(), now.readyAt)
	if now.process != nil {
		s.Stderr, s.Overdue = now.process.child.tail.last(statusLines), now.process.left.count()
	}
	if d := p.description.Load(); d != nil {
		s.Version, s.Tools, s.Dynamic, s.Notices = d.Version, len(d.Tools), d.Dynamic, d.Notices
	}
	return s
}

// to takes the plugin to another state.
func (o *owner) to(s State, reason string) { o.state, o.since, o.reason = s, time.Now(), reason }

// publish makes the state known to those who ask, and tells of a change.
func (o *owner) publish() {
	s := o.show()
	if o.p.onState != nil && (s.State != o.shown.State || s.Generation != o.shown.Generation) {
		o.p.onState(o.p.Status())
	}
	o.shown = s
}

// show makes the state known to those who ask.
func (o *owner) show() Status {
	s := Status{Name: o.p.name, State: o.state, Since: o.since, Reason: o.reason, Generation: o.told, Restarts: o.restarts,
		Draining: len(o.draining), Source: o.p.spec.Load().Source, Stderr: o.stderr}
	if o.current != nil {
		s.PID, s.Containment, s.Sandbox = o.current.pid(), o.current.containment(), o.current.confinement
	}
	if o.last != nil {
		s.LastError = o.last.Error()
	}
	if o.state == Backoff || o.state == Quarantined {
		s.RetryAt = o.retryAt
	}
	o.p.status.Store(&snapshot{s, o.current, o.history.clone(), o.readyAt, o.ran})
	return s
}

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
