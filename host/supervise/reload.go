package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/sdk"
)

const maxDraining = 8 // how many replaced processes one plugin may have, beside the one that takes calls

// Reload replaces the plugins by those of the specs: it adds new ones, removes those without a spec when their calls
// have ended, and reloads, in parallel, those whose spec or program has changed. It does not touch the others. A
// plugin that fails is left unchanged, affects no other, and has a *[ReloadError].
// A program has changed when the file of its command has another path, size or time; what it loads does not count.
func (s *Supervisor) Reload(ctx context.Context, specs []Spec) []error {
	select {
	case s.reloading <- struct{}{}:
		defer func() { <-s.reloading }()
	case <-ctx.Done():
		return []error{context.Cause(ctx)}
	}
	known, err := s.removeOthers(specs)
	if err != nil {
		return []error{err}
	}
	problems := make([]error, len(specs))
	var wg sync.WaitGroup
	for i, spec := range specs {
		if slices.ContainsFunc(specs[:i], func(o Spec) bool { return o.Name == spec.Name }) {
			problems[i] = fmt.Errorf("plugin %q is defined twice; skipped: %s", spec.Name, cmp.Or(spec.Source, "the second"))
			continue
		}
		wg.Go(func() {
			p := known[spec.Name]
			if p == nil {
				_, problems[i] = s.Add(spec)
			} else if problems[i] = spec.Check(); problems[i] == nil {
				problems[i] = p.reloadIfChanged(ctx, spec)
			}
			if problems[i] != nil {
				problems[i] = &ReloadError{spec.Name, problems[i]}
			}
		})
	}
	wg.Wait()
	return slices.DeleteFunc(problems, func(e error) bool { return e == nil })
}

// A ReloadError says why one plugin was not reloaded.
type ReloadError struct {
	Plugin string
	Err    error
}

func (e *ReloadError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ReloadError) Unwrap() error { return e.Err }

// removeOthers removes the plugins without a spec, whose running calls continue, and returns the others by name.
func (s *Supervisor) removeOthers(specs []Spec) (map[string]*Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the supervisor is closed")
	}
	known := map[string]*Process{}
	s.processes = slices.DeleteFunc(s.processes, func(p *Process) bool {
		named := slices.ContainsFunc(specs, func(spec Spec) bool { return spec.Name == p.name })
		if named && !isClosed(p.closing) {
			known[p.name] = p
			return false
		}
		s.removing[p] = struct{}{}
		p.leaveOnce.Do(func() { close(p.removed) })
		go func() {
			<-p.done
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.removing, p)
		}()
		return true
	})
	return known, nil
}

// reloadIfChanged reloads the plugin if its process would differ, and otherwise updates the settings of its
// supervision.
func (p *Process) reloadIfChanged(ctx context.Context, spec Spec) error {
	spec = spec.complete(p.workdir)
	now, known := p.status.Load(), *p.spec.Load()
	program, ok := p.identifyProgram(ctx, spec)
	r, describedBy := reload{ctx: ctx, spec: spec, program: program}, p.describedProgram(now.ran)
	switch {
	case !ok:
		return p.reloadNotBegun(ctx)
	case !sameProcess(known, spec), describedBy.Known() && describedBy != program:
		return p.verifyAndReload(r)
	case now.State != Starting && now.LastError == "" && reflect.DeepEqual(known, spec):
		return nil
	}
	return p.requestReload(r)
}

// Reload starts a new generation of the plugin from the spec beside the running one. Once it is ready, it takes all
// new calls, and the old one ends after its calls (see Spec.DrainTimeout). If it fails, or ctx ends first, the old
// one stays, and the error says why. A plugin that is not running gets the spec, and its crashes are reset.
// Reloads of one plugin wait for each other, and for a running start. The spec must have the plugin's name.
func (p *Process) Reload(ctx context.Context, spec Spec) error {
	if err := spec.Check(); err != nil {
		return err
	}
	if spec.Name != p.name {
		return fmt.Errorf("plugin %q cannot be reloaded as %q: a plugin keeps its name", p.name, spec.Name)
	}
	spec = spec.complete(p.workdir)
	program, ok := p.identifyProgram(ctx, spec)
	if !ok {
		return p.reloadNotBegun(ctx)
	}
	return p.verifyAndReload(reload{ctx: ctx, spec: spec, program: program, forced: true})
}

// A reload is a request to the state machine to change to a spec.
type reload struct {
	ctx     context.Context
	spec    Spec
	program binaries.Identity // the spec's program
	forced  bool              // starts a new generation even if nothing has changed
	problem error             // of Spec.Verify
	stuck   *generation       // that it replaces; no one asked for it. Nil for a reload that was asked for
	reply   chan<- error
}

// stuckGeneration is the one that a start replaces because it is stuck, or nil. R may be nil.
func (r *reload) stuckGeneration() *generation {
	if r == nil {
		return nil
	}
	return r.stuck
}

func (p *Process) verifyAndReload(r reload) error {
	problem, ok := runDetached(r.ctx, p, p.verifying, r.spec.Verify)
	if !ok {
		return p.reloadNotBegun(r.ctx)
	}
	r.problem = problem
	return p.requestReload(r)
}

// requestReload returns soon after r's context ends.
func (p *Process) requestReload(r reload) error {
	if !deliver(r.ctx, p, p.reloading, struct{}{}) {
		return p.reloadNotBegun(r.ctx)
	}
	defer func() { <-p.reloading }()
	reply := make(chan error, 1)
	r.reply = reply
	if !deliver(r.ctx, p, p.reloads, r) {
		return p.reloadNotBegun(r.ctx)
	}
	return <-reply
}

func (p *Process) reloadNotBegun(ctx context.Context) error {
	if ctx.Err() != nil {
		return p.reloadError(context.Cause(ctx))
	}
	return p.closedError()
}

func (p *Process) reloadError(why error) *sdk.Error {
	return &sdk.Error{Code: sdk.CodePluginUnavailable, Name: "NotReloaded",
		Message: fmt.Sprintf("plugin %q was not reloaded and is unchanged: %v", p.name, why),
		Details: sdk.Details(map[string]any{"plugin": p.name})}
}

// reload handles a request; no start is under way.
func (m *stateMachine) reload(r reload) {
	if isClosed(m.currentEnded()) {
		m.processDied()
	}
	switch {
	case r.ctx.Err() != nil:
		m.reloadFailed(&r, context.Cause(r.ctx))
	case !r.forced && m.sameTools(r):
		m.adoptSettings(r.spec)
		m.publish()
		r.reply <- nil
	case r.problem != nil:
		m.reloadFailed(&r, r.problem)
	case m.current == nil:
		m.replaceSpec(r)
		m.publish()
		r.reply <- nil
	case len(m.draining) >= maxDraining:
		m.reloadFailed(&r, fmt.Errorf("%d processes of earlier reloads still have calls; try again when some have ended",
			len(m.draining)))
	default:
		m.begin("", r.spec, &r)
	}
}

// sameTools reports whether the known tools of the plugin are valid for the spec and the program of a reload.
func (m *stateMachine) sameTools(r reload) bool {
	by := m.p.describedProgram(m.ran)
	return (!by.Known() || by == r.program) && sameProcess(*m.p.spec.Load(), r.spec)
}

// adoptSettings updates how the plugin is supervised; its process stays.
func (m *stateMachine) adoptSettings(spec Spec) {
	m.p.spec.Store(&spec)
	m.crashes.limits = spec.Restart
	if m.current != nil {
		m.lastError = nil // of a reload to a spec that is no longer wanted
		return
	}
	m.restartAt = nil
	m.scheduleEager()
}

// replaceSpec gives a plugin that is not running another spec, or another program, whose tools are unknown.
func (m *stateMachine) replaceSpec(r reload) {
	same := m.sameTools(r)
	m.p.spec.Store(&r.spec)
	m.lastError, m.stderr = nil, nil
	m.resetCrashes("it was reloaded while it did not run")
	if !same {
		m.ran = binaries.Identity{}
		m.p.forgetDescription()
	}
}

// reloadFailed changes nothing, and counts no crash.
func (m *stateMachine) reloadFailed(r *reload, err error) {
	m.lastError = fmt.Errorf("not reloaded: %w", err)
	m.log(slog.LevelWarn, "plugin was not reloaded", "error", err)
	if m.current == nil { // it died meanwhile, and calls may wait
		refused := m.mayStart()
		switch {
		case refused != nil:
			m.answerWaiters(startResult{err: refused})
			m.scheduleEager()
		case len(m.waiters) > 0:
			m.begin("a call needs it", *m.p.spec.Load(), nil)
		default:
			m.scheduleEager()
		}
	}
	m.publish()
	r.reply <- m.p.reloadError(err)
}

// sameProcess reports whether a process of spec a serves for b: they differ only in how it is supervised.
func sameProcess(a, b Spec) bool {
	return reflect.DeepEqual(a.processSettings(), b.processSettings())
}

func (s Spec) processSettings() Spec {
	s.Source, s.Eager, s.Standby, s.StartTimeout, s.DrainTimeout, s.Restart, s.Idempotent = "", false, false, 0, 0,
		Restart{}, nil
	s.Lock.Source, s.Lock.Advice = "", ""
	s.References = References{}
	if len(s.Env) == 0 {
		s.Env = nil
	}
	if len(s.Config) == 0 {
		s.Config = nil
	}
	return s
}
