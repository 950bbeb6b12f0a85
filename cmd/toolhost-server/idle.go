package main

import (
	"cmp"
	"context"
	"time"
)

// defaultIdle is after how long without calls and clients a host in the background ends.
const defaultIdle = 15 * time.Minute

// idleTime is after how long this host ends; zero is never.
func (p *program) idleTime() time.Duration {
	if !p.background {
		return p.idleTimeout
	}
	return cmp.Or(p.idleTimeout, p.block().IdleTimeout, defaultIdle)
}

// endWhenIdle stops the host once it has been idle for as long as it may.
func (p *program) endWhenIdle(ctx context.Context) {
	idle, is := awaitIdle(ctx, p.idleTime, p.server.Idle, p.limitChanged)
	if is {
		p.log.Info("ends, since it was idle", "for", idle.Round(time.Second).String())
		p.stop()
	}
}

// minIdleWait bounds how often it is checked whether a host is idle.
const minIdleWait = 100 * time.Millisecond

// awaitIdle returns once the host has been idle for the limit, and for how long, or when ctx ends. The limit, of which
// zero is none, may differ after each change.
func awaitIdle(ctx context.Context, limit, idle func() time.Duration, changed <-chan struct{}) (time.Duration, bool) {
	for {
		var timer <-chan time.Time
		if limit := limit(); limit > 0 {
			now := idle()
			if now >= limit {
				return now, true
			}
			timer = time.After(max(limit-now, minIdleWait))
		}
		select {
		case <-ctx.Done():
			return 0, false
		case <-timer:
		case <-changed:
		}
	}
}
