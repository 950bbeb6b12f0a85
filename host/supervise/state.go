package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

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

// A starter brings up one generation of a plugin. It returns when the plugin is ready or has failed, in the time that
// the spec allows, and leaves no process behind when it fails.
type starter func(ctx context.Context, spec Spec, number int) (*generation, error)

// An owner is the one goroutine that holds a plugin's state; everybody else sends it events. Between events nothing
// changes.
type owner struct {
	p       *Process
	start   starter
	state   State
	number  int         // of the newest start
	current *generation // while ready or draining
	waiters []chan<- answer
	history history
	retryAt time.Time
	readyAt time.Time
	last    error // of the newest start or life
	abort   context.CancelFunc
	started chan outcome
}

// A want asks the owner for a running generation.
type want struct{ reply chan<- answer }

type answer struct {
	g   *generation
	err error
}

// An outcome is how a start ended.
type outcome struct {
	g   *generation
	err error
}

func (o *owner) run(wants <-chan want, closing <-chan struct{}) {
	defer close(o.p.done)
	for {
		o.publish()
		select {
		case w := <-wants:
			o.want(w)
		case s := <-o.started:
			o.startEnded(s)
		case <-o.exited():
			o.died()
		case <-closing:
			o.close(wants)
			return
		}
	}
}

// exited is the end of the current generation; never, when there is none.
func (o *owner) exited() <-chan struct{} {
	if o.current == nil {
		return nil
	}
	return o.current.done()
}

func (o *owner) want(w want) {
	if isClosed(o.exited()) {
		o.died()
	}
	switch {
	case o.current != nil:
		w.reply <- answer{g: o.current}
		return
	case o.state != Starting:
		if err := o.mayStart(); err != nil {
			w.reply <- answer{err: err}
			return
		}
		o.begin()
	}
	o.waiters = append(o.waiters, w.reply)
}

// mayStart gives nil, or why the plugin is not started now.
func (o *owner) mayStart() error {
	wait := time.Until(o.retryAt)
	switch {
	case o.state == Invalid:
		return unavailable(o, "Invalid", 0, "plugin %q cannot be used: %v", o.p.spec.Name, o.last)
	case o.state == Quarantined && wait > 0:
		return unavailable(o, "Quarantined", wait, "plugin %q crashed %d times and is left alone for another %s; the last time: %v",
			o.p.spec.Name, len(o.history.crashes), rounded(wait), o.last)
	case o.state == Backoff && wait > 0:
		return unavailable(o, "Backoff", wait, "plugin %q crashed and is not started again for another %s; the last time: %v",
			o.p.spec.Name, rounded(wait), o.last)
	}
	return nil
}

func (o *owner) begin() {
	o.state = Starting
	o.number++
	ctx, abort := context.WithCancel(context.Background())
	o.abort = abort
	number := o.number
	go func() {
		defer abort()
		g, err := o.start(ctx, o.p.spec, number)
		o.started <- outcome{g, err}
	}()
}

func (o *owner) startEnded(s outcome) {
	if s.err != nil {
		o.failed(s.err)
	} else {
		o.current, o.state, o.readyAt, o.last = s.g, Ready, time.Now(), nil
		o.p.describe(s.g.description())
		s.g.watch(o.p.describe)
		o.p.log.Info("plugin is ready", "generation", s.g.number, "pid", s.g.pid())
	}
	o.publish() // before those who waited can look
	o.answerAll(answer{s.g, startError(o, s.err)})
}

func (o *owner) answerAll(a answer) {
	for _, w := range o.waiters {
		w <- a
	}
	o.waiters = nil
}

// failed takes note of a start that came to nothing.
func (o *owner) failed(err error) {
	if e, ok := errors.AsType[*invalidError](err); ok {
		o.state, o.last = Invalid, e
		o.p.log.Warn("plugin cannot be used", "error", err)
		return
	}
	o.last, o.readyAt = err, time.Time{}
	o.crashed()
}

// died takes note of a generation that ended by itself.
func (o *owner) died() {
	o.last = errors.New(o.current.end())
	o.current.release()
	o.current = nil
	o.crashed()
	o.publish()
}

func (o *owner) crashed() {
	retryAt, quarantined := o.history.crash(time.Now(), o.readyAt)
	o.retryAt = retryAt
	switch {
	case quarantined:
		o.state = Quarantined
	case time.Until(retryAt) > 0:
		o.state = Backoff
	default:
		o.state = Crashed
	}
	o.p.log.Warn("plugin crashed", "generation", o.number, "state", string(o.state), "error", o.last)
}

// close ends whatever runs, while it goes on answering those who ask.
func (o *owner) close(wants <-chan want) {
	o.state = Draining
	o.publish()
	ended := make(chan struct{})
	go func() { defer close(ended); o.end() }()
	for {
		select {
		case w := <-wants:
			w.reply <- answer{err: closedError(o.p.spec.Name)}
		case <-ended:
			o.state, o.current = Stopped, nil
			o.publish()
			return
		}
	}
}

// end stops the current generation, or the one that is starting.
func (o *owner) end() {
	if o.abort != nil {
		o.abort()
	}
	if len(o.waiters) > 0 {
		s := <-o.started
		o.current = s.g
		o.answerAll(answer{err: closedError(o.p.spec.Name)})
	}
	if o.current != nil {
		o.current.stop()
		o.current.release()
	}
}

func (o *owner) publish() {
	s := &Status{Name: o.p.spec.Name, State: o.state, Generation: o.number, Restarts: max(0, o.number-1), Source: o.p.spec.Source}
	if o.current != nil {
		s.PID = o.current.pid()
	}
	if d := o.p.description.Load(); d != nil {
		s.Version, s.Tools, s.Notices = d.Version, len(d.Tools), d.Notices
	}
	if o.last != nil {
		s.LastError = o.last.Error()
	}
	if o.state == Backoff || o.state == Quarantined {
		s.RetryAt = o.retryAt
	}
	o.p.status.Store(s)
}

func unavailable(o *owner, name string, wait time.Duration, format string, a ...any) *sdk.Error {
	e := &sdk.Error{Code: sdk.CodePluginUnavailable, Name: name, Message: fmt.Sprintf(format, a...), Retryable: wait > 0,
		Details: details(map[string]any{"plugin": o.p.spec.Name, "state": o.state})}
	if wait > 0 {
		e.Suggestion = fmt.Sprintf("Try again in %s.", rounded(wait))
		e.Details = details(map[string]any{"plugin": o.p.spec.Name, "state": o.state, "retry_after_ms": wait.Milliseconds()})
	}
	return e
}

// startError is what those hear who waited for a start that failed.
func startError(o *owner, err error) error {
	if err == nil {
		return nil
	}
	if _, invalid := errors.AsType[*invalidError](err); invalid {
		return unavailable(o, "Invalid", 0, "plugin %q cannot be used: %v", o.p.spec.Name, err)
	}
	e := unavailable(o, "StartFailed", 0, "plugin %q could not be started: %v", o.p.spec.Name, err)
	e.Retryable = true
	return e
}

func closedError(name string) *sdk.Error {
	return &sdk.Error{Code: sdk.CodePluginUnavailable, Name: "Closed", Message: fmt.Sprintf("plugin %q has been closed", name)}
}

func details(m map[string]any) json.RawMessage { return sdk.Details(m) }

// rounded shortens a wait for people, upwards so that it is never too short.
func rounded(d time.Duration) time.Duration {
	step := time.Millisecond
	if d > time.Second {
		step = time.Second
	}
	return (d + step - 1).Truncate(step)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// An invalidError says that starting again cannot help.
type invalidError struct{ error }
