package supervise

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
)

// A starter brings up one generation of a plugin. It returns when the plugin is ready or has failed, in the time that
// the spec allows, and leaves no process behind when it fails.
type starter func(ctx context.Context, spec Spec, number int) (*generation, error)

// An owner is the one goroutine that holds a plugin's state; everybody else sends it events. Between events nothing
// changes.
type owner struct {
	p         *Process
	start     starter
	state     State
	since     time.Time
	reason    string
	number    int         // of the newest start
	told      int         // the generation that the state is about
	restarts  int         // starts after the first, without reloads
	current   *generation // takes calls, or nil
	attempt   *attempt    // the one start under way, or nil
	waiters   []chan<- answer
	history   history
	retryAt   time.Time
	replaceAt <-chan time.Time // when a generation that is stuck is replaced; nil is never
	alarm     <-chan time.Time // when an eager plugin is started without a call; nil is never
	readyAt   time.Time
	ran       binaries.Identity // the program of the newest start
	last      error             // of the newest start or life
	stderr    []string          // of the last process, when none runs
	draining  []*generation
	drained   chan *generation
	shown     Status         // when others were told last
	drains    sync.WaitGroup // what ends generations in the background
}

// A want asks the owner for a running generation, and tells what the program is now, if that matters.
type want struct {
	reply   chan<- answer
	program binaries.Identity
}

// An answer is a generation, or why there is none: to a want, and of a start.
type answer struct {
	g   *generation
	err error
}

// An attempt is a start under way.
type attempt struct {
	spec    Spec
	abort   context.CancelFunc
	program binaries.Identity // set when it has ended
	ended   chan answer
	reload  *reload // that asked for it, beside the generation that runs; or nil
}

func (o *owner) run() {
	defer close(o.p.done)
	for {
		o.publish()
		select {
		case w := <-o.p.wants:
			o.want(w)
		case a := <-o.attemptEnded():
			o.startEnded(a)
		case <-o.exited():
			o.died()
		case r := <-o.reloads():
			o.reload(r)
		case g := <-o.drained:
			o.forgetDrained(g)
		case <-o.alarm:
			o.wake()
		case s := <-o.p.stuck:
			o.stuck(s)
		case <-o.replaceAt:
			o.replace()
		case taken := <-o.p.resets:
			o.reset(taken)
		case <-o.p.leaving:
			o.close("it is no longer among the plugins")
			return
		case <-o.p.closing:
			o.close("the host closes it")
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

func (o *owner) attemptEnded() <-chan answer {
	if o.attempt == nil {
		return nil
	}
	return o.attempt.ended
}

func (o *owner) want(w want) {
	if isClosed(o.exited()) {
		o.died()
	}
	if w.program.Known() && o.ran.Known() && w.program != o.ran {
		o.forgive("its program has changed")
	}
	switch {
	case o.current != nil:
		w.reply <- answer{g: o.current}
		return
	case o.attempt == nil:
		if err := o.mayStart(); err != nil {
			w.reply <- answer{err: err}
			return
		}
		o.begin("a call needs it", *o.p.spec.Load(), nil)
	}
	o.waiters = append(o.waiters, w.reply)
}

// begin starts a generation. At most one start is under way.
func (o *owner) begin(why string, spec Spec, r *reload) {
	o.number++
	o.alarm = nil
	parent := context.Background()
	if r != nil {
		parent = r.ctx
	} else {
		o.to(Starting, why)
		o.told = o.number
		o.restarts += min(o.number-1, 1)
	}
	ctx, abort := context.WithCancel(parent)
	a := &attempt{spec: spec, abort: abort, ended: make(chan answer, 1), reload: r}
	o.attempt = a
	go func(number int) {
		defer abort()
		a.ended <- o.try(ctx, a, number)
	}(o.number)
}

// try looks at the program before it starts it: one that changes in between is tried once more.
func (o *owner) try(ctx context.Context, a *attempt, number int) answer {
	program, err := o.p.lookToStart(ctx, a.spec)
	if err != nil {
		return answer{err: err}
	}
	a.program = program
	g, err := o.start(ctx, a.spec, number)
	return answer{g, err}
}

func (o *owner) startEnded(ended answer) {
	a := o.attempt
	o.attempt = nil
	switch {
	case ended.err == nil:
		o.ready(a, ended.g)
	case a.reload != nil && a.reload.stuck && o.current != nil:
		o.markStuck(fmt.Errorf("%s, and another process could not be started: %w", o.current.left.words(), ended.err))
		return
	case a.reload != nil && !a.reload.stuck:
		o.reloadFailed(a.reload, ended.err)
		return
	default:
		o.ran = a.program
		o.failed(ended.err)
	}
	o.publish() // before those who waited can look
	o.answerAll(answer{ended.g, startError(o, ended.err)})
	if a.reload != nil {
		a.reload.reply <- nil
	}
}

// ready makes a generation the one that takes calls.
func (o *owner) ready(a *attempt, g *generation) {
	old, why := o.current, "it has started and described itself"
	switch {
	case a.reload != nil && a.reload.stuck:
		why = "it was restarted"
		if old != nil {
			why += ", since " + old.left.words()
		}
		o.restarts++
	case a.reload != nil:
		why = "it was reloaded"
		o.p.spec.Store(&a.spec)
		o.history = history{limits: a.spec.Restart}
	}
	o.current, o.told, o.readyAt, o.last, o.stderr, o.ran = g, g.number, time.Now(), nil, nil, a.program
	o.replaceAt = nil
	o.to(Ready, why)
	g.visits.heard()
	o.p.describe(g.number, g.description())
	g.watch(o.p.describe)
	o.p.log.Info("plugin is ready", "generation", g.number, "pid", g.pid())
	if old != nil {
		o.drain(old)
	}
}

func (o *owner) answerAll(a answer) {
	for _, w := range o.waiters {
		w <- a
	}
	o.waiters = nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
