package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/host/lockfile"
)

// agreeToStart asks the person before anything runs that is not what was locked: another program could do its harm while it
// is asked for its tools. Where nobody can be asked, and --yes does not say so, it is not started.
func (l *locker) agreeToStart(ctx context.Context) error {
	others := slices.DeleteFunc(slices.Clone(l.plugins), func(p *lockable) bool { return !p.runsOther() })
	switch {
	case l.flags.check || len(others) == 0:
		return nil
	case l.flags.yes:
		l.startOthers = true
		return nil
	}
	person := l.personAt(false)
	if person == nil { // finish is who refuses
		return nil
	}
	for _, p := range others {
		l.showOther(p)
	}
	yes, err := newPrompter(l.globals, person).sure(ctx, "Start "+themOrIt(others)+" as it is now, to see the tools? [y/N] ")
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil || !yes:
		return &exitError{exitDenied, "no changed program was started, and nothing was written"}
	}
	l.startOthers = true
	return nil
}

func themOrIt(plugins []*lockable) string {
	if len(plugins) == 1 {
		return "it"
	}
	return fmt.Sprintf("each of the %d", len(plugins))
}

// runsOther says whether what would run is not what was locked.
func (p *lockable) runsOther() bool {
	return p.problem == nil && p.now != nil && p.old != nil && !p.old.Runs(*p.now)
}

// mayAsk says whether the plugin is started: when it is only checked, not unless it is what was locked.
func (l *locker) mayAsk(p *lockable) bool {
	switch {
	case p.problem != nil || p.now == nil:
		return false
	case p.old == nil:
		return !l.flags.check
	}
	return l.startOthers || !p.runsOther()
}

// showOther tells what would run in the place of what was locked.
func (l *locker) showOther(p *lockable) {
	fmt.Fprintf(l.err, "%s is not what was locked, and was not started yet:\n", p.name)
	fmt.Fprintf(l.err, "  program: %s\n", visible(p.path))
	here := lockfile.Platform()
	parts := append(ways(p.old, p.now), difference{"sha256", p.old.SHA256[here], p.now.SHA256[here]})
	for _, w := range append(parts, interpretersOf(p.old, p.now)...) {
		if w.old != w.now {
			fmt.Fprintf(l.err, "  %s: %s\n    -> %s\n", w.name, orNone(w.old), orNone(w.now))
		}
	}
}
