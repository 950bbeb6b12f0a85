package supervise

import (
	"context"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/callback"
	"github.com/toolhost/toolhost/sdk"
)

// Status is a snapshot of one plugin.
type Status struct {
	Name string `json:"name"`
	// State is the plugin's state, Since when it began, and Reason why, as text.
	State  State     `json:"state"`
	Since  time.Time `json:"since,omitzero"`
	Reason string    `json:"reason,omitempty"`
	PID    int       `json:"pid,omitempty"`
	// Standby is the process id of the standby, 0 without one.
	Standby int `json:"standby,omitempty"`
	// Containment says what ends together with the process, see proctree.Cmd.Containment.
	Containment string `json:"containment,omitempty"`
	Generation  int    `json:"generation"` // number of the start that serves, or of the last one
	Restarts    int    `json:"restarts"`   // starts after the first, not counting reloads
	Starts      int    `json:"starts"`     // of processes, also those that failed, reloads and standbys
	// TotalCrashes are all crashes and failed starts since the plugin was added, Quarantines how often it was quarantined.
	TotalCrashes int `json:"total_crashes,omitempty"`
	Quarantines  int `json:"quarantines,omitempty"`
	// CacheHits are the lists of tools that Options.CacheDir had, CacheMisses those for which the plugin was started.
	CacheHits   int `json:"cache_hits,omitempty"`
	CacheMisses int `json:"cache_misses,omitempty"`
	// Crashes within Restart.Window; more than Restart.MaxCrashes quarantine the plugin; see crashHistory.count.
	Crashes  int    `json:"crashes,omitempty"`
	Calls    int    `json:"calls,omitempty"`    // in flight
	Draining int    `json:"draining,omitempty"` // replaced processes whose calls still run
	Overdue  int    `json:"overdue,omitempty"`  // calls that still run 10 seconds after they were canceled or timed out
	Version  string `json:"version,omitempty"`
	Tools    int    `json:"tools"`
	Dynamic  bool   `json:"dynamic,omitempty"` // it may change its tools while it runs
	// LastError is how the last process ended, or why the last start or reload failed.
	LastError string `json:"last_error,omitempty"`
	// Stderr has the last five lines that the plugin printed, each cut at 300 bytes.
	Stderr  []string     `json:"stderr,omitempty"`
	RetryAt time.Time    `json:"retry_at,omitzero"`
	Notices []sdk.Notice `json:"notices,omitempty"`
	Source  string       `json:"source,omitempty"`
	// Sandbox is the sandbox of the running process, nil when none runs.
	Sandbox *sandbox.Confinement `json:"sandbox,omitempty"`
}

const statusLines = 5 // how many lines Status.Stderr has

// A storedStatus is a status without the parts that change from moment to moment, and the sources of those.
type storedStatus struct {
	Status
	running *generation // or nil
	crashes crashHistory
	readyAt time.Time
	ran     binaries.Identity
}

// Status returns a snapshot of the plugin.
func (p *Process) Status() Status {
	now := p.status.Load()
	s := now.Status
	s.Calls, s.Crashes = int(p.calls.Load()), now.crashes.count(time.Now(), now.readyAt)
	s.CacheHits, s.CacheMisses = int(p.cacheHits.Load()), int(p.cacheMisses.Load())
	if now.running != nil {
		s.Stderr, s.Overdue = now.running.child.tail.last(statusLines), now.running.abandoned.overdueCount()
	}
	if d := p.description.Load(); d != nil {
		s.Version, s.Tools, s.Dynamic, s.Notices = d.Version, len(d.Tools), d.Dynamic, d.Notices
	}
	return s
}

// storeStatus makes the state visible to Process.Status.
func (m *stateMachine) storeStatus() Status {
	s := Status{Name: m.p.name, State: m.state, Since: m.since, Reason: m.reason, Generation: m.generation,
		Restarts: m.restarts, Starts: m.newest, TotalCrashes: m.totalCrashes, Quarantines: m.quarantines,
		Draining: len(m.draining), Source: m.p.spec.Load().Source, Stderr: m.stderr}
	if g := m.current; g != nil {
		s.PID, s.Containment, s.Sandbox = g.child.pid, g.child.containment, g.confinement
	}
	if g := m.standby.g; g != nil {
		s.Standby = g.child.pid
	}
	if m.lastError != nil {
		s.LastError = m.lastError.Error()
	}
	if m.state == Backoff || m.state == Quarantined {
		s.RetryAt = m.retryAt
	}
	m.p.status.Store(&storedStatus{s, m.current, m.crashes, m.readyAt, m.ran})
	return s
}

// publish is storeStatus that also reports a change to OnState and Events.
func (m *stateMachine) publish() {
	s := m.storeStatus()
	if m.p.onState != nil && (s.State != m.published.State || s.Generation != m.published.Generation) {
		m.p.onState(m.p.Status())
	}
	m.published = s
}

// An Event is a change of a plugin's state, or to another generation of one that stays ready.
type Event struct {
	Time   time.Time `json:"time"`
	Plugin string    `json:"plugin"`
	// From is "" for a plugin that has just been added.
	From       State  `json:"from"`
	To         State  `json:"to"`
	Generation int    `json:"generation"`
	Reason     string `json:"reason"`
	Error      string `json:"error,omitempty"`
	// Stderr has the last lines that the plugin printed, as in Status.
	Stderr  []string  `json:"stderr,omitempty"`
	RetryAt time.Time `json:"retry_at,omitzero"`
	// Lost is how many older events were dropped since the previous event because the reader was slow.
	Lost int `json:"lost,omitempty"`
}

const maxEvents = 256 // how many events wait for a slow reader

// Events reports changes of plugins from now on, in order for each plugin. Up to 256 events wait for the reader; then
// the oldest are dropped, and the next event counts them. The channel closes when ctx ends or the supervisor has
// closed, after the last event.
func (s *Supervisor) Events(ctx context.Context) <-chan Event { return s.events.subscribe(ctx) }

// reporter returns the OnState of one plugin, whose changes arrive in order.
func (s *Supervisor) reporter() func(Status) {
	var from State
	return func(now Status) {
		if s.options.OnState != nil {
			callback.Run(s.log, "supervise.Options.OnState", func() { s.options.OnState(now) })
		}
		s.events.publish(Event{Time: now.Since, Plugin: now.Name, From: from, To: now.State, Generation: now.Generation,
			Reason: now.Reason, Error: now.LastError, Stderr: now.Stderr, RetryAt: now.RetryAt})
		from = now.State
	}
}

// events has the subscribers. The zero value is ready for use.
type events struct {
	mu          sync.Mutex
	closed      bool
	subscribers map[*subscriber]struct{}
}

// A subscriber is a channel that the publisher may also receive from, to make room.
type subscriber struct {
	events  chan Event
	dropped int
	stop    func() bool // ends the watch of the subscriber's context
}

func (e *events) subscribe(ctx context.Context) <-chan Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := &subscriber{events: make(chan Event, maxEvents)}
	if e.closed || ctx.Err() != nil {
		close(s.events)
		return s.events
	}
	if e.subscribers == nil {
		e.subscribers = map[*subscriber]struct{}{}
	}
	e.subscribers[s] = struct{}{}
	s.stop = context.AfterFunc(ctx, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if _, there := e.subscribers[s]; there {
			delete(e.subscribers, s)
			close(s.events)
		}
	})
	return s.events
}

// publish never waits.
func (e *events) publish(one Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for s := range e.subscribers {
		s.send(one)
	}
}

func (s *subscriber) send(one Event) {
	for {
		one.Lost = s.dropped
		select {
		case s.events <- one:
			s.dropped = 0
			return
		default:
		}
		select {
		case oldest := <-s.events:
			s.dropped += 1 + oldest.Lost
		default: // the reader was faster
		}
	}
}

func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for s := range e.subscribers {
		s.stop()
		close(s.events)
	}
	e.subscribers = nil
}
