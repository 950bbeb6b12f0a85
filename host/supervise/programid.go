package supervise

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
)

// absentProgram stands for a program that is not there.
var absentProgram = binaries.Identity{Size: -1}

// idOf tells whether a program's file is still the one that was started.
func idOf(spec Spec) binaries.Identity {
	if len(spec.Command) == 0 {
		return absentProgram
	}
	path, err := program(spec)
	if err != nil {
		return absentProgram
	}
	id, err := binaries.Identify(path)
	if err != nil {
		return absentProgram
	}
	return id
}

// program tells which the program is now, if that matters: a plugin that is down for what its program
// did is started anew when the program has changed. It is not ok when ctx or the plugin ended first.
func (p *Process) program(ctx context.Context) (id binaries.Identity, ok bool) {
	switch p.status.Load().State {
	case Crashed, Backoff, Quarantined, Invalid:
		return p.look(ctx, *p.spec.Load())
	}
	return binaries.Identity{}, true
}

// look is idOf for as long as ctx and the plugin last.
func (p *Process) look(ctx context.Context, spec Spec) (id binaries.Identity, ok bool) {
	return aside(ctx, p, p.looks, func() binaries.Identity { return idOf(spec) })
}

// lookToStart is look in the time that the spec allows for a start.
func (p *Process) lookToStart(ctx context.Context, spec Spec) (binaries.Identity, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, spec.StartTimeout, fmt.Errorf("it was not ready within %s", spec.StartTimeout))
	defer cancel()
	id, ok := p.look(ctx, spec)
	if !ok {
		return id, fmt.Errorf("%w; looking at its program hangs in the system", context.Cause(ctx))
	}
	return id, nil
}
