package supervise

import (
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// An invalidError says that starting again cannot help.
type invalidError struct{ error }

// isInvalid says whether starting again cannot help: as with a program that others could change.
func isInvalid(err error) bool {
	_, invalid := errors.AsType[*invalidError](err)
	_, open := errors.AsType[*fsutil.OwnershipError](err)
	return invalid || open
}

// failed takes note of a start that came to nothing.
func (o *owner) failed(err error) {
	if e, ok := errors.AsType[*failedStart](err); ok {
		o.stderr = e.stderr
	}
	o.last, o.readyAt = err, time.Time{}
	if isInvalid(err) {
		o.to(Invalid, "it cannot work as it is; it is tried again when its program or its configuration has changed")
		o.p.log.Warn("plugin cannot be used", "error", err)
		return
	}
	o.crashed()
}

// died takes note of the current generation's end, which nobody asked for.
func (o *owner) died() {
	g := o.current
	o.last, o.stderr, o.current, o.replaceAt = errors.New(g.end()), g.child.tail.last(statusLines), nil, nil
	o.drains.Go(g.release)
	o.crashed()
	o.publish()
}

func (o *owner) crashed() {
	retryAt, quarantined := o.history.crash(time.Now(), o.readyAt)
	o.retryAt, o.readyAt = retryAt, time.Time{}
	switch n := len(o.history.crashes); {
	case quarantined:
		o.quarantine()
	case time.Until(retryAt) > 0:
		o.to(Backoff, fmt.Sprintf("it crashed %d times within %s", n, o.history.limits.Window))
	default:
		o.to(Crashed, "it crashed")
	}
	o.arm()
	o.p.log.Warn("plugin crashed", "generation", o.told, "state", string(o.state), "error", o.last)
}

func (o *owner) quarantine() {
	if n := len(o.history.crashes); n > o.history.limits.MaxCrashes {
		o.to(Quarantined, fmt.Sprintf("it crashed %d times within %s", n, o.history.limits.Window))
		return
	}
	o.to(Quarantined, "it crashed in the one try after its quarantine")
}

// arm has an eager plugin come back by itself, as soon as a call might start it.
func (o *owner) arm() {
	if o.p.spec.Load().Eager {
		o.alarm = time.After(time.Until(o.retryAt))
	}
}

func (o *owner) wake() {
	o.alarm = nil
	if o.current == nil && o.attempt == nil && o.mayStart() == nil {
		o.begin("it is eager", *o.p.spec.Load(), nil)
	}
}

// forgive has a plugin that is down started as if for the first time.
func (o *owner) forgive(why string) {
	o.history = history{limits: o.p.spec.Load().Restart}
	if o.current != nil || o.attempt != nil {
		return
	}
	o.retryAt = time.Time{}
	o.to(Known, why)
	o.arm()
}

func (o *owner) reset(taken chan<- struct{}) {
	o.forgive("it was reset")
	o.publish()
	close(taken)
}
