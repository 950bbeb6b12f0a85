package main

import (
	"context"
	"slices"
	"sync"
)

// Locks let one call at a time into a file, so that of two edits at once none is lost. The zero value is ready.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	turn  chan struct{} // holds one token while a call is in the file
	users int           // calls that are in it or wait for it
}

// acquire waits for the file until ctx ends. Name is its absolute path without symlinks.
func (l *locks) acquire(ctx context.Context, name string) (release func(), err error) {
	entry := l.join(name)
	select {
	case entry.turn <- struct{}{}:
		return func() { <-entry.turn; l.leave(name) }, nil
	case <-ctx.Done():
		l.leave(name)
		return nil, ctx.Err()
	}
}

func (l *locks) join(name string) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	entry := l.held[name]
	if entry == nil {
		entry = &lock{turn: make(chan struct{}, 1)}
		l.held[name] = entry
	}
	entry.users++
	return entry
}

func (l *locks) leave(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[name].users--; l.held[name].users == 0 {
		delete(l.held, name)
	}
}

// acquireAll waits for several files, always in the same order, so that no two calls wait for each other.
func (l *locks) acquireAll(ctx context.Context, names []string) (release func(), err error) {
	var held []func()
	release = func() {
		for _, r := range held {
			r()
		}
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		r, err := l.acquire(ctx, name)
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, r)
	}
	return release, nil
}
