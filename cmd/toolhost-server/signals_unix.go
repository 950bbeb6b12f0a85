//go:build unix

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// signals reloads the configuration on SIGHUP, and hands over on SIGUSR2, until ctx ends.
func (p *program) signals(ctx context.Context) {
	received := make(chan os.Signal, 1)
	signal.Notify(received, syscall.SIGHUP, syscall.SIGUSR2)
	defer signal.Stop(received)
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-received:
			if s == syscall.SIGHUP {
				p.services.ReloadNow(ctx)
			} else if _, err := p.upgrade(ctx); err != nil {
				p.log.Error("not replaced", "error", err)
			}
		}
	}
}
