package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l locks
		release, err := l.acquire(t.Context(), "a")
		check(t, err)
		other, err := l.acquire(t.Context(), "b") // does not wait
		check(t, err)
		other()
		held := true
		second := make(chan error, 1)
		go func() {
			release, err := l.acquire(context.Background(), "a")
			if err == nil && held {
				err = errors.New("acquired a held lock")
			}
			release()
			second <- err
		}()
		synctest.Wait() // until the second waits
		held = false
		release()
		check(t, <-second)
		if len(l.held) != 0 {
			t.Errorf("%d locks are kept", len(l.held))
		}
	})
}

func TestLockIsGivenUpWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l locks
		release, err := l.acquire(t.Context(), "a")
		check(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.acquire(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("acquired a held lock: %v", err)
		}
		release()
		if len(l.held) != 0 {
			t.Errorf("%d locks are kept", len(l.held))
		}
	})
}
