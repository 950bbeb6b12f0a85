package main

import (
	"context"
	"time"
)

// Editors and checkouts change a file in several steps, and a discovery may itself change what is watched.
const (
	settleTime = 250 * time.Millisecond // without a change, then the change is taken to be complete
	settleMost = 2 * time.Second        // changes that do not end are looked at all the same
	restLeast  = time.Second            // after a discovery that found nothing new; doubled each time
	restMost   = time.Minute
)

// follow runs refresh after changes, until ctx ends: not before they have settled, and the more rarely the longer it finds
// nothing new, so that a discovery which itself changes what is watched does not run without end.
func (w *watch) follow(ctx context.Context, refresh func(context.Context) (changed bool)) {
	var rest time.Duration
	for ended := time.Now(); ; ended = time.Now() {
		select {
		case <-ctx.Done():
			return
		case <-w.dirty:
		}
		if time.Since(ended) > rest {
			rest = 0
		}
		if !sleep(ctx, rest-time.Since(ended)) || !w.settle(ctx) {
			return
		}
		if w.system != nil {
			w.arm() // what cannot be watched by now has been told, or was there a moment ago
		}
		if refresh(ctx) {
			rest = restLeast
		} else {
			rest = min(max(2*rest, restLeast), restMost)
		}
	}
}

// settle waits until changes have ended; false when ctx has.
func (w *watch) settle(ctx context.Context) bool {
	most := time.NewTimer(settleMost)
	defer most.Stop()
	for {
		quiet := time.NewTimer(settleTime)
		select {
		case <-w.dirty:
			quiet.Stop()
			continue
		case <-quiet.C:
		case <-most.C:
		case <-ctx.Done():
		}
		quiet.Stop()
		return ctx.Err() == nil
	}
}

// sleep is false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(max(0, d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
