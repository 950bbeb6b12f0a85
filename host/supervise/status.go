package supervise

import "time"

// State says where a plugin is in its life.
type State string

// The states. A plugin begins as known; a call or Eager starts it.
const (
	Known       State = "known"       // never started
	Starting    State = "starting"    // its process runs and has not described itself yet
	Ready       State = "ready"       // takes calls
	Crashed     State = "crashed"     // died; the next call starts it
	Backoff     State = "backoff"     // died again; calls fail at once until the time has come
	Quarantined State = "quarantined" // died too often; left alone for five minutes, then tried once
	Invalid     State = "invalid"     // cannot work: wrong checksum, refused configuration; never started again
	Draining    State = "draining"    // being ended
	Stopped     State = "stopped"     // ended for good
)

// Status is a snapshot of one plugin.
type Status struct {
	Name       string    `json:"name"`
	State      State     `json:"state"`
	PID        int       `json:"pid,omitempty"`
	Generation int       `json:"generation"`
	Restarts   int       `json:"restarts"`
	Version    string    `json:"version,omitempty"`
	Tools      int       `json:"tools"`
	LastError  string    `json:"last_error,omitempty"`
	RetryAt    time.Time `json:"retry_at,omitzero"`
	Notices    []string  `json:"notices,omitempty"`
	Source     string    `json:"source,omitempty"`
}

// publish makes the state known to those who ask.
func (o *owner) publish() {
	s := &Status{Name: o.p.spec.Name, State: o.state, Generation: o.number, Restarts: max(0, o.number-1), Source: o.p.spec.Source}
	if o.current != nil {
		s.PID = o.current.pid()
	}
	if o.last != nil {
		s.LastError = o.last.Error()
	}
	if o.state == Backoff || o.state == Quarantined {
		s.RetryAt = o.retryAt
	}
	before := o.p.status.Swap(s)
	if o.p.onState != nil && (before == nil || before.State != s.State || before.Generation != s.Generation) {
		o.p.onState(*s)
	}
}
