package proctree

import (
	"context"
	"time"
)

// Limits say how long a program may run for a call, so that what it printed still
// reaches the caller when it has to be ended.
type Limits struct {
	// Run is how long the program may run.
	Run time.Duration
	// Grace is for Cmd.Grace.
	Grace time.Duration
	// Call is the time that the call had, if that decides; 0 if Run is the tool's
	// own limit.
	Call time.Duration
}

// LimitsFor gives a program its own limit or, when the deadline of ctx comes
// first, what that leaves without a reserve: a tenth, from 100 ms to 3 s, but never
// more than half. Half of what is left after Run may pass until the program is
// killed.
func LimitsFor(ctx context.Context, own time.Duration) Limits {
	deadline, ok := ctx.Deadline()
	if !ok {
		return Limits{Run: own, Grace: defaultGrace}
	}
	left := time.Until(deadline)
	l := Limits{Run: min(own, left-reserve(left))}
	l.Grace = max(1, min(defaultGrace, (left-l.Run)/2)) // 0 stands for a default
	if l.Run < own {
		l.Call = left
	}
	return l
}

func reserve(left time.Duration) time.Duration {
	return min(3*time.Second, max(left/10, 100*time.Millisecond), left/2)
}

// Shown rounds one of the times for people: those that were measured roughly,
// those that were given hardly.
func (l Limits) Shown(d time.Duration) time.Duration {
	switch {
	case l.Call == 0 || d < 100*time.Millisecond:
		return d.Round(time.Millisecond)
	case d < time.Second:
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}
