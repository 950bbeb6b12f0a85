package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
)

// errInterrupted ends a command that has no result when it is interrupted.
var errInterrupted = &exitError{exitInterrupted, "interrupted"}

// untilInterrupted returns what f does, unless ctx ends before: f ends with the process then.
func untilInterrupted[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		if ctx.Err() == nil {
			return r.value, r.err
		}
	case <-ctx.Done():
	}
	return *new(T), errInterrupted
}

// interruptible returns a context that SIGINT, SIGTERM or SIGHUP cancels. A second signal ends the process at once. A
// signal that the parent chose to ignore, as nohup does, stays ignored.
func interruptible(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, handled(os.Interrupt, syscall.SIGTERM)...)
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(ctx, stop)
	// These are never received: a broken pipe becomes an error of the write. They are not ignored, since programs that
	// are started would inherit that.
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE)
	h := handleHangups(cancel)
	return context.WithValue(ctx, hangupKey{}, h), sync.OnceFunc(func() {
		cancel()
		signal.Stop(unread)
		signal.Stop(h.signals)
		close(h.signals)
	})
}

// A hangup is SIGHUP: it ends a command, unless the command treats it as a request to reload. A closing terminal
// sends it more than once.
type hangup struct {
	signals  chan os.Signal
	taken    atomic.Bool
	requests chan struct{} // at most one
}

type hangupKey struct{}

func handleHangups(cancel context.CancelFunc) *hangup {
	h := &hangup{signals: make(chan os.Signal, 1), requests: make(chan struct{}, 1)}
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(h.signals, syscall.SIGHUP)
	}
	go func() {
		for range h.signals {
			if !h.taken.Load() {
				cancel()
				continue
			}
			select {
			case h.requests <- struct{}{}:
			default: // one is pending
			}
		}
	}()
	return h
}

// reloadRequests treats SIGHUP as a request to reload from now on.
func reloadRequests(ctx context.Context) <-chan struct{} {
	h, ok := ctx.Value(hangupKey{}).(*hangup)
	if !ok {
		return nil
	}
	h.taken.Store(true)
	return h.requests
}

// handled returns the signals that are not ignored. The list is never empty: that would mean all signals.
func handled(all ...os.Signal) (out []os.Signal) {
	for _, s := range all {
		if s == os.Signal(syscall.SIGPIPE) || s == os.Signal(syscall.SIGTERM) || !signal.Ignored(s) {
			out = append(out, s)
		}
	}
	return out
}
