package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
)

// Reload makes the plugins those of the specs: new ones are added, those that are gone end when their calls have, and those
// whose spec or program has changed are reloaded, side by side. All others run on untouched. What goes wrong with one plugin
// costs only that one: it stays as it was.
//
// Of a program the file of the command counts, by its place, size and times; what it loads by itself does not.
func (s *Supervisor) Reload(ctx context.Context, specs []Spec) []error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
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
			problems[i] = fmt.Errorf("plugin %q is there twice; %s is left out", spec.Name, cmp.Or(spec.Source, "the second"))
			continue
		}
		wg.Go(func() { problems[i] = s.reloadOne(ctx, known[spec.Name], spec) })
	}
	wg.Wait()
	return slices.DeleteFunc(problems, func(e error) bool { return e == nil })
}

func (s *Supervisor) reloadOne(ctx context.Context, p *Process, spec Spec) error {
	if p == nil {
		_, err := s.Add(spec)
		return err
	}
	if err := spec.Check(); err != nil {
		return err
	}
	return p.follow(ctx, spec)
}

// removeOthers has all plugins leave that no spec names, and gives the others by their names.
func (s *Supervisor) removeOthers(specs []Spec) (map[string]*Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("supervise: the supervisor is closed")
	}
	known := map[string]*Process{}
	s.processes = slices.DeleteFunc(s.processes, func(p *Process) bool {
		gone := !slices.ContainsFunc(specs, func(spec Spec) bool { return spec.Name == p.name })
		if gone || isClosed(p.closing) { // which whoever uses it has done
			s.remove(p)
			return true
		}
		known[p.name] = p
		return false
	})
	return known, nil
}

// remove lets the plugin's calls end, and then ends the plugin.
func (s *Supervisor) remove(p *Process) {
	s.leaving[p] = struct{}{}
	p.leaveOnce.Do(func() { close(p.leaving) })
	go func() {
		<-p.done
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.leaving, p)
	}()
}

// follow reloads the plugin if its process would be another, and else takes over what the spec says of looking after it.
func (p *Process) follow(ctx context.Context, spec Spec) error {
	spec = spec.complete(p.workdir)
	now, known := p.status.Load(), *p.spec.Load()
	program, ok := p.look(ctx, spec)
	r, by := reload{ctx: ctx, spec: spec, program: program}, p.describedBy(now.ran)
	switch {
	case !ok:
		return p.unasked(ctx)
	case !sameProcess(known, spec), by.Known() && by != program:
		return p.askVerified(r)
	case now.State != Starting && now.LastError == "" && reflect.DeepEqual(known, spec):
		return nil
	}
	return p.ask(r)
}
