package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// errInterrupted ends a command that has nothing to answer once it is interrupted.
var errInterrupted = &exitError{exitInterrupted, "interrupted"}

// interruptible gives a context that an interrupt, a polite end or the end of the terminal cancels. A second interrupt
// ends the process at once. A signal that the parent chose to ignore, as nohup does, stays ignored.
func interruptible(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, heeded(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)...)
	context.AfterFunc(ctx, stop)
	// Nobody reads these. A broken pipe becomes an error of the write, and a terminal that ends tells so more than once.
	// They are not ignored, since programs that are started would inherit that.
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, heeded(syscall.SIGPIPE, syscall.SIGHUP)...)
	return ctx, func() {
		stop()
		signal.Stop(unread)
	}
}

// heeded leaves out the signals that are ignored. What is left is never empty: that would mean all signals.
func heeded(all ...os.Signal) (out []os.Signal) {
	for _, s := range all {
		if s == os.Signal(syscall.SIGPIPE) || s == os.Signal(syscall.SIGTERM) || !signal.Ignored(s) {
			out = append(out, s)
		}
	}
	return out
}
