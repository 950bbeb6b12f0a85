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
	limit := p.idleTime()
	if limit == 0 {
		return
	}
	for wait := limit; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		idle := p.server.Idle()
		if idle >= limit {
			p.log.Info("ends, since it was idle", "for", idle.Round(time.Second).String())
			p.stop()
			return
		}
		wait = max(limit-idle, time.Second)
	}
}
