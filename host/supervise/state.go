package supervise

import (
	"context"
	"errors"
	"time"
)

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
	started chan answer // how the start under way ended
}

// A want asks the owner for a running generation.
type want struct{ reply chan<- answer }

// An answer is a generation, or why there is none: to a want, and of a start.
type answer struct {
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
		o.started <- answer{g, err}
	}()
}

func (o *owner) startEnded(s answer) {
	if s.err != nil {
		o.failed(s.err)
	} else {
		o.current, o.state, o.readyAt, o.last = s.g, Ready, time.Now(), nil
		o.p.describe(s.g.number, s.g.description())
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
	if o.current != nil && o.current.stop() {
		o.current.release()
	}
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
