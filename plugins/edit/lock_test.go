package main

import (
	"context"
	"errors"
	"sync"
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

// Calls that want the same files in another order do not wait for each other forever.
func TestLocksOfSeveralFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l locks
		names := []string{"a", "b", "c", "d"}
		inside := 0
		var calls sync.WaitGroup
		for i := range 40 {
			calls.Go(func() {
				mine := []string{names[i%4], names[(i/4)%4], names[0], names[i%4]}
				release, err := l.acquireAll(context.Background(), mine)
				if err != nil {
					t.Error(err)
					return
				}
				if inside++; inside != 1 {
					t.Error("two calls are in the same file")
				}
				<-time.After(time.Millisecond) // by the clock of the bubble: the others come meanwhile
				inside--
				release()
			})
		}
		calls.Wait()
		if len(l.held) != 0 {
			t.Errorf("%d locks are kept", len(l.held))
		}
	})
}

func TestLocksOfSeveralFilesAreGivenUpWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l locks
		release, err := l.acquire(t.Context(), "b")
		check(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.acquireAll(ctx, []string{"c", "b", "a"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("acquired a held lock: %v", err)
		}
		release()
		if len(l.held) != 0 {
			t.Errorf("%d locks are kept", len(l.held))
		}
	})
}
