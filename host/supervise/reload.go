package supervise

import (
	"cmp"
	"context"
	"fmt"
	"reflect"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/sdk"
)

// maxDraining bounds the processes that one plugin may have beside the one that takes calls.
const maxDraining = 8

// A reload asks the owner to go over to a spec.
type reload struct {
	ctx     context.Context
	spec    Spec
	program binaries.Identity // the spec's program
	forced  bool              // starts a new generation in any case, else only if something has changed
	problem error             // what is wrong with the spec's program, as far as can be seen without running it
	stuck   bool              // nobody asked for it: it replaces a generation that is stuck
	reply   chan<- error
}

// Reload starts a new generation of the plugin from the spec beside the one that runs. Once it is ready it takes all new
// calls, and the old one ends when its calls have (see Spec.DrainTimeout). When it does not come up, or ctx ends first, the
// old one goes on, and the error says why. A plugin that does not run only gets the spec, and has its crashes forgotten.
//
// Reloads of one plugin wait for each other, and for a start under way. The spec must have the plugin's name.
func (p *Process) Reload(ctx context.Context, spec Spec) error {
	if err := spec.Check(); err != nil {
		return err
	}
	if spec.Name != p.name {
		return fmt.Errorf("plugin %q cannot be reloaded as %q: its name stays", p.name, spec.Name)
	}
	spec = spec.complete(p.workdir)
	program, ok := p.look(ctx, spec)
	if !ok {
		return p.unasked(ctx)
	}
	return p.askVerified(reload{ctx: ctx, spec: spec, program: program, forced: true})
}

// askVerified is ask, once it is known whether the program will do.
func (p *Process) askVerified(r reload) error {
	problem, ok := aside(r.ctx, p, p.checks, func() error { return Verify(r.spec) })
	if !ok {
		return p.unasked(r.ctx)
	}
	r.problem = problem
	return p.ask(r)
}

// unasked is the error of a reload whose time was over, or whose plugin had ended, before it began.
func (p *Process) unasked(ctx context.Context) error {
	if ctx.Err() != nil {
		return p.notReloaded(context.Cause(ctx))
	}
	return closedError(p.name)
}

// ask has the owner reload. It returns soon after r's ctx ends.
func (p *Process) ask(r reload) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-r.ctx.Done():
		return p.notReloaded(context.Cause(r.ctx))
	case <-p.done:
		return closedError(p.name)
	}
	reply := make(chan error, 1)
	r.reply = reply
	select {
	case p.reloads <- r:
		return <-reply
	case <-r.ctx.Done():
		return p.notReloaded(context.Cause(r.ctx))
	case <-p.done:
		return closedError(p.name)
	}
}

func (p *Process) notReloaded(why error) *sdk.Error {
	return &sdk.Error{Code: sdk.CodePluginUnavailable, Name: "NotReloaded", Message: fmt.Sprintf("plugin %q was not reloaded and is left as it was: %v", p.name, why),
		Details: sdk.Details(map[string]any{"plugin": p.name})}
}

// complete fills in what the spec leaves open. It shares nothing with the given one.
func (s Spec) complete(workdir string) Spec {
	s = s.clone().withDefaults()
	s.Dir = cmp.Or(s.Dir, workdir)
	return s
}

// reloads are taken while no start is under way.
func (o *owner) reloads() <-chan reload {
	if o.attempt != nil {
		return nil
	}
	return o.p.reloads
}

func (o *owner) reload(r reload) {
	if isClosed(o.exited()) {
		o.died()
	}
	switch {
	case r.ctx.Err() != nil:
		o.reloadFailed(&r, context.Cause(r.ctx))
	case o.unchanged(r):
		o.care(r.spec)
		o.publish()
		r.reply <- nil
	case r.problem != nil:
		o.reloadFailed(&r, r.problem)
	case o.current == nil:
		o.respec(r)
		o.publish()
		r.reply <- nil
	case len(o.draining) >= maxDraining:
		o.reloadFailed(&r, fmt.Errorf("%d processes of earlier reloads still have calls; reload again when some have ended", len(o.draining)))
	default:
		o.begin("", r.spec, &r)
	}
}

func (o *owner) unchanged(r reload) bool {
	return !r.forced && o.describes(r)
}

// describes says whether what is known of the plugin's tools holds for another spec and its program.
func (o *owner) describes(r reload) bool {
	by := o.p.describedBy(o.ran)
	return (!by.Known() || by == r.program) && sameProcess(*o.p.spec.Load(), r.spec)
}

// care takes over how the plugin is to be looked after.
func (o *owner) care(spec Spec) {
	o.p.spec.Store(&spec)
	o.history.limits = spec.Restart
	if o.current != nil {
		o.last = nil // of a reload to what is wanted no longer
		return
	}
	o.alarm = nil
	o.arm()
}

// respec gives a plugin that does not run another spec, or another program. What its tools will be is not known then.
func (o *owner) respec(r reload) {
	same := o.describes(r)
	o.p.spec.Store(&r.spec)
	o.last, o.stderr = nil, nil
	o.forgive("it was reloaded while it did not run")
	if !same {
		o.ran = binaries.Identity{}
		o.p.undescribe()
	}
}

// reloadFailed leaves everything as it was. It is nobody's crash.
func (o *owner) reloadFailed(r *reload, err error) {
	o.last = fmt.Errorf("not reloaded: %w", err)
	o.p.log.Warn("plugin was not reloaded", "error", err)
	if o.current == nil { // it died meanwhile, and calls wait
		o.resume()
	}
	o.publish()
	r.reply <- o.p.notReloaded(err)
}

// resume does for those who waited for a reload in vain what a call does.
func (o *owner) resume() {
	err := o.mayStart()
	switch {
	case err != nil:
		o.answerAll(answer{err: err})
	case len(o.waiters) > 0:
		o.begin("calls need it", *o.p.spec.Load(), nil)
		return
	}
	o.arm()
}

// sameProcess says whether a process started from a is as good as one from b: they differ in nothing but how the process
// is looked after.
func sameProcess(a, b Spec) bool {
	return reflect.DeepEqual(a.bare(), b.bare())
}

func (s Spec) bare() Spec {
	s.Source, s.Eager, s.StartTimeout, s.DrainTimeout, s.Restart, s.Idempotent = "", false, 0, 0, Restart{}, nil
	s.Lock.Source, s.Lock.Advice = "", "" // words
	s.References = References{}
	if len(s.Env) == 0 {
		s.Env = nil
	}
	if len(s.Config) == 0 {
		s.Config = nil
	}
	return s
}
