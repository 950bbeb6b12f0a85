//go:build unix

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// openSignals receives the signals of a running host from now on, and until the process ends: one that comes while the
// host starts waits, and none ends the process, whose calls would be lost.
func openSignals() <-chan os.Signal {
	received := make(chan os.Signal, 4)
	signal.Notify(received, syscall.SIGHUP, syscall.SIGUSR2)
	return received
}

// signals reloads the configuration on SIGHUP, and hands over on SIGUSR2; once ctx has ended it does neither.
func (p *program) signals(ctx context.Context) {
	for s := range p.received {
		switch {
		case ctx.Err() != nil:
			p.log.Info("a signal has no effect on a host that is stopping", "signal", s.String())
		case s == syscall.SIGHUP:
			p.services.ReloadNow(ctx)
		default:
			if _, err := p.upgrade(ctx); err != nil {
				p.log.Error("not replaced", "error", err)
			}
		}
	}
}
