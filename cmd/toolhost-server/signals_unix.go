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

// endsWithTerminal reports whether the end of its terminal is to end this process: it has one, and was not started with
// SIGHUP ignored, as by nohup. A successor goes by what its predecessor was started with.
func endsWithTerminal() bool {
	outlives := os.Getenv(outlivesVar) != ""
	_ = os.Unsetenv(outlivesVar) // it fails for no name of ours
	return !outlives && !signal.Ignored(syscall.SIGHUP) && hasTerminal()
}

// hasTerminal reports whether there is a controlling terminal, which has not been closed.
func hasTerminal() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	_ = f.Close() // nothing was written
	return true
}

// signals reloads the configuration on SIGHUP, or ends the host if its terminal was closed, and hands over on SIGUSR2;
// once ctx has ended it does nothing.
func (p *program) signals(ctx context.Context) {
	for s := range p.received {
		switch {
		case ctx.Err() != nil:
			p.log.Info("a signal has no effect on a host that is stopping", "signal", s.String())
		case s == syscall.SIGHUP && p.endsWithTerminal && !hasTerminal():
			p.log.Info("the terminal was closed, so the host stops")
			p.stop()
		case s == syscall.SIGHUP:
			p.services.ReloadNow(ctx)
		default:
			if _, err := p.upgrade(ctx); err != nil {
				p.log.Error("not replaced", "error", err)
			}
		}
	}
}
