package supervise

import "context"

// A turn has room for one question to the file system.
type turn chan struct{}

// aside asks the file system something beside the caller, who leaves when ctx or the plugin ends: a program may be on a file
// system that hangs, as those of a network do. What is asked goes on by itself then, and keeps the turn until it ends, so
// that those who ask again add nothing to it. Ok says that there is an answer.
func aside[T any](ctx context.Context, p *Process, t turn, ask func() T) (found T, ok bool) {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return found, false
	case <-p.done:
		return found, false
	}
	answers := make(chan T, 1)
	go func() {
		defer func() { <-t }()
		answers <- ask()
	}()
	select {
	case found = <-answers:
		return found, true
	case <-ctx.Done():
		return found, false
	case <-p.done:
		return found, false
	}
}
