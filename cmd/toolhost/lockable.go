package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/sdk"
)

// A lockable is a plugin, as it was locked and as it is.
type lockable struct {
	name        string
	spec        supervise.Spec
	old, now    *lockfile.Plugin           // nil: not locked; gone
	tools       map[string]json.RawMessage // what is said of them now, by their own names
	definitions map[string]json.RawMessage // the same, by hash
	path        string                     // of the program, absolute
	inPlace     bool                       // the checksum does not cover all that runs
	asked       bool                       // for its tools
	problem     error                      // why it cannot be looked at
}

func (p *lockable) differs() bool { return !p.old.Equal(p.now) }

// look finds out what the plugins are.
func (l *locker) look(ctx context.Context, named []string) error {
	if err := l.admit(ctx, l.config, nil); err != nil {
		return err
	}
	there := find(ctx, l.config)
	specs, problems := there.specs, there.problems
	for _, p := range problems {
		l.complain(p)
	}
	wanted, err := interesting(named, names(specs))
	if err != nil {
		return err
	}
	for _, spec := range specs {
		if slices.Contains(wanted, spec.Name) {
			l.plugins = append(l.plugins, l.lockable(spec))
		}
	}
	if l.all && len(problems) == 0 { // else it may only have been left out
		l.addGone(names(specs))
	}
	if err := l.agreeToStart(ctx); err != nil {
		return err
	}
	return l.ask(ctx)
}

// lockable is all that can be told without starting the plugin.
func (l *locker) lockable(spec supervise.Spec) *lockable {
	p := &lockable{name: spec.Name, spec: spec, old: l.config.Locked.Plugin(spec.Name)}
	program, err := supervise.Inspect(spec)
	if err != nil {
		p.problem = err
		return p
	}
	now := lockfile.New(spec, l.config.Dir)
	now.SHA256, p.path, p.inPlace = map[string]string{}, program.Path, program.InPlace
	if p.old != nil {
		maps.Copy(now.SHA256, p.old.SHA256)
		now.Version, now.Tools, now.Dynamic, now.Interpreters = p.old.Version, p.old.Tools, p.old.Dynamic, p.old.Interpreters
	}
	maps.Copy(now.SHA256, l.sums)
	now.SHA256[lockfile.Platform()] = program.SHA256
	now.SetInterpretersHere(program.Interpreters)
	p.now = &now
	// What is asked is what was hashed, and no other program.
	p.spec.Lock = supervise.Lock{SHA256: program.SHA256, Interpreters: now.InterpretersHere(), Source: "what was read a moment ago"}
	return p
}

func (l *locker) addGone(there []string) {
	if l.config.Locked == nil {
		return
	}
	for _, old := range l.config.Locked.Plugins {
		if !slices.Contains(there, old.Name) {
			l.plugins = append(l.plugins, &lockable{name: old.Name, old: &old})
		}
	}
}

// ask starts plugins for what they say of themselves.
func (l *locker) ask(ctx context.Context) error {
	there := &found{config: l.config}
	byName := map[string]*lockable{}
	for _, p := range l.plugins {
		if l.mayAsk(p) {
			there.specs = append(there.specs, p.spec)
			byName[p.name] = p
		}
	}
	if len(byName) == 0 {
		return nil
	}
	s, err := l.open(ctx, opening{lawless: true, found: there, refresh: true})
	if err != nil {
		return err
	}
	defer s.close(l.globals)
	var all sync.WaitGroup
	for _, process := range s.processes {
		all.Go(func() { byName[process.Name()].ask(ctx, process, l.config.FreeTools[process.Name()]) })
	}
	all.Wait()
	return nil
}

// ask has the plugin say what it is.
func (p *lockable) ask(ctx context.Context, process *supervise.Process, free bool) {
	defined, err := process.Tools(ctx)
	if err != nil {
		p.problem = err
		return
	}
	status := process.Status()
	p.asked, p.now.Version, p.now.Dynamic, p.now.Tools = true, plainWord(status.Version), status.Dynamic, nil
	if !free {
		p.take(defined)
	}
}

func (p *lockable) take(defined []sdk.Tool) {
	p.now.Tools, p.tools, p.definitions = map[string]string{}, map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for _, t := range defined {
		if err := t.Check(); err != nil { // nobody is offered it
			continue
		}
		if _, twice := p.tools[t.Name]; twice {
			p.problem = errors.Join(p.problem, errors.New("it declares the tool "+t.Name+" more than once"))
		}
		definition, hash := host.Definition(t)
		p.now.Tools[t.Name], p.tools[t.Name], p.definitions[hash] = hash, definition, definition
	}
}

// plainWord makes a short word of ASCII of what a plugin says.
func plainWord(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, fit(text, 60))
}
