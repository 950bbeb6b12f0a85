package bootstrap

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// LockState says how a plugin compares with the lock file; "" when there is none.
type LockState string

// The states of a plugin.
const (
	Locked    LockState = "locked"
	NotLocked LockState = "not locked"
	Differs   LockState = "differs"
)

// PartialChecksum is the notice about a program whose checksum does not cover all that runs.
const PartialChecksum = "it is a script, or loads what is beside it: the checksum is of the program file alone"

// LockState compares a plugin's program and settings with the lock file. The notice is what its checksum leaves open.
func (p *Plugins) LockState(name string) (state LockState, notice string) {
	i := slices.IndexFunc(p.Specs, func(s supervise.Spec) bool { return s.Name == name })
	if i < 0 || p.LockMode == lockfile.Off || p.Config.Locked == nil && p.LockMode == "" {
		return "", ""
	}
	spec := p.Specs[i]
	if spec.Lock.Refused != "" && p.Config.Locked.Plugin(name) != nil {
		return Differs, ""
	}
	if spec.Lock.SHA256 == "" {
		return NotLocked, ""
	}
	program, err := spec.Inspect()
	switch {
	case err != nil || program.SHA256 != spec.Lock.SHA256:
		return Differs, ""
	case program.InPlace:
		notice = PartialChecksum
	}
	return Locked, notice
}

// LockState is that of Plugins for a plugin that runs, with a look at its tools.
func (i *Instance) LockState(ctx context.Context, p *supervise.Process) (state LockState, notice string) {
	s := i.current.Load()
	state, notice = s.LockState(p.Name())
	pins := s.pins[p.Name()]
	if state != Locked || pins == nil || p.Status().State != supervise.Ready {
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
		return Differs, fmt.Sprintf("disabled, since they are not what was locked: %s; if they are meant: toolhost plugin lock %s",
			strings.Join(others, ", "), p.Name())
	}
	return state, notice
}

// Unlocked has a notice for each plugin that runs although it is not locked: of the named ones, or of all.
func (p *Plugins) Unlocked(only ...string) (out []error) {
	for _, spec := range p.Specs {
		if n := p.unlocked[spec.Name]; n != nil && (len(only) == 0 || slices.Contains(only, spec.Name)) {
			out = append(out, n)
		}
	}
	return out
}

// reducedSandbox says at which level a plugin is kept, and what is missing for the requested one.
func reducedSandbox(plugin string, c *sandbox.Confinement) error {
	return fmt.Errorf("plugin %q asks for the sandbox level %q, and is kept at %q: %s (toolhost doctor tells more)",
		plugin, c.Asked, c.Got, strings.Join(c.Missing, "; "))
}
