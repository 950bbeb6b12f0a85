package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/supervise"
)

// What a plugin is to the lock file.
const (
	isLocked    = "locked"
	isNotLocked = "not locked"
	hasChanged  = "differs"
)

// partly is said of programs whose checksum does not tell all.
const partly = "it is a script, or loads what is beside it: the checksum is of the program file alone"

// locks says whether there is a lock file that is looked at.
func (f *found) locks() bool {
	return f.config.LockMode != lockfile.Off && (f.config.Locked != nil || f.config.LockMode != "")
}

// lockOf says how a plugin stands to the lock file, "" when there is none, and what its checksum leaves open.
func (f *found) lockOf(name string) (state, notice string) {
	i := slices.IndexFunc(f.specs, func(s supervise.Spec) bool { return s.Name == name })
	if i < 0 || !f.locks() {
		return "", ""
	}
	spec := f.specs[i]
	if spec.Lock.Refused != "" && f.config.Locked.Plugin(name) != nil {
		return hasChanged, ""
	}
	if spec.Lock.SHA256 == "" {
		return isNotLocked, ""
	}
	program, err := supervise.Inspect(spec)
	switch {
	case err != nil || program.SHA256 != spec.Lock.SHA256:
		return hasChanged, ""
	case program.InPlace:
		notice = partly
	}
	return isLocked, notice
}

// lockState is lockOf for a plugin that was started, with a look at its tools.
func (s *session) lockState(ctx context.Context, p *supervise.Process) (state, notice string) {
	state, notice = s.found.lockOf(p.Name())
	pins := s.found.pins[p.Name()]
	if state != isLocked || pins == nil || p.Status().State != supervise.Ready {
		return state, notice
	}
	tools, err := p.Tools(ctx)
	if err != nil {
		return state, notice
	}
	var others []string
	for _, t := range tools {
		if _, hash := host.Definition(t); t.Check() == nil && pins[t.Name] != hash {
			others = append(others, t.Name)
		}
	}
	if len(others) > 0 {
		return hasChanged, fmt.Sprintf("disabled, since they are not what was locked: %s; if they are meant: toolhost plugin lock %s", strings.Join(others, ", "), p.Name())
	}
	return state, notice
}

// unlocked tells of plugins that run although they are not locked: of those that are named, or all.
func (f *found) unlocked(only ...string) (out []error) {
	for _, spec := range f.specs {
		if n := f.notices[spec.Name]; n != nil && (len(only) == 0 || slices.Contains(only, spec.Name)) {
			out = append(out, n)
		}
	}
	return out
}

// lockedOf counts what is locked, in words for the end of a sentence.
func (f *found) lockedOf() string {
	if !f.locks() {
		return ""
	}
	n := 0
	for _, spec := range f.specs {
		if state, _ := f.lockOf(spec.Name); state == isLocked {
			n++
		}
	}
	return fmt.Sprintf(", %d locked", n)
}
